// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/posetrl/Deploy.h"

#include "llvm/deploy/Compilation.h"
#include "llvm/deploy/PipelineStart.h"
#include "llvm/deploy/PolicySet.h"

#include "llvm/Passes/PassBuilder.h"

using namespace llvm;

namespace mlcb {

void replacePipeline(const TaskRegistration &Task, PassBuilder &Builder) {
  auto Skip = std::make_shared<bool>(false); // set where no optional pass may run any more
  if (auto *Callbacks = Builder.getPassInstrumentationCallbacks())
    Callbacks->registerShouldRunOptionalPassCallback([Skip](StringRef, const Any &) { return !*Skip; });
  runAtPipelineStart(Builder, [&Task, Skip](Module &M, StringRef Pipeline) {
    const Expected<Decider> Decided = PolicySet::ofCommandLine().decide(Task, Pipeline, M);
    *Skip = !Decided || *Decided == Decider::Policy;
    if (!Decided)
      failCompilation(M, Decided.error());
    return true;
  });
}

} // namespace mlcb
