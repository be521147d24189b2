// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The order of use lists: part of a module that its text does not show, and that code generation depends on.
#pragma once

#include "llvm/Transforms/Utils/ValueMapper.h"

namespace llvm {
class Module;
}

namespace mlcb::measure {

/// Gives the values of a clone the order of uses that the originals have; Map is what CloneModule filled. A clone's own order follows
/// from its text, and is not that of a module which passes have changed (the predecessors of a block, for one).
void copyUseOrder(const llvm::Module &From, llvm::ValueToValueMapTy &Map);

} // namespace mlcb::measure
