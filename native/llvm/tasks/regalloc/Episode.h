// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tasks eviction and priority: a policy advises LLVM's register allocator, in code generation of the module's own.
#pragma once

#include "llvm/measure/CodeGenerator.h"
#include "llvm/measure/Measure.h"
#include "llvm/measure/SharedCache.h"
#include "llvm/measure/Throughput.h"
#include "llvm/pipeline/PassRunner.h"
#include "llvm/task/BoundTask.h"
#include "llvm/tasks/regalloc/Parameters.h"
#include "llvm/tasks/regalloc/Scope.h"

#include "llvm/ADT/StringMap.h"

namespace mlcb {

/// The metrics of a module's code.
struct RegallocOutcome {
  measure::AllocationCosts Cost;
  measure::Size Object;
  double Throughput = 0;
};

/// Either task bound to its parameters: a pipeline, and then code generation that asks.
class Regalloc final : public BoundTask {
public:
  static Expected<std::unique_ptr<BoundTask>> prepare(const BoundSpec &Spec, measure::Measurer &Target);

  Regalloc(std::string Task, RegallocParameters Parameters, llvm::TargetMachine &Machine, measure::SharedCache Blocks);

  Expected<EndReason> run(llvm::Module &M, ModelRunner &Policy, const EpisodeRequest &Request) override;

private:
  void optimize(llvm::Module &M);
  Expected<void> measureBaseline(const llvm::Module &M, ModelRunner &Policy, const EpisodeRequest &Request);
  RegallocOutcome generate(const llvm::Module &M);
  Expected<double> throughput(const llvm::Module &M);
  void noteCosts(const llvm::MachineFunction &MF, const measure::AllocationCosts &Of);
  measure::AllocationCosts cost() const;
  void writeCosts(ModelRunner &Policy, const measure::AllocationCosts &OfModule, double Charged = 0) const;
  OpenRegalloc advisedBy(const std::shared_ptr<RegallocConversation> &Talk) const;
  Expected<void> measureCandidates(const llvm::Module &M, const std::shared_ptr<RegallocConversation> &Talk);
  Expected<void> measureTime(const llvm::Module &M, const std::shared_ptr<RegallocConversation> &Talk, InterleavedTiming *Timing);
  Expected<void> measure(const llvm::Module &M, const std::shared_ptr<RegallocConversation> &Talk, const RegallocOutcome &Made,
                         const EpisodeRequest &Request);
  measure::Key key(const EpisodeRequest &Request, llvm::StringRef What) const;

  std::string Task;
  RegallocParameters Parameters;
  llvm::TargetMachine &Machine;
  PassRunner Before;
  measure::SharedCache Blocks; // of llvm-mca
  measure::CodeGenerator Generator;
  llvm::StringMap<measure::AllocationCosts> Costs; // by function: of the last run, or, of those that it has not come to, of the run before
  std::vector<measure::AllocationCosts> Allocated; // of the functions that this run has come to
  std::vector<measure::AllocationCosts> Defaults;  // those of the run without questions
  bool Verify = false;
  std::optional<Error> Broken; // by an allocation
};

} // namespace mlcb
