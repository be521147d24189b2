// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bounds of a worker, of its episodes, and of the programs that these time: each within the one before.
#pragma once

#include "sandbox/FileRules.h"
#include "sandbox/SystemCalls.h"
#include "spec/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace mlcb {

/// How much of it there must be: nothing, as much as the kernel has, or all.
enum class SandboxLevel { None, Partial, Whole };

/// Made once, before it is entered; whatever process enters a part stays in it, with its forks. An error of entering means that the process must
/// not go on.
class Sandbox {
public:
  /// Readable are the files and folders that are read beside the system's own libraries. A kernel that lacks a part of a whole one is an error.
  static Expected<Sandbox> create(SandboxLevel Level, const std::vector<std::string> &Readable);

  /// What this kernel lacks for a whole one; nothing if it has all.
  static std::optional<std::string> lacks();

  /// Nothing is written. What is read are the files of above, and all others too where programs come as paths; without these, the user's
  /// capabilities are given up.
  Expected<void> enterAsWorker(bool OpensPrograms) const;

  /// The files of above alone, without capabilities. Signals go to its own forks.
  Expected<void> enterAsEpisode() const;

  /// As an episode that makes no further process.
  Expected<void> enterAsProgram() const;

private:
  struct Rooms {
    FileRules All, Own; // files
    SystemCalls Compiler, Program;
  };

  explicit Sandbox(std::optional<Rooms> Has) : Has(std::move(Has)) {}

  std::optional<Rooms> Has; // nothing where there is to be none
};

} // namespace mlcb
