// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "channel/Fifo.h"

#include "channel/Wait.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>

namespace mlcb {

Expected<FileDescriptor> openFifo(const std::string &Path, int Mode) {
  FileDescriptor Fd(::open(Path.c_str(), Mode | O_NONBLOCK | O_CLOEXEC));
  if (!Fd)
    return failErrno(Path);
  struct stat Status;
  if (::fstat(Fd.get(), &Status) != 0 || !S_ISFIFO(Status.st_mode))
    return fail(ErrorKind::InvalidArgument, Path + " is not a FIFO");
  return Fd;
}

Rendezvous::~Rendezvous() = default;

Expected<Fifo> Fifo::open(const std::string &Base, FifoEnd End) {
  const bool Learner = End == FifoEnd::Learner;
  auto In = openFifo(Base + (Learner ? ".out" : ".in"), O_RDONLY);
  if (!In)
    return Unexpected(In.error());
  return Fifo(std::move(*In), Base + (Learner ? ".in" : ".out"));
}

Expected<std::unique_ptr<Channel>> Fifo::connect(Deadline Until, const InterruptCheck &Interrupted) {
  for (;;) {
    auto Out = openFifo(OutPath, O_WRONLY); // ENXIO until the other end reads it
    if (Out)
      return pipeChannel(std::move(In), std::move(*Out));
    if (Out.error().Kind != ErrorKind::SystemError || errno != ENXIO)
      return Unexpected(Out.error());
    auto More = pauseUntil(Until, Interrupted);
    if (!More)
      return Unexpected(More.error());
    if (!*More)
      return fail(ErrorKind::Timeout, "nobody opened " + OutPath + " in time");
  }
}

} // namespace mlcb
