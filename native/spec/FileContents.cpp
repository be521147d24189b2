// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "spec/FileContents.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace mlcb {
namespace {

constexpr size_t Part = size_t(64) << 10;

class File {
public:
  /// Of what was opened, not of what the path names by then. O_NONBLOCK, for a FIFO would wait for its writer.
  explicit File(const std::string &Path) : Fd(::open(Path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {}
  File(const File &) = delete;
  File &operator=(const File &) = delete;
  ~File() {
    if (Fd >= 0)
      ::close(Fd);
  }

  bool status(struct stat &Into) const { return Fd >= 0 && ::fstat(Fd, &Into) == 0; }

  /// Appends a part; its size is 0 at the end, negative where it cannot be read.
  ssize_t append(std::string &To) const {
    const size_t Size = To.size();
    To.resize(Size + Part);
    ssize_t Got = 0;
    do
      Got = ::read(Fd, To.data() + Size, Part);
    while (Got < 0 && errno == EINTR);
    To.resize(Size + static_cast<size_t>(std::max<ssize_t>(Got, 0)));
    return Got;
  }

private:
  int Fd;
};

Unexpected tooLarge(const std::string &Path, size_t Limit) {
  return fail(ErrorKind::InvalidArgument, Path + " is too large, expected at most " + std::to_string(Limit) + " bytes");
}

} // namespace

Expected<std::string> readFile(const std::string &Path, size_t Limit) {
  const File Open(Path);
  struct stat Status;
  if (!Open.status(Status))
    return failErrno(Path);
  if (!S_ISREG(Status.st_mode))
    return fail(ErrorKind::InvalidArgument, Path + " is no regular file, expected one");
  if (std::cmp_greater(Status.st_size, Limit))
    return tooLarge(Path, Limit);
  std::string Contents;
  Contents.reserve(static_cast<size_t>(Status.st_size) + Part);
  while (const ssize_t Got = Open.append(Contents)) { // to its end: it may grow, and those of the kernel have no size
    if (Got < 0)
      return failErrno(Path);
    if (Contents.size() > Limit)
      return tooLarge(Path, Limit);
  }
  return Contents;
}

} // namespace mlcb
