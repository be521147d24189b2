// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tasks bound by Hello frames, each prepared once for every target that it is used for.
#pragma once

#include "protocol/Messages.h"
#include "serdes/Serializer.h"
#include "llvm/measure/Measure.h"
#include "llvm/task/BoundTask.h"

#include "llvm/ADT/StringMap.h"

#include <map>
#include <memory>

namespace mlcb {

/// A bound task and how its learner wants to hear of it.
struct Configuration {
  BoundSpec Spec;
  const Serializer *Codec;
  std::vector<std::string> Metrics; // where Begin names none
};

class Configurations {
public:
  /// Binds what a Hello asks for and prepares it for this machine's own target, so that what is wrong with it is said at once.
  Expected<const Configuration *> add(const Hello &Asked);

  /// The configuration of a digest; an unknown one is an error.
  Expected<const Configuration *> find(llvm::StringRef Digest) const;

  /// The compiler's side of it for a target; prepared at the first call. Lives as long as this.
  Expected<BoundTask *> prepare(const Configuration &C, llvm::StringRef Triple, llvm::StringRef Cpu);

  /// The measurer of a target; made at the first call. Lives as long as this.
  Expected<measure::Measurer *> measurer(llvm::StringRef Triple, llvm::StringRef Cpu);

private:
  using TargetKey = std::pair<std::string, std::string>; // triple, cpu
  llvm::StringMap<Configuration> ByDigest;
  std::map<TargetKey, std::unique_ptr<measure::Measurer>> Measurers; // outlive the tasks
  std::map<std::pair<std::string, TargetKey>, std::unique_ptr<BoundTask>> Tasks;
};

} // namespace mlcb
