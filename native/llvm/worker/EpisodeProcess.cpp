// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/worker/EpisodeProcess.h"

#include "channel/FdChannel.h"
#include "protocol/Framed.h"
#include "runner/RemoteRunner.h"
#include "llvm/process/CrashReporter.h"
#include "llvm/process/ParentDeathSignal.h"
#include "llvm/task/WorkClock.h"
#include "llvm/worker/Limits.h"

#include "llvm/IR/Module.h"
#include "llvm/Support/FormatVariadic.h"

#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace llvm;

namespace mlcb {

namespace {

void silence() {
  if (std::getenv("MLCB_DEBUG"))
    return;
  int Null = open("/dev/null", O_RDWR);
  dup2(Null, STDIN_FILENO);
  dup2(Null, STDOUT_FILENO);
  dup2(Null, STDERR_FILENO);
  close(Null);
}

/// Forks a clone that is the worker's child, not this process's: it must outlive this episode, and end with the worker. As fork(), which
/// cannot do that; what else fork() does is for threads, of which there are none.
pid_t forkClone(pid_t Worker) {
  auto Clone = static_cast<pid_t>(syscall(SYS_clone, CLONE_PARENT | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  if (Clone == 0)
    endWithParent(Worker);
  return Clone;
}

std::string describe(const measure::CacheCounters &C) {
  return formatv(R"(,"cache":{{"module_hits":{0},"module_misses":{1},"function_hits":{2},"function_misses":{3},"whole_modules":{4}})", C.ModuleHits,
                 C.ModuleMisses, C.FunctionHits, C.FunctionMisses, C.WholeModules);
}

/// Hooks of the runner into the limits of this process.
class Episode {
public:
  explicit Episode(EpisodeSetup Setup) : Setup(std::move(Setup)), Clock(this->Setup.Begin.Bounds.TurnSeconds) {}

  [[noreturn]] void run();

private:
  RemoteOptions options();
  Expected<pid_t> fork();
  void endTurn();
  void watch();
  FileDescriptor snapshot();

  EpisodeSetup Setup;
  TurnClock Clock;
  std::unique_ptr<RemoteRunner> Runner;
  int Watched = -1;
  double Inherited = 0; // CPU seconds that its originals took before they were forked
  double Forking = 0;   // those that its own forks took, which no clone is charged for: a snapshot makes thousands
};

RemoteOptions Episode::options() {
  RemoteOptions Options;
  Options.Greets = RemoteOptions::Greeting::Begin;
  Options.Metrics = Setup.Begin.Metrics.empty() ? Setup.Config.Metrics : Setup.Begin.Metrics;
  Options.When = Setup.Begin.When;
  Options.Codec = Setup.Config.Codec;
  Options.About = [this] { return describe(Setup.Target.counters()); };
  Options.Snapshot = [this] { return snapshot(); };
  Options.EndTurn = [this] { endTurn(); };
  Options.BeginTurn = [this] { Clock.start(); };
  Options.Fork = [this] { return fork(); };
  return Options;
}

/// Neither timers nor the CPU time that was taken are inherited.
Expected<pid_t> Episode::fork() {
  const Limits &Bounds = Setup.Begin.Bounds;
  const double Before = cpuSeconds(CLOCK_PROCESS_CPUTIME_ID), Spent = Inherited + Before - Forking;
  if (Bounds.CpuSeconds > 0 && Spent >= Bounds.CpuSeconds)
    return fail(ErrorKind::InvalidArgument, "it has used up its CPU time");
  const pid_t Pid = forkClone(Setup.Worker);
  if (Pid < 0)
    return failErrno("fork");
  if (Pid == 0) {
    Inherited = Spent;
    Forking = 0;
    Bounds.applyCpu(Spent);
    Clock.start();
  } else {
    Forking += cpuSeconds(CLOCK_PROCESS_CPUTIME_ID) - Before;
  }
  return Pid;
}

void Episode::endTurn() {
  Clock.stop();
  watch();
}

/// The channel of a clone is another than that of its original.
void Episode::watch() {
  if (Watched != Runner->fileno() && Runner->fileno() >= 0) {
    Watched = Runner->fileno();
    endWithPeer(Watched);
  }
}

/// A state that is reached in less is not worth one.
FileDescriptor Episode::snapshot() {
  constexpr double WorthSeconds = 2e-3;
  FileDescriptor Channel = std::move(Setup.Snapshot);
  return cpuSeconds(CLOCK_PROCESS_CPUTIME_ID) < WorthSeconds ? FileDescriptor() : std::move(Channel);
}

void Episode::run() {
  RemoteOptions Options = options();
  Runner = std::make_unique<RemoteRunner>(socketChannel(std::move(Setup.Channel)), std::move(Options));
  reportCrashesTo(*Runner, Setup.Program.getContext());
  watch();
  Clock.start();
  auto Bound = Runner->bind(Setup.Config.Spec);
  auto Ended = Bound ? Setup.Task.run(Setup.Program, *Runner, Setup.Request) : Unexpected(Bound.error());
  if (!Ended)
    Runner->refuse(Ended.error());
  _exit(Ended ? 0 : 1); // tearing the module down would be time lost
}

} // namespace

void runEpisode(EpisodeSetup Setup) {
  std::signal(SIGCHLD, SIG_DFL);
  endWithParent(Setup.Worker);
  silence();
  Setup.Begin.Bounds.apply();
  if (auto Entered = Setup.Box.enterAsEpisode(); !Entered) {
    (void)Framed(socketChannel(std::move(Setup.Channel))).refuse(Entered.error());
    _exit(1);
  }
  Episode(std::move(Setup)).run();
}

} // namespace mlcb
