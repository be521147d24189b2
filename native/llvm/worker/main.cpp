// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mlcb-worker: compiles in children, as a learner asks over a socket. docs/protocol.md is the contract.
#include "runner/LocalModel.h"
#include "sandbox/Sandbox.h"
#include "spec/OwnFolder.h"
#include "llvm/worker/HugePages.h"
#include "llvm/worker/Worker.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/WithColor.h"
#include "llvm/TargetParser/Host.h"

#include <csignal>
#include <cstdlib>

using namespace llvm;

static cl::opt<int> ControlFd("control-fd", cl::Required, cl::value_desc("descriptor"),
                              cl::desc("one end of a Unix stream socket pair: the control channel"));

static cl::opt<size_t> MaxSnapshots("snapshots", cl::init(mlcb::SnapshotLimits().Count), cl::value_desc("number"),
                                    cl::desc("of episodes kept at their first question, for others that begin alike"));

static cl::opt<double> CpuSeconds("cpu-seconds", cl::desc("of an episode at most; its own limit if that is lower, as with the next two"));
static cl::opt<double> TurnSeconds("turn-seconds", cl::desc("of one turn at most"));
static cl::opt<uint64_t> MemoryBytes("memory-bytes", cl::desc("of an episode at most"));
static cl::opt<bool> NoPaths("no-paths", cl::desc("programs come as bitcode, not as files of this machine"));
static cl::opt<bool> NoRuns("no-runs", cl::desc("no program is run"));

static cl::opt<mlcb::SandboxLevel> Level("sandbox", cl::init(mlcb::SandboxLevel::Whole), cl::desc("the bounds of this process and its children:"),
                                         cl::values(clEnumValN(mlcb::SandboxLevel::Whole, "whole", "those of docs/security.md, or an error"),
                                                    clEnumValN(mlcb::SandboxLevel::Partial, "partial", "as much of them as the kernel has"),
                                                    clEnumValN(mlcb::SandboxLevel::None, "none", "those of the user")));

/// What is opened after the sandbox is entered, beside programs and the system's libraries.
static std::vector<std::string> openedLater() {
  std::vector<std::string> Paths = mlcb::LocalModel::libraries();
  for (const char *Folder : {"", "/lib", "/../lib", "/../data"}) // of the package, or the build: serializers, vocabularies
    Paths.push_back(mlcb::ownFolder() + Folder);
  for (const char *Name : {"MLCB_SERIALIZERS", "MLCB_VOCABULARY", "MLCB_MACHINE_VOCABULARY"})
    if (const char *Named = std::getenv(Name))
      Paths.emplace_back(Named);
  return Paths;
}

static int refuse(const mlcb::Error &Why) {
  WithColor::error(errs(), "mlcb-worker") << "sandbox: " << Why.Message << '\n';
  return EXIT_FAILURE;
}

int main(int Argc, char **Argv) {
  cl::ParseCommandLineOptions(Argc, Argv, "mlcb_gym's fork server of compilers\n");
  unsetenv("LD_BIND_NOW"); // it was for this process, not for the programs that are timed
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGCHLD, SIG_IGN); // children are reaped by themselves
  const auto Box = mlcb::Sandbox::create(Level, openedLater());
  if (!Box)
    return refuse(Box.error());
  if (const auto Missing = mlcb::Sandbox::lacks(); Missing && Level == mlcb::SandboxLevel::Partial)
    WithColor::warning(errs(), "mlcb-worker") << "sandbox: this kernel has no " << *Missing << '\n';
  mlcb::moveCodeToHugePages(reinterpret_cast<uintptr_t>(&sys::getProcessTriple));
  if (auto Entered = Box->enterAsWorker(!NoPaths); !Entered)
    return refuse(Entered.error());
  mlcb::Worker(mlcb::FileDescriptor(ControlFd), {.Count = MaxSnapshots},
               {.Most = {CpuSeconds, TurnSeconds, MemoryBytes}, .Paths = !NoPaths, .Runs = !NoRuns}, *Box)
      .serve();
  return 0;
}
