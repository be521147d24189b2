// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/function_size/Deploy.h"

#include "llvm/deploy/Hosted.h"
#include "llvm/deploy/ModuleGuard.h"
#include "llvm/deploy/PipelineStart.h"
#include "llvm/deploy/PolicySet.h"
#include "llvm/process/ForkedProbe.h"
#include "llvm/tasks/function_size/Conversation.h"
#include "llvm/tasks/function_size/Parameters.h"

#include "llvm/IR/Module.h"

using namespace llvm;

namespace mlcb {

namespace {

std::shared_ptr<FunctionConversation> open(const TaskRegistration &Task, Module &M) {
  return host<FunctionConversation>(M, PolicySet::ofCommandLine().deciderInHost(Task, M), [&](ModelRunner &Policy) {
    return FunctionSizeParameters::read(Policy.spec()).map([&](FunctionSizeParameters Parameters) {
      return std::make_unique<FunctionConversation>(M, std::move(Parameters.Actions), Policy, EpisodeRequest());
    });
  });
}

/// Makes the Index-th change of each function; those that have fewer stay as they are.
void applyAll(ArrayRef<Choices> All, size_t Index) {
  for (const Choices &Own : All)
    if (Index < Own.Changes.size())
      Own.Changes[Index].apply(*Own.F);
}

/// The way with the least of each function, from those by index of the change and the last one, which keeps all.
Way leastOfEach(ArrayRef<Choices> All, ArrayRef<Way> Ways) {
  std::vector<std::pair<Function *, AttributeChange>> Changes;
  for (const auto [Number, Own] : enumerate(All)) {
    const auto BytesOf = [Number = Number](const Way &Of) { return Of.Found ? Of.Found->Functions[Number] : UINT64_MAX; };
    const auto Least = min_element(Ways, [&](const Way &A, const Way &B) { return BytesOf(A) < BytesOf(B); });
    if (const size_t Index = Least - Ways.begin(); Index < Own.Changes.size() && BytesOf(*Least) < BytesOf(Ways.back()))
      Changes.emplace_back(Own.F, Own.Changes[Index]);
  }
  return {"the least of each function", [Changes = std::move(Changes)] {
            for (const auto &[F, Change] : Changes)
              Change.apply(*F);
          }};
}

/// The changes of all functions, and the best of them in each.
Comparison ofCandidates(Module &M, const std::vector<Choices> &All) {
  std::vector<std::string> Names;
  size_t Candidates = 0;
  for (const Choices &Own : All) {
    Names.push_back(GlobalValue::dropLLVMManglingEscape(Own.F->getName()).str());
    Candidates = std::max<size_t>(Candidates, Own.Changes.size());
  }
  Comparison Compared(M, [&All](ArrayRef<Way> Ways) { return leastOfEach(All, Ways); }, std::move(Names));
  for (size_t Index = 0; Index < Candidates; ++Index)
    Compared.add("candidate " + std::to_string(Index + 1), [&All, Index] { applyAll(All, Index); });
  return Compared;
}

Comparison ofAnswers(Module &M, const std::vector<Choices> &All) {
  Comparison Compared(M);
  Compared.add("function_size", [&All] { applyAll(All, 0); });
  return Compared;
}

void decide(const TaskRegistration &Task, Module &M, ThinOrFullLTOPhase Phase) {
  PolicySet &Policies = PolicySet::ofCommandLine();
  auto Talk = open(Task, M);
  if (!Talk)
    return;
  if (!Policies.isGuarded())
    return Talk->decide();
  const size_t Candidates = Policies.candidates();
  const std::vector<Choices> All = Candidates > 0 ? Talk->first(Candidates) : Talk->answers();
  Talk.reset();
  if (all_of(All, [](const Choices &Own) { return Own.Changes.empty() || Own.Changes.front().isKeep(); }))
    return;
  Comparison Compared = Candidates > 0 ? ofCandidates(M, All) : ofAnswers(M, All);
  Compared.add("stock", [] {});
  if (auto Done = takeSmallestCode(M, Phase, std::move(Compared)); !Done)
    failCompilation(M, Done.error());
}

} // namespace

void decideAtPipelineEnd(const TaskRegistration &Task, PassBuilder &Builder) {
  runAtPipelineEnd(Builder, [&Task](Module &M, OptimizationLevel Built, ThinOrFullLTOPhase Phase) {
    // What the guard tries of the pipeline is without it.
    if (Built != OptimizationLevel::O0 && !isProbe())
      decide(Task, M, Phase);
  });
}

} // namespace mlcb
