// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shared memory with a compiler that somebody else starts: it is handed over at a Unix socket, named by a path.
#pragma once

#include "channel/Rendezvous.h"
#include "spec/FileDescriptor.h"

#include <string>
#include <sys/types.h>

namespace mlcb {

/// The learner's end, which listens at the path for one compiler. The path goes with it; one that a dead learner left is taken over.
class ShmListener final : public Rendezvous {
public:
  static Expected<ShmListener> open(std::string Path);

  ShmListener(ShmListener &&) = default;
  ShmListener &operator=(ShmListener &&) = delete;
  ~ShmListener() override;

  Expected<std::unique_ptr<Channel>> connect(Deadline Until, const InterruptCheck &Interrupted = {}) override;

private:
  /// A file, whatever its path.
  struct Identity {
    dev_t Device;
    ino_t Number;
    bool operator==(const Identity &) const = default;
  };

  ShmListener(FileDescriptor Socket, std::string Path);

  /// What is at a path; zeros where nothing is.
  static Identity fileAt(const std::string &Path);

  FileDescriptor Socket;
  std::string Path;
  Identity Bound;
};

/// The compiler's end. Either may come first.
Expected<std::unique_ptr<Channel>> connectShm(const std::string &Path, Deadline Until, const InterruptCheck &Interrupted = {});

} // namespace mlcb
