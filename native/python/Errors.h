// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Errors as Python exceptions, and waits without the GIL.
#pragma once

#include "spec/Error.h"

#include <nanobind/nanobind.h>

namespace mlcb::python {

/// What a compiler or a peer wrote, as Python's str can hold it: bytes that are no UTF-8 are replaced.
nanobind::str toStr(std::string_view Text);

/// Throws the exception of the error's kind; of Interrupted, what the signal handler raised.
[[noreturn]] void raise(const Error &Why);

template <class T> T unwrap(Expected<T> Result) {
  if (!Result)
    raise(Result.error());
  if constexpr (!std::is_void_v<T>)
    return std::move(*Result);
}

/// Calls without the GIL, and unwraps with it.
template <class Call> auto waiting(Call Wait) {
  return unwrap([&] {
    nanobind::gil_scoped_release Released;
    return Wait();
  }());
}

/// Runs Python's signal handlers; true if one raised.
bool signalRaised();

void bindErrors(nanobind::module_ &Module);

} // namespace mlcb::python
