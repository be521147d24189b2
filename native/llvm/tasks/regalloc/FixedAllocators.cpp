// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/FixedAllocators.h"

#include "spec/Tasks.h"
#include "llvm/tasks/regalloc/rl4real/Pass.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/Passes.h"

#include <algorithm>

using namespace llvm;

namespace mlcb {

namespace {

using Eviction = FixedAllocator::Eviction;
using Order = FixedAllocator::Order;

constexpr FixedAllocator All[] = {
    {"csr 32768 + same", Eviction::Own, Order::Same, 32768},
    {"csr 32768 + never", Eviction::Never, Order::Own, 32768},
    {"csr 16384 + same", Eviction::Own, Order::Same, 16384},
    {"never + same", Eviction::Never, Order::Same},
    {"csr 65536", Eviction::Own, Order::Own, 65536},
    {"csr 8192", Eviction::Own, Order::Own, 8192},
    {"first", Eviction::First},
    {"csr 32768", Eviction::Own, Order::Own, 32768},
    {"csr 16384", Eviction::Own, Order::Own, 16384},
    {"csr 4096", Eviction::Own, Order::Own, 4096},
    {"csr 256", Eviction::Own, Order::Own, 256},
    {"csr 16", Eviction::Own, Order::Own, 16},
    {"never", Eviction::Never},
    {"same", Eviction::Own, Order::Same},
    {"small first", Eviction::Own, Order::SmallFirst},
};

constexpr FixedAllocator Others[] = {
    {"basic", Eviction::Own, Order::Own, 0, createBasicRegisterAllocator},
    {"fast", Eviction::Own, Order::Own, 0, createFastRegisterAllocator},
    {"pbqp", Eviction::Own, Order::Own, 0, createDefaultPBQPRegisterAllocator},
    {"optimum", Eviction::Own, Order::Own, 0, rl4real::createOptimalAllocator},
};

/// The answers of a fixed allocator to the questions of one task.
class FixedRunner final : public ModelRunner {
public:
  FixedRunner(StringRef Task, const FixedAllocator &By) : Task(Task), By(By) { bindAsDeclared(); }

  std::string_view task() const override { return Task; }
  std::string_view parameters() const override { return R"({"told": 0})"; }
  bool observesEnd() const override { return false; }

private:
  /// What ships can be bound.
  void bindAsDeclared() { (void)bind(bindTask(*findTask(Task), parameters()).value()); }

  Expected<void> onBind() override { return {}; }
  Expected<int64_t> choose(size_t Agent) override {
    const std::span<const int8_t> Allowed = mask(Agent);
    if (By.Evicts == Eviction::First)
      return std::ranges::find(Allowed, 1) - Allowed.begin();
    return static_cast<int64_t>(Allowed.size()) - 1 - (std::ranges::find(Allowed.rbegin(), Allowed.rend(), 1) - Allowed.rbegin());
  }
  Expected<double> value(size_t Agent) override {
    if (By.Takes == Order::Same)
      return 0.0;
    return 4294967296.0 / (1 + static_cast<double>(tensor<int64_t>(priority::advisor::li_size, Agent)[0]));
  }

  std::string Task;
  const FixedAllocator &By;
};

struct FixedConversation {
  FixedRunner Answers;
  RegallocConversation Talk;

  FixedConversation(StringRef Task, Module &M, const FixedAllocator &By) : Answers(Task, By), Talk(M, Answers, EpisodeRequest()) {}
};

} // namespace

OpenRegalloc FixedAllocator::opener() const {
  return [this](StringRef Task, Module &M) -> RegallocConversations {
    const bool Advises = (Task == "eviction" && Evicts != Eviction::Own) || (Task == "priority" && Takes != Order::Own);
    if (!Advises)
      return {};
    auto Kept = std::make_shared<FixedConversation>(Task, M, *this);
    return {{{Kept, &Kept->Talk}}};
  };
}

ArrayRef<FixedAllocator> fixedAllocators() { return All; }

const FixedAllocator *findFixedAllocator(StringRef Name) {
  for (const ArrayRef<FixedAllocator> List : {ArrayRef(All), ArrayRef(Others)})
    if (const auto *Found = find_if(List, [&](const FixedAllocator &Each) { return Each.Name == Name; }); Found != List.end())
      return Found;
  return nullptr;
}

FirstUseScope::FirstUseScope(unsigned Cost) {
  if (!Cost)
    return;
  Settings.push_back({"regalloc-csr-first-time-cost", std::to_string(Cost)});
  if (checkOptions(Settings))
    Held.emplace(Settings);
}

} // namespace mlcb
