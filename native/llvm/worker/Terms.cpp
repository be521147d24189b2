// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/worker/Terms.h"

namespace mlcb {

Expected<void> Terms::applyTo(BeginRequest &Asked) const {
  if (!Paths && Asked.Bitcode.empty())
    return fail(ErrorKind::InvalidArgument,
                "program '" + Asked.Program + "' is a path, expected bitcode: this server opens files for nobody (mlcb serve --paths)");
  return Asked.Bounds.lowerTo(Most);
}

} // namespace mlcb
