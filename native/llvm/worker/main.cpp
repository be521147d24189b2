// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mlcb-worker: compiles in children, as a learner asks over a socket. docs/protocol.md is the contract.
#include "llvm/worker/HugePages.h"
#include "llvm/worker/Worker.h"

#include "llvm/Support/CommandLine.h"
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

int main(int Argc, char **Argv) {
  cl::ParseCommandLineOptions(Argc, Argv, "mlcb_gym's fork server of compilers\n");
  unsetenv("LD_BIND_NOW"); // it was for this process, not for the programs that are timed
  mlcb::moveCodeToHugePages(reinterpret_cast<uintptr_t>(&sys::getProcessTriple));
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGCHLD, SIG_IGN); // children are reaped by themselves
  mlcb::Worker(mlcb::FileDescriptor(ControlFd), {.Count = MaxSnapshots},
               {.Most = {CpuSeconds, TurnSeconds, MemoryBytes}, .Paths = !NoPaths, .Runs = !NoRuns})
      .serve();
  return 0;
}
