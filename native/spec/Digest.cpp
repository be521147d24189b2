// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "spec/Digest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace mlcb {

std::string hexDigest(std::string_view Bytes) {
  static constexpr char Hex[] = "0123456789abcdef";
  XXH128_canonical_t Canonical;
  XXH128_canonicalFromHash(&Canonical, XXH3_128bits(Bytes.data(), Bytes.size()));
  std::string Result;
  for (unsigned char Byte : Canonical.digest)
    Result += {Hex[Byte >> 4], Hex[Byte & 15]};
  return Result;
}

} // namespace mlcb
