// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tasks as passes of opt and clang, asking the policy that -mlcb-runner names.
#pragma once

namespace llvm {
class PassBuilder;
}

namespace mlcb {

/// Registers every task as a module pass of its name. In clang (and opt's default pipelines) a policy that orders passes takes the
/// pipeline's place: it runs at the start, and no optional pass after it does, unless the guard prefers the pipeline. Without
/// -mlcb-runner no pass is added anywhere.
void registerPolicyPasses(llvm::PassBuilder &Builder);

} // namespace mlcb
