// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One loop becomes several, one after the other, each running some of its statements.
#pragma once

#include "llvm/loops/DependenceGraph.h"

namespace mlcb::loops {

/// Splits the loop of a graph into the parts of a partition that respects its order; one of a single part leaves the
/// loop as it is. Where that is right only if pointers do not alias, this is checked before the loop, which stays
/// beside its parts for where they do.
///
/// Whether anything has changed. LI, DT and SE are valid afterwards; the graph is not.
bool distribute(const DependenceGraph &G, llvm::ArrayRef<unsigned> PartOf, const Analyses &A);

} // namespace mlcb::loops
