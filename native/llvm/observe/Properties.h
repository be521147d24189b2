// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LLVM's FunctionPropertiesInfo as numbers.
#pragma once

#include <cstdint>
#include <span>

namespace llvm {
class Function;
}

namespace mlcb {

/// Every counter of llvm::FunctionPropertiesInfo in LLVM 22, the detailed ones included, in the order of its declaration.
inline constexpr unsigned NumProperties = 49;

/// Adds the properties of a function to Sum, which has NumProperties elements.
void addProperties(llvm::Function &F, std::span<int64_t> Sum);

} // namespace mlcb
