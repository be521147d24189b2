// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The files that a process may open, and whom it may signal: Linux's Landlock.
#pragma once

#include "spec/Error.h"
#include "spec/FileDescriptor.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mlcb {

/// A process that enters these rules opens what they allow and nothing else, and signals no process outside of its own and its forks. It cannot
/// leave them, and its forks inherit them.
class FileRules {
public:
  /// What this kernel cannot hold a process to; nothing where it can all. A kernel without Landlock is none.
  static std::optional<std::string> lacks();

  /// Readable are folders, with all beneath, and files; one that does not exist is left out. /dev/null can be written, and nothing else.
  static Expected<FileRules> create(const std::vector<std::string> &Readable);

  /// Before, the process must have given up new privileges. Each time is a further bound: signals do not leave the process that enters.
  Expected<void> enter() const;

private:
  FileRules() = default;

  Expected<void> allow(const std::string &Path, uint64_t Rights);

  FileDescriptor Rules; // none where the kernel has no Landlock
};

} // namespace mlcb
