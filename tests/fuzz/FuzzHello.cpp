// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as a learner's Hello: it is refused, or is the same when written and read again, and asks for a task that can be bound or not.
#include "protocol/Messages.h"
#include "protocol/Observation.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *Data, size_t Size) {
  using namespace mlcb;
  const auto Asked = Hello::fromJson({reinterpret_cast<const char *>(Data), Size});
  if (!Asked)
    return 0;
  const auto Again = Hello::fromJson(Asked->toJson());
  if (!Again || Again->toJson() != Asked->toJson())
    std::abort();
  if (const TaskSpec *Task = findTask(Asked->Task))
    if (const auto Bound = bindTask(*Task, Asked->Parameters)) {
      (void)wantMetrics(*Bound, Asked->Metrics);
      if (const auto Same = rebind(Bound->toJson()); !Same || Same->Digest != Bound->Digest)
        std::abort();
    }
  return 0;
}
