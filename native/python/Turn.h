// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One thread at a time at an end, although it waits there without the GIL.
#pragma once

#include "python/Errors.h"

#include <memory>

namespace mlcb::python {

/// Begins and ends with the GIL held. Whoever comes meanwhile, from another thread or out of this one's own wait, gets an InvalidArgument.
class Turn {
public:
  explicit Turn(bool &Taken) : Taken(Taken) {
    if (Taken)
      raise({ErrorKind::InvalidArgument, "another thread waits at this end"});
    Taken = true;
  }
  Turn(const Turn &) = delete;
  Turn &operator=(const Turn &) = delete;
  ~Turn() { Taken = false; }

private:
  bool &Taken;
};

/// Lets go of what other threads may still use. The last one does so without the GIL: to say bye may take a while.
template <class T> class Released {
public:
  explicit Released(std::shared_ptr<T> Kept) : Kept(std::move(Kept)) {}
  Released(const Released &) = delete;
  Released &operator=(const Released &) = delete;
  ~Released() {
    if (Kept.use_count() != 1)
      return;
    nanobind::gil_scoped_release Waiting;
    Kept.reset();
  }

  T &operator*() const { return *Kept; }
  T *operator->() const { return Kept.get(); }

private:
  std::shared_ptr<T> Kept;
};

} // namespace mlcb::python
