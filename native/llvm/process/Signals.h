// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Signals that LLVM handles, for processes that are forked from a compiler.
#pragma once

#include <array>
#include <csignal>

namespace mlcb {

/// Signals whose handlers, of LLVM, remove the output of the original process.
inline constexpr std::array Deadly = {SIGSEGV, SIGBUS, SIGILL,  SIGFPE,  SIGABRT, SIGTRAP, SIGALRM, SIGTERM,
                                      SIGINT,  SIGHUP, SIGQUIT, SIGXCPU, SIGXFSZ, SIGSYS,  SIGUSR2, SIGPIPE};

using Handlers = std::array<struct sigaction, Deadly.size()>;

/// Has them end this process, but for those that are ignored; that of an alarm always. Returns the handlers of before.
Handlers makeSignalsDeadly();

} // namespace mlcb
