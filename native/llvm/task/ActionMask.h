// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The mask of actions that may be taken now.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace mlcb {

/// All but the forbidden ones and those that did nothing to the module as it is now.
class ActionMask {
public:
  ActionMask(size_t Actions, llvm::ArrayRef<int64_t> Forbidden) : Legal(Actions, true), Idle(Actions, false) {
    for (int64_t Index : Forbidden)
      if (Index >= 0 && std::cmp_less(Index, Actions))
        forbid(Index);
  }

  void forbid(size_t Index) { Legal[Index] = false; }
  void didNothing(size_t Index) { Idle[Index] = true; }
  void moduleChanged() { Idle.assign(Idle.size(), false); }

  bool allows(size_t Index) const { return Legal[Index] && !Idle[Index]; }
  bool allowsAny() const {
    for (size_t Index = 0; Index < Legal.size(); ++Index)
      if (allows(Index))
        return true;
    return false;
  }

  /// At least one element is set, also where no action is allowed: a softmax over the choices needs it.
  void write(std::span<int8_t> Out) const {
    for (size_t Index = 0; Index < Out.size(); ++Index)
      Out[Index] = allows(Index);
    if (!allowsAny())
      std::ranges::fill(Out, 1);
  }

private:
  std::vector<bool> Legal, Idle;
};

} // namespace mlcb
