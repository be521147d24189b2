// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A process that goes on in a fork of itself, and is held before it leaves anything behind.
#pragma once

#include "spec/Error.h"
#include "spec/FileDescriptor.h"

#include <memory>
#include <optional>
#include <string>

namespace mlcb {

/// A fork that goes on in place of its process. While it is held, its standard error is kept back and a crash ends it without a word; nothing
/// else that it opens and writes is kept back, so that it must ask before it writes. A fork that is held may have forks itself: it asks what the
/// best of them has found, and lets that one finish once it is answered.
class HeldFork {
public:
  /// In this process the fork, in the fork itself null. A machine that cannot fork is a SystemError.
  static Expected<std::unique_ptr<HeldFork>> start(unsigned MaxSeconds);

  ~HeldFork(); // ends it
  HeldFork(const HeldFork &) = delete;
  HeldFork &operator=(const HeldFork &) = delete;

  /// What it has found, as soon as it asks; nothing if it ends before, crashes or takes too long. Empty if it cannot be held.
  std::optional<std::string> wait();

  /// Gives it the answer that it waits for, and ends this process as it ends. Returns where it is gone.
  void finish(const std::string &Answer);

  /// Whether this process is such a fork, and held.
  static bool isHeld();

  /// In the fork: tells the original process what it has found, and gives back its answer. From then on this process is as the original one was.
  /// Does not return where that one needs it no more, or where this one has opened further files to write.
  static std::string ask(const std::string &Found);

  /// In the fork: it may take longer than it was given, for it waits for forks with limits of their own.
  static void waitWithoutLimit();

  /// In the fork: ends it, because it is about to write what it cannot ask about.
  [[noreturn]] static void refuse();

private:
  HeldFork(int Process, int Original, FileDescriptor Fork) : Process(Process), Original(Original), Fork(std::move(Fork)) {}

  int Process, Original;
  FileDescriptor Fork; // the end of a socket
};

} // namespace mlcb
