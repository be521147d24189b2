// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/passes/PosetRLObservation.h"

#include "llvm/passes/Activity.h"
#include "spec/Tasks.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace mlcb {

using Feature = posetrl::orderer;
using posetrl::Metric;

Expected<void> PosetRLObservation::baselines(const Module &Loaded, BaselineMeter Meter) {
  if (Policy.wants(Metric::size_unoptimized) || Policy.wants(Metric::size_oz) || Policy.wants(Metric::text_oz) ||
      Policy.wants(Metric::ir_instructions_oz)) {
    Baselines B = Meter.sizes(Loaded);
    Policy.metric<int64_t>(Metric::size_unoptimized) = B.SizeUnoptimized;
    Policy.metric<int64_t>(Metric::size_oz) = B.SizeOz;
    Policy.metric<int64_t>(Metric::text_oz) = B.TextOz;
    Policy.metric<int64_t>(Metric::ir_instructions_oz) = B.InstructionsOz;
  }
  if (Policy.wants(Metric::throughput_oz)) {
    Expected<double> Cycles = Meter.throughputOz(Loaded);
    if (!Cycles)
      return Unexpected(Cycles.error());
    Policy.metric<double>(Metric::throughput_oz) = *Cycles;
  }
  return {};
}

void PosetRLObservation::module(Module &M) {
  Observer.observe(M, {Policy.tensor<float>(Feature::embedding), Policy.tensor<int64_t>(Feature::opcodes),
                       Policy.tensor<int64_t>(Feature::properties)});
  int64_t Instructions = M.getInstructionCount();
  if (InitialInstructions < 0)
    InitialInstructions = Instructions;
  auto Counts = Policy.tensor<int64_t>(Feature::instructions);
  Counts[0] = Instructions;
  Counts[1] = InitialInstructions;
}

void PosetRLObservation::history(ArrayRef<int64_t> Taken, int64_t MaxSteps) {
  Policy.tensor<float>(Feature::progress)[0] = static_cast<float>(Taken.size()) / static_cast<float>(MaxSteps);
  auto Last = Policy.tensor<int64_t>(Feature::last_actions);
  for (size_t Ago = 0; Ago < Last.size(); ++Ago)
    Last[Ago] = Ago < Taken.size() ? Taken[Taken.size() - 1 - Ago] : -1;
}

void PosetRLObservation::mask(const ActionMask &Mask) { Mask.write(Policy.tensor<int8_t>(Feature::action_mask)); }

Expected<void> PosetRLObservation::metrics(const Module &M) {
  Activity Now("a measurement");
  if (Policy.wants(Metric::size) || Policy.wants(Metric::text)) {
    measure::Size Size = Target.size(M);
    Policy.metric<int64_t>(Metric::size) = Size.Allocated;
    Policy.metric<int64_t>(Metric::text) = Size.Text;
  }
  if (Policy.wants(Metric::ir_instructions))
    Policy.metric<int64_t>(Metric::ir_instructions) = M.getInstructionCount();
  if (Policy.wants(Metric::throughput)) {
    llvm::Expected<double> Cycles = Target.throughput(M);
    if (!Cycles)
      return fail(ErrorKind::InvalidArgument, toString(Cycles.takeError()));
    Policy.metric<double>(Metric::throughput) = *Cycles;
  }
  return {};
}

void PosetRLObservation::endTurn() {
  Policy.metric<double>(Metric::llvm_seconds) = std::chrono::duration<double>(Clock::now() - TurnBegan).count();
}

uint64_t PosetRLObservation::fingerprint() const {
  auto Hash = [](auto Values) { return hash_combine_range(Values.begin(), Values.end()); };
  auto Embedding = Policy.tensor<float>(Feature::embedding); // by its bits: hashing knows no floats
  return hash_combine(Hash(ArrayRef(reinterpret_cast<const char *>(Embedding.data()), Embedding.size_bytes())),
                      Hash(Policy.tensor<int64_t>(Feature::opcodes)), Hash(Policy.tensor<int64_t>(Feature::properties)));
}

} // namespace mlcb
