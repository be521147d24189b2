// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Errors are values: what went wrong, in one line that names the thing, its value, and what was expected.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace mlcb {

enum class ErrorKind {
  InvalidArgument, // the caller asked for something that cannot be
  SpecMismatch,    // the two ends, or a policy and a compiler, disagree on the task
  ProtocolError,   // a frame that is foreign, truncated, too long, or out of turn
  PeerGone,        // the other end closed its channel or died
  Timeout,         // a deadline passed
  PeerError,       // the other end sent an Error frame
  SystemError,     // the machine: a file, a descriptor, memory
  Interrupted,     // whoever waits was told to stop waiting
  NoAdvice,        // the compiler's own heuristic decides
};

struct Error {
  ErrorKind Kind;
  std::string Message;
};

template <class T> using Expected = tl::expected<T, Error>;
using Unexpected = tl::unexpected<Error>;

inline Unexpected fail(ErrorKind Kind, std::string Message) { return Unexpected(Error{Kind, std::move(Message)}); }

/// A SystemError of "<What>: <text of errno>".
Unexpected failErrno(std::string_view What);

} // namespace mlcb
