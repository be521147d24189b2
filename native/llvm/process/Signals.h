// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Signals that LLVM handles, for processes that are forked from a compiler.
#pragma once

#include <array>
#include <csignal>

namespace mlcb {

/// Signals whose handlers, of LLVM, remove the output of the original process.
inline constexpr std::array Deadly = {SIGSEGV, SIGBUS, SIGILL,  SIGFPE,  SIGABRT, SIGTRAP, SIGALRM, SIGTERM,
                                      SIGINT,  SIGHUP, SIGQUIT, SIGXCPU, SIGXFSZ, SIGSYS,  SIGUSR2, SIGPIPE};

} // namespace mlcb
