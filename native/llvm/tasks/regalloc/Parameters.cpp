// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/Parameters.h"

#include "llvm/task/Parameters.h"

namespace mlcb {

Expected<RegallocParameters> RegallocParameters::read(const BoundSpec &Spec) {
  ParameterReader From(Spec);
  From.zeroOrOne("told"); // shapes tensors, and nothing else
  return From.result(RegallocParameters{From.pipeline(), From.boolean("optsize")});
}

} // namespace mlcb
