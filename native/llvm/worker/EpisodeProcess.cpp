// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/worker/EpisodeProcess.h"

#include "channel/FdChannel.h"
#include "llvm/passes/EndWithParent.h"
#include "llvm/worker/LastWords.h"
#include "llvm/worker/Limits.h"
#include "runner/RemoteRunner.h"

#include "llvm/IR/Module.h"
#include "llvm/Support/FormatVariadic.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <sys/wait.h>
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

/// Forks a clone that is the worker's child, not this process's: it must outlive this episode, and end with the worker. As fork().
pid_t forkClone(pid_t Worker) {
  pid_t Between = fork();
  if (Between > 0) {
    int Status;
    while (waitpid(Between, &Status, 0) < 0 && errno == EINTR)
      ;
    errno = EAGAIN;
    return WIFEXITED(Status) && WEXITSTATUS(Status) == 0 ? Between : -1;
  }
  if (Between < 0)
    return -1;
  pid_t Clone = fork();
  if (Clone != 0)
    _exit(Clone > 0 ? 0 : 1);
  while (getppid() != Worker && kill(Worker, 0) == 0) // until the one between is gone
    usleep(50);
  endWithParent(Worker);
  return 0;
}

std::string describe(const measure::CacheCounters &C) {
  return formatv(R"(,"cache":{{"module_hits":{0},"module_misses":{1},"function_hits":{2},"function_misses":{3},"whole_modules":{4}})",
                 C.ModuleHits, C.ModuleMisses, C.FunctionHits, C.FunctionMisses, C.WholeModules);
}

/// Hooks of the runner into the limits of this process.
class Episode {
public:
  explicit Episode(EpisodeSetup Setup) : Setup(std::move(Setup)), Clock(this->Setup.Begin.Bounds.TurnSeconds) {}

  [[noreturn]] void run();

private:
  RemoteOptions options();
  void beginTurn();

  EpisodeSetup Setup;
  TurnClock Clock;
  std::unique_ptr<RemoteRunner> Runner;
  int Watched = -1;
};

RemoteOptions Episode::options() {
  RemoteOptions Options;
  Options.Greets = RemoteOptions::Greeting::Begin;
  Options.Metrics = Setup.Begin.Metrics.empty() ? Setup.Config.Metrics : Setup.Begin.Metrics;
  Options.When = Setup.Begin.When;
  Options.Codec = Setup.Config.Codec;
  Options.About = describe(Setup.Cache);
  Options.EndTurn = [this] { Clock.stop(); };
  Options.BeginTurn = [this] { beginTurn(); };
  Options.Fork = [this] {
    pid_t Pid = forkClone(Setup.Worker);
    if (Pid == 0)
      Clock.start(); // timers are not inherited
    return Pid;
  };
  return Options;
}

/// The channel of a clone is another than that of its original.
void Episode::beginTurn() {
  if (Watched != Runner->fileno() && Runner->fileno() >= 0) {
    Watched = Runner->fileno();
    endWithPeer(Watched);
  }
  Clock.start();
}

void Episode::run() {
  Setup.Begin.Bounds.apply();
  RemoteOptions Options = options();
  Runner = std::make_unique<RemoteRunner>(socketChannel(std::move(Setup.Channel)), std::move(Options));
  reportDeathTo(*Runner, Setup.Program.getContext());
  beginTurn();
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
  Episode(std::move(Setup)).run();
}

} // namespace mlcb
