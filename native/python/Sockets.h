// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Descriptors that Python hands over.
#pragma once

#include "channel/FdChannel.h"
#include "python/Errors.h"

#include <sys/stat.h>

namespace mlcb::python {

/// A channel over a socket that it owns from here on, even if it turns out to be none.
inline std::unique_ptr<Channel> adoptSocket(int Fd) {
  FileDescriptor Owned(Fd);
  struct stat Status;
  if (::fstat(Fd, &Status) != 0 || !S_ISSOCK(Status.st_mode))
    raise({ErrorKind::InvalidArgument, "descriptor " + std::to_string(Fd) + " is not a socket"});
  return socketChannel(std::move(Owned));
}

} // namespace mlcb::python
