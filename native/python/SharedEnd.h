// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An end of a conversation that one thread may close while another one waits at it.
#pragma once

#include "channel/Rendezvous.h"
#include "python/Turn.h"

#include <atomic>
#include <memory>

namespace mlcb::python {

/// Belongs to whoever holds the GIL, but for the waits, of which there is one at a time.
template <class AnyEnd> class SharedEnd {
public:
  /// Ends a wait where the end was closed meanwhile, or a signal raised.
  InterruptCheck interrupted() const {
    return [Flag = Closed] { return *Flag || signalRaised(); };
  }

  void open(AnyEnd New) { Kept = std::make_shared<Guarded>(std::move(New), Closed); }
  bool isOpen() const { return Kept != nullptr; }
  int fileno() const {
    if (!Kept)
      return -1;
    const Turn Ours(Taken);
    return Kept->End.fileno();
  }

  /// Calls without the GIL. What it gives may refer to the end, which stays until Then has used it.
  template <class Call, class Use> auto wait(Call Wait, Use Then) const {
    const Released Mine(held());
    const Turn Ours(Taken);
    return Then(unwrap(unlessClosed(Wait, Mine->End)));
  }
  template <class Call> auto wait(Call Wait) const {
    const Released Mine(held());
    const Turn Ours(Taken);
    return unwrap(unlessClosed(Wait, Mine->End));
  }

  auto asked() const {
    const auto Mine = held();
    const Turn Ours(Taken);
    return Mine->End.asked();
  }

  /// Waits for the peer of an end that is to be opened.
  std::unique_ptr<Channel> connect(Rendezvous &Place, Deadline Until) const {
    const Turn Ours(Taken);
    return unwrap(unlessClosed([&](Rendezvous &At) { return At.connect(Until, interrupted()); }, Place));
  }

  /// Says bye, now or when the wait of another thread has ended, which it does soon, as a PeerGone.
  void close() {
    *Closed = true;
    const Released Mine(std::move(Kept));
  }

private:
  using Flag = std::shared_ptr<std::atomic<bool>>;

  struct Guarded {
    Guarded(AnyEnd End, Flag Closed) : End(std::move(End)), Closed(std::move(Closed)) {}
    ~Guarded() {
      if (*Closed)
        End.close();
    }
    AnyEnd End;
    Flag Closed;
  };

  /// The end, or a PeerGone: between a look at isOpen() and a call, code of the caller may have closed it.
  std::shared_ptr<Guarded> held() const {
    if (!Kept)
      raise({ErrorKind::PeerGone, "the channel was closed meanwhile"});
    return Kept;
  }

  template <class Call, class At> auto unlessClosed(const Call &Wait, At &Where) const {
    auto Result = [&] {
      nanobind::gil_scoped_release Waiting;
      return Wait(Where);
    }();
    if (*Closed && (Result || Result.error().Kind == ErrorKind::Interrupted))
      Result = fail(ErrorKind::PeerGone, "the channel was closed meanwhile");
    return Result;
  }

  Flag Closed = std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<Guarded> Kept;
  mutable bool Taken = false;
};

} // namespace mlcb::python
