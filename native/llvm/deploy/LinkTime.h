// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Builds that optimize when they link: policies decide there, and nowhere before.
#pragma once

#include "runner/ModelRunner.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Pass.h"

namespace llvm {
class Module;
class PassBuilder;
} // namespace llvm

namespace mlcb {

/// A linker reads its command line before it loads plugins, and would not know their options. Beside a plugin FILE (or a link to it), FILE.options
/// has them, one a line as in -mlcb-runner=URI; <CFGDIR> in a value is the folder. Ends the process where it has anything else.
void readOptionsBesidePlugin();

/// Whether options were read there: this process is a linker.
bool isLinker();

/// Whether a policy may set options of LLVM, which are one to all threads: not in a thin link that is not said to be by one thread, or of which a
/// second thread has asked. That is said once.
bool maySetOptions(llvm::ThinOrFullLTOPhase Phase);

/// Whether a policy may decide: no other thread would see the options that it sets, as setsOptions() tells by its parameters.
template <class ParametersT> bool mayDecide(const ModelRunner &Policy, llvm::ThinOrFullLTOPhase Phase) {
  const Expected<ParametersT> Read = ParametersT::read(Policy.spec());
  return !Read || !setsOptions(*Read) || maySetOptions(Phase);
}

/// Whether no other thread of this process compiles, of which a fork would know only its locks: it is the main thread, or that of a thin link that
/// is said to be by one. Where one may, it says so once.
bool compilesAlone(const llvm::Module &M);

/// Suspends the policies of a builder's pipelines before such a link, around all that Deploy adds to them. Says so once where the link will not
/// ask them either.
void leaveDecisionsToLink(llvm::PassBuilder &Builder, llvm::function_ref<void()> Deploy);

} // namespace mlcb
