// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as a compiler's declaration of its task: it is refused, or is the same when written and read again.
#include "spec/TaskSpec.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *Data, size_t Size) {
  const auto First = mlcb::readSpec({reinterpret_cast<const char *>(Data), Size});
  if (!First)
    return 0;
  const auto Second = mlcb::readSpec(First->toJson());
  if (!Second || Second->Digest != First->Digest || Second->toJson() != First->toJson())
    std::abort();
  (void)mlcb::describeMismatch({reinterpret_cast<const char *>(Data), Size}, First->toJson());
  return 0;
}
