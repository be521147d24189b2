// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/rl4real/Parameters.h"

#include "llvm/task/Parameters.h"

#include <utility>

using namespace llvm;

namespace mlcb::rl4real {

Expected<AllocatorParameters> AllocatorParameters::read(const BoundSpec &Spec) {
  ParameterReader From(Spec);
  const int64_t Splits = From.integer("splits");
  if (std::cmp_greater(Splits, MostSplits))
    From.reject("splits: " + Twine(Splits) + ", expected at most " + Twine(MostSplits));
  return From.result(AllocatorParameters{static_cast<unsigned>(Splits), From.integer("dimension") ? From.vocabulary<MachineVocabulary>() : nullptr});
}

} // namespace mlcb::rl4real
