// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The folder of this library on disk, beside which lies what is opened on demand.
#pragma once

#include <string>

namespace mlcb {

/// The folder of the shared object or program that holds this code: mlcb_gym (as _native*.so), mlcb_gym/lib or mlcb_gym/bin.
std::string ownFolder();

} // namespace mlcb
