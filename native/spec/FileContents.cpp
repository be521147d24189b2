// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "spec/FileContents.h"

#include "spec/FileDescriptor.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace mlcb {
namespace {

constexpr size_t Part = size_t(64) << 10;

/// Appends a part of a file; its size is 0 at the end, negative where it cannot be read.
ssize_t append(std::string &To, const FileDescriptor &From) {
  const size_t Size = To.size();
  To.resize(Size + Part);
  ssize_t Got = 0;
  do
    Got = ::read(From.get(), To.data() + Size, Part);
  while (Got < 0 && errno == EINTR);
  To.resize(Size + static_cast<size_t>(std::max<ssize_t>(Got, 0)));
  return Got;
}

Unexpected tooLarge(const std::string &Path, size_t Limit) {
  return fail(ErrorKind::InvalidArgument, Path + " is too large, expected at most " + std::to_string(Limit) + " bytes");
}

} // namespace

Expected<std::string> readFile(const std::string &Path, size_t Limit) {
  // Without O_NONBLOCK a FIFO would wait for its writer. The status is that of what was opened, not of what the path names by now.
  const FileDescriptor File(::open(Path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat Status;
  if (!File || ::fstat(File.get(), &Status) != 0)
    return failErrno(Path);
  if (!S_ISREG(Status.st_mode))
    return fail(ErrorKind::InvalidArgument, Path + " is no regular file, expected one");
  if (std::cmp_greater(Status.st_size, Limit))
    return tooLarge(Path, Limit);
  std::string Contents;
  Contents.reserve(static_cast<size_t>(Status.st_size) + Part);
  while (const ssize_t Got = append(Contents, File)) { // to its end: it may grow, and those of the kernel have no size
    if (Got < 0)
      return failErrno(Path);
    if (Contents.size() > Limit)
      return tooLarge(Path, Limit);
  }
  return Contents;
}

} // namespace mlcb
