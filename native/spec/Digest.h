// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The name that some bytes have by their contents: of a bound spec, a vocabulary, a program.
#pragma once

#include <string>
#include <string_view>

namespace mlcb {

/// XXH3-128 in its canonical form, 32 hex digits.
std::string hexDigest(std::string_view Bytes);

} // namespace mlcb
