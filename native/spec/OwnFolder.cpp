// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "spec/OwnFolder.h"

#include <dlfcn.h>

namespace mlcb {

std::string ownFolder() {
  Dl_info Info{};
  if (!dladdr(reinterpret_cast<const void *>(&ownFolder), &Info) || !Info.dli_fname)
    return ".";
  const std::string Path = Info.dli_fname;
  const size_t Slash = Path.rfind('/');
  return Slash == Path.npos ? "." : Path.substr(0, Slash);
}

} // namespace mlcb
