// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Why a loop is left as it is.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace mlcb::loops {

enum class Refusal : uint8_t {
  NotSimplified, // LLVM's loop-simplify has not been there, or could not
  SeveralExits,
  StrangeControl,
  SideEffects,
  OrderedMemory,
  NotDuplicable,
  TooManyAccesses,
  TooManyStatements,
  OneStatement,
  OneCycle,
};
constexpr size_t NumRefusals = static_cast<size_t>(Refusal::OneCycle) + 1;

/// The name in remarks and counts, in kebab-case.
llvm::StringRef nameOf(Refusal Why);

/// The rest of a sentence that begins with "loop not distributed: ".
llvm::StringRef describe(Refusal Why);

} // namespace mlcb::loops
