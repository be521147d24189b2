// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mlcb-worker: compiles in children, as a learner asks over a socket. docs/protocol.md is the contract.
#include "llvm/worker/Worker.h"

#include "llvm/Support/CommandLine.h"

#include <csignal>
#include <sys/prctl.h>

using namespace llvm;

static cl::opt<int> ControlFd("control-fd", cl::Required, cl::value_desc("descriptor"),
                              cl::desc("one end of a Unix stream socket pair: the control channel"));

int main(int Argc, char **Argv) {
  cl::ParseCommandLineOptions(Argc, Argv, "mlcb_gym's fork server of compilers\n");
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGCHLD, SIG_IGN);         // children are reaped by themselves
  prctl(PR_SET_CHILD_SUBREAPER, 1);      // clones of episodes become children of this process
  mlcb::Worker(mlcb::FileDescriptor(ControlFd)).serve();
  return 0;
}
