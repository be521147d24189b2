// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A place where one end of a channel waits for the other, which somebody else starts.
#pragma once

#include "channel/Channel.h"

#include <memory>

namespace mlcb {

class Rendezvous {
public:
  virtual ~Rendezvous();

  /// Waits for the other end. After a Timeout it may be called again.
  virtual Expected<std::unique_ptr<Channel>> connect(Deadline Until, const InterruptCheck &Interrupted = {}) = 0;
};

} // namespace mlcb
