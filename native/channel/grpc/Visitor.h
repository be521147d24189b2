// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A connection to a server, as its bounds count it.
#pragma once

#include "channel/Deadline.h"

#include <atomic>
#include <memory>

namespace mlcb {

/// Counted by the streams on it, watched by who accepted it.
class Visitor {
public:
  /// Whether it has a session, or episodes that outlive theirs.
  bool isInUse() const { return Streams > 0; }
  /// Whether it never had one.
  bool isStranger() const { return Stranger; }
  size_t episodes() const { return Streams - Sessions; }
  Clock::time_point lastHeard() const { return Clock::time_point(Clock::duration(Heard)); }
  void hear() { Heard = Clock::now().time_since_epoch().count(); }

private:
  friend class Visit;
  std::atomic<size_t> Streams = 0, Sessions = 0;
  std::atomic<bool> Stranger = true;
  std::atomic<Clock::rep> Heard = Clock::now().time_since_epoch().count();
};

/// One stream of a connection, as long as it lasts. A session is a stream that says who else may come.
class Visit {
public:
  Visit() = default;
  Visit(std::shared_ptr<Visitor> Of, bool IsSession) : Of(std::move(Of)), IsSession(IsSession) {
    this->Of->Stranger = false;
    ++this->Of->Streams;
    this->Of->Sessions += IsSession;
  }
  Visit(Visit &&) = default;
  Visit &operator=(Visit &&) = default;
  ~Visit() {
    if (!Of)
      return;
    --Of->Streams;
    Of->Sessions -= IsSession;
    Of->hear();
  }

  bool isBeside(const Visit &Other) const { return Of && Of == Other.Of; }
  bool exceeds(size_t Episodes) const { return Of && Of->episodes() > Episodes; }

  void hear() const {
    if (Of)
      Of->hear();
  }

private:
  std::shared_ptr<Visitor> Of;
  bool IsSession = false;
};

} // namespace mlcb
