// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where this code lies on disk: what is opened on demand lies near it.
#pragma once

#include <string>

namespace mlcb {

/// The folder of the shared object or program that holds this code: mlcb_gym (as _native*.so), mlcb_gym/lib or mlcb_gym/bin.
std::string ownFolder();

} // namespace mlcb
