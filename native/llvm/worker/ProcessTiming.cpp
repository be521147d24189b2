// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/worker/ProcessTiming.h"

#include "spec/FileDescriptor.h"
#include "llvm/measure/Targets.h"
#include "llvm/process/CurrentActivity.h"

#include "llvm/IR/Module.h"
#include "llvm/TargetParser/Host.h"

#include <cerrno>
#include <chrono>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits>
#include <sys/file.h>

using namespace llvm;

namespace mlcb {

namespace {

constexpr unsigned Rounds = 8, LeastRounds = 3;
constexpr double EnoughSeconds = 5; // after which no round begins that need not
constexpr double RunSeconds = 5;    // of CPU, at most: on an idle machine, two programs tried once and run LeastRounds times fit a turn

/// Held by whoever times a program. It is a lock on LLVM's library: a file that all know and that nobody has to make. The kernel frees it
/// with its last holder; the limit of the turn ends the wait.
Expected<FileDescriptor> holdLane() {
  Dl_info Library;
  if (!dladdr(reinterpret_cast<void *>(&sys::getProcessTriple), &Library))
    return fail(ErrorKind::SystemError, "the library of LLVM cannot be found");
  FileDescriptor Lane(open(Library.dli_fname, O_RDONLY | O_CLOEXEC));
  while (flock(Lane.get(), LOCK_EX) != 0)
    if (errno != EINTR)
      return failErrno(std::string("flock of ") + Library.dli_fname);
  return Lane;
}

} // namespace

Expected<void> ProcessTiming::enter(std::unique_ptr<Module> Program, CodeGenOptLevel Level) {
  if (!MayRun)
    return fail(ErrorKind::InvalidArgument,
                "program '" + Program->getSourceFileName() + "' is not run: this server runs none (mlcb serve --run-programs)");
  CurrentActivity Now("building a program to be timed");
  if (!Machine) {
    const TargetMachine &Usual = Target.targetMachine();
    auto Made = measure::createTargetMachine(Usual.getTargetTriple(), Usual.getTargetCPU());
    if (!Made)
      return fail(ErrorKind::InvalidArgument, toString(Made.takeError()));
    Machine = std::move(*Made);
  }
  Machine->setOptLevel(Level);
  Expected<LoadedProgram> Loaded = LoadedProgram::load(*Program, *Machine);
  if (!Loaded)
    return Unexpected(Loaded.error());
  if (Expected<double> Tried = Loaded->run(RunSeconds, Box); !Tried)
    return Unexpected(Tried.error());
  Programs.push_back(std::move(*Loaded));
  return {};
}

Expected<std::vector<double>> ProcessTiming::run() {
  CurrentActivity Now("timing the program");
  const Expected<FileDescriptor> Lane = holdLane();
  if (!Lane)
    return Unexpected(Lane.error());
  std::vector<double> Least(Programs.size(), std::numeric_limits<double>::infinity());
  const auto Started = std::chrono::steady_clock::now();
  const auto Enough = Started + std::chrono::duration<double>(EnoughSeconds);
  for (unsigned Round = 0; Round < Rounds; ++Round) {
    if (Round >= LeastRounds && std::chrono::steady_clock::now() > Enough)
      break;
    if (Expected<void> Done = round(Least, Round % 2 == 1); !Done)
      return Unexpected(Done.error());
  }
  return Least;
}

Expected<void> ProcessTiming::round(std::vector<double> &Least, bool Backwards) const {
  for (size_t Nth = 0; Nth < Programs.size(); ++Nth) {
    const size_t Turn = Backwards ? Programs.size() - 1 - Nth : Nth;
    Expected<double> Seconds = Programs[Turn].run(RunSeconds, Box);
    if (!Seconds)
      return Unexpected(Seconds.error());
    Least[Turn] = std::min(Least[Turn], *Seconds);
  }
  return {};
}

} // namespace mlcb
