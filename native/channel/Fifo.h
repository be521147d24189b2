// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two named FIFOs, BASE.in (learner to compiler) and BASE.out (compiler to learner), for a compiler that somebody else starts.
#pragma once

#include "channel/FdChannel.h"
#include "channel/Rendezvous.h"

#include <string>

namespace mlcb {

enum class FifoEnd { Compiler, Learner };

/// One FIFO, which must exist; non-blocking.
Expected<FileDescriptor> openFifo(const std::string &Path, int Mode);

/// One end of the pair. The reading half is open from the start, so that either side may come first.
class Fifo final : public Rendezvous {
public:
  static Expected<Fifo> open(const std::string &Base, FifoEnd End);

  Expected<std::unique_ptr<Channel>> connect(Deadline Until, const InterruptCheck &Interrupted = {}) override;

private:
  Fifo(FileDescriptor In, std::string OutPath) : In(std::move(In)), OutPath(std::move(OutPath)) {}

  FileDescriptor In;
  std::string OutPath;
};

} // namespace mlcb
