// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as the payload of a Begin frame: they are refused in one line, or give a request.
#include "llvm/worker/BeginRequest.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *Data, size_t Size) {
  const auto Read = mlcb::BeginRequest::fromJson({reinterpret_cast<const char *>(Data), Size});
  if (!Read && Read.error().Message.find('\n') != std::string::npos)
    std::abort();
  return 0;
}
