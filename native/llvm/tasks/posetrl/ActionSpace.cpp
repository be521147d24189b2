// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/posetrl/ActionSpace.h"

#include "llvm/task/Remark.h"

using namespace llvm;

namespace mlcb {

Expected<bool> ActionSpace::apply(size_t Index, Module &M) {
  return prepare(Index).map([&] {
    std::vector<ModulePassManager> Once = *std::exchange(Passes[Index], std::nullopt);
    bool Changed = false;
    for (auto [S, Each] : zip_equal(Actions[Index].Stages, Once))
      Changed |= !Runner->run(std::move(Each), S, M).areAllPreserved();
    if (Changed)
      remarkAction(Index, Actions[Index].Text, M);
    return Changed;
  });
}

} // namespace mlcb
