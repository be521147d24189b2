// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/posetrl/Deploy.h"

#include "llvm/deploy/Compilation.h"
#include "llvm/deploy/LinkTime.h"
#include "llvm/deploy/PolicySet.h"
#include "llvm/deploy/Takeover.h"
#include "llvm/tasks/posetrl/Parameters.h"

using namespace llvm;

namespace mlcb {

void replaceOptimizations(const TaskRegistration &Task, PassBuilder &Builder) {
  auto Chosen = std::make_shared<Choice>();
  auto Begins = [&Task, Chosen](Module &M, const HostPipeline &Host) {
    Expected<Choice> Made = PolicySet::ofCommandLine().choose(Task, M);
    if (!Made) {
      failCompilation(M, Made.error());
      return false;
    }
    *Chosen = std::move(*Made);
    return Chosen->Who == Decider::Policy && mayDecide<PosetRLParameters>(*Chosen->Runner, Host.Phase);
  };
  auto Optimize = [Chosen](Module &M) {
    if (auto Done = std::exchange(*Chosen, {}).run(M); !Done)
      failCompilation(M, Done.error());
  };
  takeOverPipelines(Builder, {Begins, Optimize});
}

} // namespace mlcb
