// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/process/CurrentActivity.h"

using namespace llvm;

namespace mlcb {

static thread_local StringRef Current;

CurrentActivity::CurrentActivity(StringRef What) : Outer(Current) { Current = What; }
CurrentActivity::~CurrentActivity() { Current = Outer; }
StringRef CurrentActivity::current() { return Current; }

} // namespace mlcb
