// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Builds that optimize when they link: policies decide there, and nowhere before.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"

namespace llvm {
class PassBuilder;
}

namespace mlcb {

/// A linker reads its command line before it loads plugins, and would not know their options. Beside a plugin FILE (or a link to it), FILE.options
/// has them, one a line as in -mlcb-runner=URI; <CFGDIR> in a value is the folder. Ends the process where it has anything else.
void readOptionsBesidePlugin();

/// Whether options were read there: this process is a linker.
bool isLinker();

/// Whether the thin link is by one thread; where it is not said to be, that is said once.
bool linksByOneThread();

/// Suspends the policies of a builder's pipelines before such a link, around all that Deploy adds to them. Says so once where the link will not
/// ask them either.
void leaveDecisionsToLink(llvm::PassBuilder &Builder, llvm::function_ref<void()> Deploy);

} // namespace mlcb
