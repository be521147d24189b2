// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/function_size/Deploy.h"

#include "llvm/deploy/Hosted.h"
#include "llvm/deploy/ModuleGuard.h"
#include "llvm/deploy/PipelineStart.h"
#include "llvm/deploy/PolicySet.h"
#include "llvm/pipeline/Level.h"
#include "llvm/process/ForkedProbe.h"
#include "llvm/tasks/function_size/Conversation.h"
#include "llvm/tasks/function_size/Parameters.h"

#include "llvm/IR/Module.h"

using namespace llvm;

namespace mlcb {

namespace {

/// A conversation, and the settings that its policy has code generated with.
struct Opened {
  std::shared_ptr<FunctionConversation> Talk; // null where there is none
  std::vector<OptionSetting> Without;
};

Opened open(const TaskRegistration &Task, Module &M) {
  Opened Result;
  Result.Talk = host<FunctionConversation>(M, PolicySet::ofCommandLine().deciderInHost(Task, M), [&](ModelRunner &Policy) {
    return FunctionSizeParameters::read(Policy.spec()).map([&](FunctionSizeParameters Parameters) {
      Result.Without = std::move(Parameters.Without);
      return std::make_unique<FunctionConversation>(M, std::move(Parameters.Actions), Policy, EpisodeRequest());
    });
  });
  return Result;
}

/// The way with the least of each function, from those by index of the change and the Kept-th one, which changes nothing.
Way leastOfEach(ArrayRef<Choices> All, ArrayRef<Way> Ways, size_t Kept, const std::function<void()> &Begin) {
  std::vector<std::pair<Function *, AttributeChange>> Changes;
  for (const auto [Number, Own] : enumerate(All)) {
    const auto BytesOf = [Number = Number](const Way &Of) { return Of.Found ? Of.Found->Functions[Number] : UINT64_MAX; };
    const auto Least = min_element(Ways.take_front(Kept + 1), [&](const Way &A, const Way &B) { return BytesOf(A) < BytesOf(B); });
    if (const size_t Index = Least - Ways.begin(); Index < Own.Changes.size() && BytesOf(*Least) < BytesOf(Ways[Kept]))
      Changes.emplace_back(Own.F, Own.Changes[Index]);
  }
  return {"the least of each function", [Begin, Changes = std::move(Changes)] {
            Begin();
            for (const auto &[F, Change] : Changes)
              Change.apply(*F);
          }};
}

/// Ways to generate the code of a module whose functions have choices, each as the policy has it generated.
class CodeWays {
public:
  CodeWays(Module &M, std::vector<Choices> Given, std::vector<OptionSetting> Without) : M(M), All(std::move(Given)), Without(std::move(Without)) {}

  /// The changes of all functions, none, and the best of them in each.
  Comparison ofCandidates() const {
    const size_t Candidates = mostChanges();
    Comparison Compared(M, [this, Candidates](ArrayRef<Way> Ways) { return leastOfEach(All, Ways, Candidates, begin()); }, names());
    for (size_t Index = 0; Index < Candidates; ++Index)
      Compared.add("candidate " + std::to_string(Index + 1), changing(Index));
    if (!Without.empty())
      Compared.add("no change", begin());
    return Compared;
  }

  /// The first change of all functions.
  Comparison ofAnswers() const {
    Comparison Compared(M);
    Compared.add("function_size", changing(0));
    return Compared;
  }

private:
  std::function<void()> begin() const {
    return [this] { setForGood(Without); };
  }

  /// Those that have fewer changes stay as they are.
  std::function<void()> changing(size_t Index) const {
    return [this, Index] {
      setForGood(Without);
      for (const Choices &Own : All)
        if (Index < Own.Changes.size())
          Own.Changes[Index].apply(*Own.F);
    };
  }

  size_t mostChanges() const {
    size_t Most = 0;
    for (const Choices &Own : All)
      Most = std::max<size_t>(Most, Own.Changes.size());
    return Most;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> Names;
    for (const Choices &Own : All)
      Names.push_back(GlobalValue::dropLLVMManglingEscape(Own.F->getName()).str());
    return Names;
  }

  Module &M;
  std::vector<Choices> All;
  std::vector<OptionSetting> Without;
};

/// Whether code is generated in this process, by one thread, and behind this.
bool generatesCode(ThinOrFullLTOPhase Phase) { return Phase == ThinOrFullLTOPhase::None && isClang(); }

void decide(const TaskRegistration &Task, Module &M, ThinOrFullLTOPhase Phase) {
  PolicySet &Policies = PolicySet::ofCommandLine();
  Opened Own = open(Task, M);
  if (!Own.Talk)
    return;
  if (!generatesCode(Phase) || !Level::ofMost(M).MinSize)
    Own.Without.clear();
  if (!Policies.isGuarded()) {
    setForGood(Own.Without);
    return Own.Talk->decide();
  }
  const size_t Candidates = Policies.candidates();
  std::vector<Choices> All = Candidates > 0 ? Own.Talk->first(Candidates) : Own.Talk->answers();
  Own.Talk.reset();
  if (Own.Without.empty() && all_of(All, [](const Choices &Of) { return Of.Changes.empty() || Of.Changes.front().isKeep(); }))
    return;
  const CodeWays Ways(M, std::move(All), std::move(Own.Without));
  Comparison Compared = Candidates > 0 ? Ways.ofCandidates() : Ways.ofAnswers();
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
