// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Episodes at rest at their first question, from which others take up.
#pragma once

#include "protocol/Framed.h"
#include "llvm/measure/SharedCache.h"

#include <deque>
#include <list>

namespace mlcb {

/// How many snapshots a worker keeps, and of how many instructions in all (one holds some megabytes, and about a kilobyte for each).
struct SnapshotLimits {
  size_t Count = 32, Instructions = 100'000;
};

/// Equal requests come to the same first question. What compilers do until then is done once where requests recur: a clone of an episode
/// waits there, a process of its own, and is cloned for each that begins.
class Snapshots {
public:
  explicit Snapshots(SnapshotLimits Limits) : Limits(Limits) {}

  /// Begins an episode on the learner's channel, and closes it here. False where there is no such snapshot.
  bool begin(measure::Key Request, FileDescriptor &Channel);

  /// The channel of a snapshot that the coming episode is to leave: to be asked before an episode begins without one. None where none is
  /// wanted, because the request has not recurred within as many requests as there may be snapshots.
  FileDescriptor admit(measure::Key Request, size_t Instructions);

  /// Closes their channels, which ends them unless another process holds them too.
  void close() { Kept.clear(); }

private:
  struct Snapshot {
    measure::Key Request;
    size_t Instructions;
    Framed Link;
    bool IsThere = false;
  };

  static bool isThere(Snapshot &S);
  std::list<Snapshot>::iterator find(measure::Key Request);
  bool recurs(measure::Key Request);
  void evict();

  SnapshotLimits Limits;
  std::list<Snapshot> Kept;        // the last used first; one that never came, or died, stays until its turn so that none is made again
  std::deque<measure::Key> Lately; // requests that have no snapshot, the last first
};

} // namespace mlcb
