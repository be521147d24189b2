// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/inliner/CallContext.h"

#include "spec/Tasks.h"

#include "llvm/IR/Function.h"
#include "llvm/IR/InstrTypes.h"

using namespace llvm;

namespace mlcb {

using Feature = inliner::advisor;

namespace {

struct Calls {
  int64_t Count = 0;
  /// Whether nothing but calls uses the function.
  bool Only = true;
};

Calls callsOf(const Function &F) {
  Calls Found;
  for (const Use &U : F.uses()) {
    const auto *Call = dyn_cast<CallBase>(U.getUser());
    if (Call && Call->isCallee(&U))
      ++Found.Count;
    else
      Found.Only = false;
  }
  return Found;
}

} // namespace

void CallContext::write(const CallBase &Call, ModelRunner &Policy) const {
  auto Set = [&](Feature Index, int64_t Value) { Policy.tensor<int64_t>(Index)[0] = Value; };
  auto Describe = [&](const Function &F, Feature Discardable, Feature Calls, Feature Instructions) {
    auto [Count, Only] = callsOf(F);
    Set(Discardable, F.isDiscardableIfUnused() && Only);
    Set(Calls, Count);
    Set(Instructions, F.getInstructionCount());
  };
  const Function &Callee = *Call.getCalledFunction();
  Describe(Callee, Feature::callee_discardable, Feature::callee_calls, Feature::callee_instructions);
  Describe(*Call.getCaller(), Feature::caller_discardable, Feature::caller_calls, Feature::caller_instructions);
  Answers Before = ByCallee.lookup(Callee.getName());
  Set(Feature::callee_inlined, Before.Inlined);
  Set(Feature::callee_left, Before.Left);
}

void CallContext::answered(const CallBase &Call, bool Inline) {
  Answers &Known = ByCallee[Call.getCalledFunction()->getName()];
  ++(Inline ? Known.Inlined : Known.Left);
}

} // namespace mlcb
