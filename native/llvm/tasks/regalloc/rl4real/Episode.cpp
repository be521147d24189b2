// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The task rl4real: four agents allocate the registers of a module, in code generation of its own.
#include "llvm/tasks/regalloc/Episode.h"
#include "spec/Tasks.h"
#include "llvm/pipeline/Level.h"
#include "llvm/task/TaskRegistration.h"
#include "llvm/tasks/regalloc/AllocatorScope.h"
#include "llvm/tasks/regalloc/rl4real/Deploy.h"
#include "llvm/tasks/regalloc/rl4real/Parameters.h"
#include "llvm/tasks/regalloc/rl4real/Pass.h"

using namespace llvm;

namespace mlcb::rl4real {

namespace {

static_assert(static_cast<size_t>(Metric::spills_default) == static_cast<size_t>(eviction::Metric::spills_default),
              "all tasks of register allocation include the same metrics");

/// An episode of register allocation whose code generation has this allocator.
class Rl4Real final : public BoundTask {
public:
  static Expected<std::unique_ptr<BoundTask>> prepare(const BoundSpec &Spec, measure::Measurer &Target) {
    if (auto Own = AllocatorParameters::read(Spec); !Own)
      return Unexpected(Own.error());
    const AllocatorScope Allocator(createAllocator);
    return Regalloc::prepare(Spec, Target).map([](std::unique_ptr<BoundTask> Made) { return std::make_unique<Rl4Real>(std::move(Made)); });
  }

  explicit Rl4Real(std::unique_ptr<BoundTask> Allocating) : Allocating(std::move(Allocating)) {}

  Expected<EndReason> run(Module &M, ModelRunner &Policy, const EpisodeRequest &Request) override {
    const AllocatorScope Allocator(createAllocator);
    return Allocating->run(M, Policy, Request);
  }

private:
  std::unique_ptr<BoundTask> Allocating;
};

const TaskRegistration Registration("rl4real", Level::O2.Pipeline, &Rl4Real::prepare, &allocateInHost, Guard::Function,
                                    OnOtherArchitecture::LeavesToLLVM);

} // namespace

} // namespace mlcb::rl4real
