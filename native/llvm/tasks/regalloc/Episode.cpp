// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/Episode.h"

#include "spec/Tasks.h"
#include "llvm/measure/HashStream.h"
#include "llvm/measure/ObjectLayout.h"
#include "llvm/measure/UseOrder.h"
#include "llvm/pipeline/Level.h"
#include "llvm/process/CurrentActivity.h"
#include "llvm/task/InterleavedTiming.h"
#include "llvm/task/TaskRegistration.h"
#include "llvm/tasks/regalloc/Alternatives.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCObjectStreamer.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace mlcb {

using eviction::Metric;
static_assert(static_cast<size_t>(Metric::spills_default) == static_cast<size_t>(priority::Metric::spills_default),
              "both tasks include the same metrics");

namespace {
/// The metrics of one of the costs.
struct CostMetrics {
  double measure::AllocationCosts::*Of;
  Metric Final, Guarded, Saved, FunctionDefault, Default;

  /// Whether one of them is wanted that needs what each function costs.
  bool eachWantedBy(const ModelRunner &Policy) const {
    return Policy.wants(Guarded) || (!Policy.measuresEndAlone() && (Policy.wants(Final) || Policy.wants(FunctionDefault)));
  }
};

constexpr CostMetrics AllCosts[] = {
    {&measure::AllocationCosts::Allocated, Metric::cost, Metric::cost_guarded, Metric::functions_saved, Metric::function_default,
     Metric::cost_default},
    {&measure::AllocationCosts::Executed, Metric::executed, Metric::executed_guarded, Metric::functions_saved_executed,
     Metric::function_default_executed, Metric::executed_default},
};
} // namespace

static constexpr size_t BlocksBytes = 16u << 20;

static Unexpected invalid(llvm::Error Why) { return fail(ErrorKind::InvalidArgument, toString(std::move(Why))); }

Expected<std::unique_ptr<BoundTask>> Regalloc::prepare(const BoundSpec &Spec, measure::Measurer &Target) {
  Expected<RegallocParameters> Parameters = RegallocParameters::read(Spec);
  if (!Parameters)
    return Unexpected(Parameters.error());
  auto Blocks = measure::SharedCache::create(BlocksBytes);
  if (!Blocks)
    return invalid(Blocks.takeError());
  auto Made = std::make_unique<Regalloc>(std::string(Spec.Task.Name), std::move(*Parameters), Target.targetMachine(), std::move(*Blocks));
  if (Expected<ModulePassManager> Passes = Made->Before.parse({{}, Made->Parameters.Pipeline}); !Passes && !Made->Parameters.Pipeline.empty())
    return fail(ErrorKind::InvalidArgument, Made->Task + "/pipeline: " + Passes.error().Message);
  if (llvm::Error E = Made->Generator.prepare())
    return invalid(std::move(E));
  return Made;
}

Regalloc::Regalloc(std::string Task, RegallocParameters Given, TargetMachine &Machine, measure::SharedCache Blocks)
    : Task(std::move(Task)), Parameters(std::move(Given)), Machine(Machine), Before(Machine), Blocks(std::move(Blocks)),
      Generator(Machine, [this](const MachineFunction &MF, const measure::AllocationCosts &Of) { noteCosts(MF, Of); }) {}

Expected<EndReason> Regalloc::run(Module &M, ModelRunner &Policy, const EpisodeRequest &Request) {
  std::shared_ptr<RegallocConversation> Talk = std::make_shared<RegallocConversation>(M, Policy, Request, [&]() -> Expected<void> {
    const bool IsPaid = any_of(AllCosts, [&](const CostMetrics &Told) { return Policy.wants(Told.Final); });
    writeCosts(Policy, cost(), IsPaid ? Talk->charged() : 0);
    return {};
  });
  optimize(M);
  {
    const Uncounted Measuring(Talk->clock());
    if (auto Measured = measureBaseline(M, Policy, Request); !Measured)
      return Unexpected(Measured.error());
  }
  const RegallocScope Scope(advisedBy(Talk));
  Verify = Request.Verify;
  const RegallocOutcome Made = generate(M);
  return Talk->finish([&] { return measure(M, Talk, Made, Request); });
}

Expected<void> Regalloc::measure(const Module &M, const std::shared_ptr<RegallocConversation> &Talk, const RegallocOutcome &Made,
                                 const EpisodeRequest &Request) {
  if (Broken)
    return Unexpected(*Broken);
  ModelRunner &Policy = Talk->policy();
  writeCosts(Policy, Made.Cost);
  Policy.metric<int64_t>(Metric::size) = Made.Object.Allocated;
  Policy.metric<int64_t>(Metric::text) = Made.Object.Text;
  if (Policy.wants(Metric::executed_candidates) || Policy.wants(Metric::executed_beside))
    if (auto Measured = measureCandidates(M, Talk); !Measured)
      return Measured;
  if (wantsTime<Metric>(Policy))
    if (auto Timed = measureTime(M, Talk, Request.Timing); !Timed)
      return Timed;
  if (!Policy.wants(Metric::throughput))
    return {};
  Talk->replay();
  Expected<double> Cycles = throughput(M);
  if (!Cycles)
    return Unexpected(Cycles.error());
  if (auto Why = Talk->divergence())
    return Unexpected(*Why);
  Policy.metric<double>(Metric::throughput) = *Cycles;
  return {};
}

/// In turns with the program that LLVM's own advisor made, which entered before.
Expected<void> Regalloc::measureTime(const Module &M, const std::shared_ptr<RegallocConversation> &Talk, InterleavedTiming *Timing) {
  if (Timing) {
    Talk->replay();
    if (auto Entered = Timing->enter(measure::cloneExactly(M), Machine.getOptLevel()); !Entered)
      return Entered;
    if (auto Why = Talk->divergence())
      return Unexpected(*Why);
  }
  return writeTime<Metric>(Talk->policy(), Timing);
}

/// What -mlcb-candidates would make of this policy and what is tried beside it.
Expected<void> Regalloc::measureCandidates(const Module &M, const std::shared_ptr<RegallocConversation> &Talk) {
  Talk->replay();
  SmallVector<Allocations> Others{allocate(M, Machine, {"policy", advisedBy(Talk)})};
  if (auto Why = Talk->divergence())
    return Unexpected(*Why);
  for (const FixedAllocator *By : Parameters.Beside)
    Others.push_back(allocate(M, Machine, Alternative::fixed(*By)));
  const Allocations Own = allocate(M, Machine, {"greedy", unadvised});
  ModelRunner &Policy = Talk->policy();
  Policy.metric<double>(Metric::executed_candidates) = Policy.metric<double>(Metric::executed_default) - totalGain(worthTheirBytes(Own, Others));
  Policy.metric<double>(Metric::executed_beside) = Others.back().sum().Cost;
  return {};
}

OpenRegalloc Regalloc::advisedBy(const std::shared_ptr<RegallocConversation> &Talk) const {
  return [this, Talk](StringRef Asking, Module &) { return Asking == Task ? RegallocConversations{{Talk}} : RegallocConversations(); };
}

/// As it is when code generation begins.
void Regalloc::optimize(Module &M) {
  if (!Parameters.KeepsOptSize)
    Level::O2.setAttributes(M);
  if (!Parameters.Pipeline.empty()) {
    CurrentActivity Now(Parameters.Pipeline);
    Before.run(Parameters.Pipeline, M);
  }
}

/// Writes the metrics of LLVM's own advisor, where they are wanted.
Expected<void> Regalloc::measureBaseline(const Module &M, ModelRunner &Policy, const EpisodeRequest &Request) {
  const RegallocScope Alone(unadvised);
  if (wantsTime<Metric>(Policy) && Request.Timing)
    if (auto Entered = Request.Timing->enter(measure::cloneExactly(M), Machine.getOptLevel()); !Entered)
      return Entered;
  const bool Each = // needs what each function costs
      any_of(AllCosts, [&](const CostMetrics &Told) { return Told.eachWantedBy(Policy); }) || Policy.wants(Metric::executed_candidates);
  if (!Each && none_of(AllCosts, [&](const CostMetrics &Told) { return Policy.wants(Told.Default); }) && !Policy.wants(Metric::spills_default) &&
      !Policy.wants(Metric::size_default) && !Policy.wants(Metric::text_default) && !Policy.wants(Metric::throughput_default))
    return {};
  CurrentActivity Now("the measurement of the baselines");
  const bool Cycles = Policy.wants(Metric::throughput_default);
  const measure::Key Known = key(Request, Cycles ? "with throughput" : "");
  std::optional<RegallocOutcome> Own;
  if (Request.Cache && !Request.Program.empty() && !Each)
    Own = Request.Cache->find<RegallocOutcome>(Known);
  if (!Own) {
    Own = generate(M);
    Defaults = Allocated;
    if (Cycles) {
      Expected<double> Measured = throughput(M);
      if (!Measured)
        return Unexpected(Measured.error());
      Own->Throughput = *Measured;
    }
    if (Request.Cache && !Request.Program.empty())
      Request.Cache->insert(Known, *Own);
  }
  for (const CostMetrics &Told : AllCosts)
    Policy.metric<double>(Told.Default) = Own->Cost.*Told.Of;
  Policy.metric<int64_t>(Metric::spills_default) = 1 + Own->Cost.Spills;
  Policy.metric<int64_t>(Metric::size_default) = Own->Object.Allocated;
  Policy.metric<int64_t>(Metric::text_default) = Own->Object.Text;
  Policy.metric<double>(Metric::throughput_default) = Own->Throughput;
  return {};
}

RegallocOutcome Regalloc::generate(const Module &M) {
  CurrentActivity Now("code generation");
  RegallocOutcome Made;
  Allocated.clear();
  Generator.run(
      *measure::cloneExactly(M), [](MachineFunction &) {},
      [&](MCObjectStreamer &Streamer) { Made.Object = measure::sizeOf(Streamer.getAssembler(), Machine.getTargetTriple()); });
  Made.Cost = cost();
  return Made;
}

/// Its answers must be those of generate(): Measurer::throughput() would remember other ones.
Expected<double> Regalloc::throughput(const Module &M) {
  auto Meter = measure::ThroughputMeter::create(Machine, Blocks, {});
  if (!Meter)
    return invalid(Meter.takeError());
  return (*Meter)->cycles(*measure::cloneExactly(M));
}

void Regalloc::noteCosts(const MachineFunction &MF, const measure::AllocationCosts &Of) {
  Costs[MF.getName()] = Of;
  Allocated.push_back(Of);
  if (Verify && !Broken && !MF.verify(nullptr, nullptr, &nulls(), /*AbortOnError=*/false))
    Broken = Error{ErrorKind::InvalidArgument, "the allocation of function '" + MF.getName().str() + "' is one that LLVM's verifier refuses"};
}

measure::AllocationCosts Regalloc::cost() const {
  measure::AllocationCosts Sum;
  for (const auto &Each : Costs) {
    Sum.Spills += Each.second.Spills;
    Sum.Allocated += Each.second.Allocated;
    Sum.Executed += Each.second.Executed;
  }
  return Sum;
}

/// Code is generated for one function after the other, each time in the same order. The one in progress costs what it does by default, and what it
/// is charged.
void Regalloc::writeCosts(ModelRunner &Policy, const measure::AllocationCosts &OfModule, double Charged) const {
  const size_t Place = Allocated.size();
  Policy.metric<int64_t>(Metric::function) = static_cast<int64_t>(Place);
  Policy.metric<int64_t>(Metric::spills) = 1 + OfModule.Spills;
  for (const CostMetrics &Told : AllCosts) {
    double Saved = 0, Gained = 0;
    for (const auto &[Own, Default] : zip(Allocated, Defaults)) {
      const double Less = Default.*Told.Of - Own.*Told.Of; // what is as by default adds nothing at all
      Saved += Less;
      Gained += std::max(Less, 0.0);
    }
    Policy.metric<double>(Told.Final) = OfModule.*Told.Of + Charged;
    Policy.metric<double>(Told.Guarded) = Policy.metric<double>(Told.Default) - Gained;
    Policy.metric<double>(Told.Saved) = Saved;
    Policy.metric<double>(Told.FunctionDefault) = Place < Defaults.size() ? Defaults[Place].*Told.Of : 0;
  }
}

measure::Key Regalloc::key(const EpisodeRequest &Request, StringRef What) const {
  std::string Text = join_items('\n', "allocation", What, Parameters.Pipeline, Parameters.KeepsOptSize ? "optsize" : "", Request.Program,
                                Machine.getTargetTriple().str(), Machine.getTargetCPU());
  return measure::hashBytes(arrayRefFromStringRef(Text));
}

/// The policies of a command line advise the compiler's own allocator, whoever builds its pipelines: see AdvisorSwap.
static void deploy(const TaskRegistration &, PassBuilder &) {}

static const TaskRegistration Eviction("eviction", Level::O2.Pipeline, &Regalloc::prepare, deploy, Guard::Function);
static const TaskRegistration Priority("priority", Level::O2.Pipeline, &Regalloc::prepare, deploy, Guard::Function);

} // namespace mlcb
