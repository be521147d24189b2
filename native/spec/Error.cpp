// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "spec/Error.h"

#include <cerrno>
#include <cstring>

namespace mlcb {

Unexpected failErrno(std::string_view What) {
  const int Code = errno;
  return fail(ErrorKind::SystemError, std::string(What) + ": " + std::strerror(Code));
}

} // namespace mlcb
