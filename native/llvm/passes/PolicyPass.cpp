// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/passes/PolicyPass.h"

#include "llvm/measure/Targets.h"
#include "llvm/passes/Deployment.h"

#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/Signals.h"

using namespace llvm;

namespace mlcb {

namespace {

/// One line, exit code 1, and no output file: opt ends inside emitError and would leave an empty one.
void refuse(Module &M, const Error &Why) {
  sys::RunInterruptHandlers();
  M.getContext().emitError("mlcb: " + Why.Message);
}

/// `-passes=posetrl`: the policy, or the heuristic as passes after it.
class PolicyPass : public PassInfoMixin<PolicyPass> {
public:
  explicit PolicyPass(const TaskRegistration &Task) : Task(Task) {}

  static bool isRequired() { return true; }

  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) {
    Expected<Decider> Who = decide(Task, Task.heuristic(), M);
    if (Who && *Who == Decider::Nobody)
      Who = fail(ErrorKind::InvalidArgument, Task.name().str() + ": no policy for it, expected -mlcb-runner=onnx:FOLDER");
    if (Who && *Who == Decider::Heuristic)
      runHeuristic(M);
    if (!Who)
      refuse(M, Who.error());
    return PreservedAnalyses::none();
  }

private:
  const TaskRegistration &Task;
};
