// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ways to compile a module, of which the smallest is taken.
#pragma once

#include "spec/Error.h"
#include "llvm/deploy/HeldObject.h"
#include "llvm/process/HeldFork.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <functional>

namespace llvm {
class Module;
}

namespace mlcb {

class JobSlots;

/// A way to compile a module.
struct Way {
  std::string Name;
  std::function<void()> Take;        // begins it
  std::optional<ObjectReport> Found; // nothing where it failed
  std::unique_ptr<HeldFork> Fork;    // that compiles so

  Way(std::string Name, std::function<void()> Take) : Name(std::move(Name)), Take(std::move(Take)) {}
};

/// Of ways that are as small, the first is taken; the last one that was added, what the compiler itself does, where all have failed. None passes more
/// limits than that one does, so that no build fails by -Werror=frame-larger-than= that would not.
class Comparison {
public:
  /// Last, if any, is one more way, from what all others have come to; Functions are those whose shares it has to know.
  explicit Comparison(llvm::Module &M, std::function<Way(llvm::ArrayRef<Way>)> Last = nullptr, std::vector<std::string> Functions = {})
      : M(M), Last(std::move(Last)), Functions(std::move(Functions)) {}

  void add(std::string Name, std::function<void()> Take) {
    Ways.emplace_back(std::move(Name), std::move(Take));
    ++Added;
  }

  /// A process that is held itself asks with what the smallest way comes to.
  void askWithSmallest() { TriesAllFirst = true; }

  /// Forks compile on in each way, as many at once as -mlcb-jobs says, and the smallest finishes in place of this process: true in such a fork.
  /// False where that cannot be, and nothing has changed. A process that is held itself asks with what the last way comes to, and tries the
  /// others once it is to finish, unless it shall ask with the smallest.
  bool goOnInForks();

  /// Forks begin each way, do the Rest, and measure; then this process begins the smallest. Reported in a remark. Code generation is set up once for
  /// all forks, or, with WhenMeasured, by each for itself, so that it heeds options that ways set. The last way is begun where the target has no
  /// objects to measure.
  void tryInForks(llvm::function_ref<Expected<void>()> Rest, measure::Setup When = measure::Setup::Now);

private:
  Expected<bool> begin(Way &Begun); // true in its fork
  bool hear(Way &Begun);            // false where it cannot be held
  Expected<bool> askWithLast();
  bool addLast();
  Expected<bool> beginWhileSlotsLast(size_t WaitedFor, size_t &Next, JobSlots &Others); // true in a fork that it has begun
  void dropLosers(size_t Heard);                                                        // of so many
  void finishSmallest();                                                                // returns where none has been, or its fork is gone
  bool giveUp(JobSlots &Others);
  Way &smallest();
  std::string inWords(const Way &Kept) const;

  llvm::Module &M;
  std::function<Way(llvm::ArrayRef<Way>)> Last;
  std::vector<std::string> Functions;
  llvm::SmallVector<Way> Ways;
  size_t Added = 0; // of them, without that from what all others have come to
  bool TriesAllFirst = false;
};

} // namespace mlcb
