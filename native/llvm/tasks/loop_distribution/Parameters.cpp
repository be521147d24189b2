// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/loop_distribution/Parameters.h"

#include "llvm/task/Parameters.h"

namespace mlcb {

Expected<LoopDistributionParameters> LoopDistributionParameters::read(const BoundSpec &Spec) {
  ParameterReader From(Spec);
  return From.result(LoopDistributionParameters{From.pipeline("one that vectorizes"), From.boolean("optsize"),
                                                From.integer("dimension") ? From.vocabulary() : nullptr});
}

} // namespace mlcb
