// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/passes/Activity.h"

using namespace llvm;

namespace mlcb {

static StringRef Current;

Activity::Activity(StringRef What) : Outer(Current) { Current = What; }
Activity::~Activity() { Current = Outer; }
StringRef Activity::current() { return Current; }

} // namespace mlcb
