// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SizeAttributes: the features of a function, and the effect of a decision on it.
#include "spec/Tasks.h"
#include "llvm/deploy/BeforePipeline.h"
#include "llvm/pipeline/Level.h"
#include "llvm/task/ActionMask.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace mlcb {

namespace {

using Feature = size_attributes::advisor;

class SizeAttributesConversation final : public Conversation {
public:
  SizeAttributesConversation(Module &M, ModelRunner &Policy, const EpisodeRequest &Request, Measurement Measure = nullptr)
      : Conversation(M, Policy, Request, std::move(Measure)), Mask(2, Request.Forbidden) {}

  /// Asks about every function that has a body. After a failure the others stay as they are.
  void decide() {
    for (Function &F : module())
      if (!F.isDeclaration() && !failure() && Mask.allowsAny())
        decide(F);
  }

private:
  void decide(Function &F) {
    set(Feature::instructions, F.getInstructionCount());
    set(Feature::blocks, F.size());
    set(Feature::calls, count_if(instructions(F), [](const Instruction &I) { return isa<CallInst>(I); }));
    set(Feature::arguments, F.arg_size());
    set(Feature::uses, F.getNumUses());
    set(Feature::local, F.hasLocalLinkage());
    set(Feature::decision_default, 0);
    Mask.write(policy().tensor<int8_t>(Feature::action_mask));
    if (Expected<int64_t> Decision = ask<int64_t>(); Decision && *Decision == 1)
      change(F);
  }

  void set(Feature F, int64_t Value) { policy().tensor<int64_t>(F)[0] = Value; }

  /// The effect of decision 1.
  void change(Function &F) {
    if (F.hasFnAttribute(Attribute::MinSize)) {
      F.removeFnAttr(Attribute::MinSize);
      F.addFnAttr(Attribute::OptimizeForSize);
    }
  }

  ActionMask Mask;
};

using Task = BeforePipeline<SizeAttributesConversation, size_attributes::Metric>;
const TaskRegistration Registration("size_attributes", Level::Oz.Pipeline, &Task::prepare, &Task::deploy);

} // namespace

} // namespace mlcb
