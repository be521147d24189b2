// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/rl4real/Deploy.h"

#include "llvm/deploy/Compilation.h"
#include "llvm/deploy/PipelineStart.h"
#include "llvm/deploy/PolicySet.h"
#include "llvm/tasks/regalloc/rl4real/Pass.h"

using namespace llvm;

namespace mlcb::rl4real {

void allocateInHost(const TaskRegistration &Task, PassBuilder &Builder) {
  runAtPipelineEnd(Builder, [&Task](Module &M, const HostPipeline &Host) {
    if (*Host.At.Built == OptimizationLevel::O0 || hasFailed(M))
      return false;
    const Expected<bool> HasPolicy = PolicySet::ofCommandLine().names(Task);
    if (!HasPolicy)
      failCompilation(M, HasPolicy.error());
    else if (*HasPolicy)
      useAllocator();
    return false;
  });
}

} // namespace mlcb::rl4real
