// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tasks as passes of opt and clang, asking the policy that -mlcb-runner names.
#pragma once

namespace llvm {
class PassBuilder;
}

namespace mlcb {

/// Registers every task as a module pass of its name, and lets policies take part in the compiler's own pipelines as each task does
/// (DeployTask). Without -mlcb-runner nothing is added anywhere.
void registerPolicyPasses(llvm::PassBuilder &Builder);

} // namespace mlcb
