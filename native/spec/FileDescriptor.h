// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A file descriptor that closes itself.
#pragma once

#include <unistd.h>
#include <utility>

namespace mlcb {

class FileDescriptor {
public:
  FileDescriptor() = default;
  explicit FileDescriptor(int Fd) : Fd(Fd) {}
  FileDescriptor(FileDescriptor &&Other) noexcept : Fd(Other.release()) {}
  FileDescriptor &operator=(FileDescriptor &&Other) noexcept {
    reset(Other.release());
    return *this;
  }
  ~FileDescriptor() { reset(); }

  int get() const { return Fd; }
  explicit operator bool() const { return Fd >= 0; }
  int release() { return std::exchange(Fd, -1); }
  void reset(int Other = -1) {
    if (Fd >= 0 && Fd != Other)
      ::close(Fd);
    Fd = Other;
  }

private:
  int Fd = -1;
};

} // namespace mlcb
