// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/worker/LoadedProgram.h"

#include "llvm/measure/SharedCache.h"
#include "llvm/process/ProcessTree.h"
#include "llvm/task/WorkClock.h"

#include "llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/TargetParser/Host.h"

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;

namespace mlcb {

namespace {

constexpr char StopwatchName[] = "mlcb_seconds";

Unexpected unfit(const Module &Program, const Twine &Why) {
  return fail(ErrorKind::InvalidArgument, ("program '" + Program.getSourceFileName() + "' cannot be timed: " + Why).str());
}

bool defines(const Module &Program, StringRef Name) {
  const Function *F = Program.getFunction(Name);
  return F && !F->isDeclaration();
}

std::unique_ptr<MemoryBuffer> objectOf(Module &Program, TargetMachine &Machine) {
  SmallVector<char, 0> Bytes;
  raw_svector_ostream Out(Bytes);
  legacy::PassManager Passes;
  if (Machine.addPassesToEmitFile(Passes, Out, nullptr, CodeGenFileType::ObjectFile))
    report_fatal_error("target cannot write objects, as it could before");
  Passes.run(Program);
  return std::make_unique<SmallVectorMemoryBuffer>(std::move(Bytes), Program.getSourceFileName(), false);
}

/// Without threads: this process is forked.
llvm::Expected<std::unique_ptr<orc::LLJIT>> makeLinker(const TargetMachine &Machine) {
  auto Here = orc::SelfExecutorProcessControl::Create(nullptr, std::make_unique<orc::InPlaceTaskDispatcher>());
  if (!Here)
    return Here.takeError();
  return orc::LLJITBuilder()
      .setExecutorProcessControl(std::move(*Here))
      .setJITTargetMachineBuilder(orc::JITTargetMachineBuilder(Machine.getTargetTriple()))
      .setPlatformSetUp(orc::setUpInactivePlatform)
      .create();
}

/// Nothing of this process is left to the program: neither its channels, its caches nor its signal handlers, nor more time than the limit.
void isolate(double LimitSeconds, const Sandbox &Box) {
  const int Null = open("/dev/null", O_RDWR);
  for (int Standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    dup2(Null, Standard);
  for (int Signal = 1; Signal < NSIG; ++Signal)
    std::signal(Signal, SIG_DFL);
  double Whole;
  const double Fraction = std::modf(LimitSeconds, &Whole);
  const itimerval Timer{{0, 0}, {static_cast<time_t>(Whole), static_cast<suseconds_t>(Fraction * 1e6)}};
  setitimer(ITIMER_PROF, &Timer, nullptr);
  const rlimit Cpu{static_cast<rlim_t>(Whole) + 1, static_cast<rlim_t>(Whole) + 2}; // for a program that has its own use for the timer
  setrlimit(RLIMIT_CPU, &Cpu);
  if (chdir("/") != 0 || !Box.enterAsProgram())
    _exit(1);
  close_range(3, ~0u, 0);
  measure::SharedCache::abandonAll();
}

std::string describe(int Signal, double LimitSeconds) {
  if (Signal == SIGPROF || Signal == SIGXCPU)
    return ("it takes more than " + Twine(static_cast<int>(LimitSeconds)) + " s").str();
  return std::string("it ends by a signal: ") + strsignal(Signal);
}

} // namespace

/// Written by the process that runs the program, in memory that both share.
struct LoadedProgram::Report {
  double Started = 0, Seconds = 0;
  bool Done = false;
};

Expected<LoadedProgram> LoadedProgram::load(Module &Program, TargetMachine &Machine) {
  if (Machine.getTargetTriple().getArch() != Triple(sys::getProcessTriple()).getArch())
    return unfit(Program, "it is for " + Machine.getTargetTriple().str() + ", this machine is " + sys::getProcessTriple());
  const bool TimesItself = defines(Program, StopwatchName);
  if (!TimesItself && !defines(Program, "main"))
    return unfit(Program, "it defines neither main nor double mlcb_seconds(void)");
  if (Program.getNamedGlobal("llvm.global_ctors"))
    return unfit(Program, "it has constructors, which would not be run");

  std::string Reported; // outlives who reports
  auto Linked = makeLinker(Machine);
  if (!Linked)
    return unfit(Program, toString(Linked.takeError()));
  (*Linked)->getExecutionSession().setErrorReporter([&](llvm::Error E) { Reported += toString(std::move(E)) + "; "; });
  if (llvm::Error E = (*Linked)->addObjectFile(objectOf(Program, Machine)))
    return unfit(Program, toString(std::move(E)));
  auto Entry = (*Linked)->lookup(TimesItself ? StopwatchName : "main");
  if (!Entry)
    return unfit(Program, Reported + toString(Entry.takeError()));
  (*Linked)->getExecutionSession().setErrorReporter([](llvm::Error E) { consumeError(std::move(E)); });

  LoadedProgram Loaded;
  Loaded.Linked = std::move(*Linked);
  if (TimesItself)
    Loaded.Timed = Entry->toPtr<Stopwatch *>();
  else
    Loaded.Whole = Entry->toPtr<Main *>();
  return Loaded;
}

Expected<double> LoadedProgram::run(double LimitSeconds, const Sandbox &Box) const {
  void *Page = mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (Page == MAP_FAILED)
    return failErrno("mmap");
  auto *Shared = new (Page) Report;
  const Expected<int> Status = runAsTree([&] {
    isolate(LimitSeconds, Box);
    runHere(*Shared);
  });
  const Report Final = *Shared;
  munmap(Page, sizeof(Report));
  if (!Status)
    return Unexpected(Status.error());
  if (WIFSIGNALED(*Status))
    return fail(ErrorKind::InvalidArgument, "the program cannot be timed: " + describe(WTERMSIG(*Status), LimitSeconds));
  if (!Final.Done || !(Final.Seconds > 0) || !std::isfinite(Final.Seconds))
    return fail(ErrorKind::InvalidArgument, "the program cannot be timed: it does not return, or not with seconds above 0");
  return Final.Seconds;
}

/// exit() is as good as a return, and what this process would do then is not the program's.
void LoadedProgram::runHere(Report &Shared) const {
  if (Timed) {
    Shared.Seconds = Timed();
    Shared.Done = true;
    _exit(0);
  }
  auto Finish = [](int, void *Where) {
    auto &Shared = *static_cast<Report *>(Where);
    Shared.Seconds = cpuSeconds(CLOCK_PROCESS_CPUTIME_ID) - Shared.Started;
    Shared.Done = true;
    _exit(0);
  };
  on_exit(Finish, &Shared);
  char Name[] = "program";
  char *Arguments[] = {Name, nullptr};
  Shared.Started = cpuSeconds(CLOCK_PROCESS_CPUTIME_ID);
  std::exit(Whole(1, Arguments, environ));
}

} // namespace mlcb
