// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python/Errors.h"

#include <stdexcept>

namespace nb = nanobind;

namespace mlcb::python {
namespace {

struct NativeFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <ErrorKind Kind> struct Failure : NativeFailure {
  using NativeFailure::NativeFailure;
};

template <ErrorKind Kind> void bindKind(nb::module_ &Module, const char *Name, nb::handle Base, const char *Doc) {
  nb::exception<Failure<Kind>>(Module, Name, Base).attr("__doc__") = Doc;
}

} // namespace

nb::str toStr(std::string_view Text) {
  return nb::steal<nb::str>(PyUnicode_DecodeUTF8(Text.data(), static_cast<Py_ssize_t>(Text.size()), "replace"));
}

void raise(const Error &Why) {
  const std::string Message = toStr(Why.Message).c_str();
  switch (Why.Kind) {
  case ErrorKind::InvalidArgument: throw Failure<ErrorKind::InvalidArgument>(Message);
  case ErrorKind::SpecMismatch: throw Failure<ErrorKind::SpecMismatch>(Message);
  case ErrorKind::ProtocolError: throw Failure<ErrorKind::ProtocolError>(Message);
  case ErrorKind::PeerGone: throw Failure<ErrorKind::PeerGone>(Message);
  case ErrorKind::Timeout: throw Failure<ErrorKind::Timeout>(Message);
  case ErrorKind::PeerError: throw Failure<ErrorKind::PeerError>(Message);
  case ErrorKind::SystemError: throw Failure<ErrorKind::SystemError>(Message);
  case ErrorKind::NoAdvice: throw Failure<ErrorKind::NoAdvice>(Message);
  case ErrorKind::Interrupted: throw nb::python_error();
  }
  throw NativeFailure(Message);
}

bool signalRaised() {
  nb::gil_scoped_acquire Held;
  return PyErr_CheckSignals() != 0;
}

void bindErrors(nb::module_ &Module) {
  // The base first: translators are asked in reverse order.
  auto Base = nb::exception<NativeFailure>(Module, "NativeError");
  Base.attr("__doc__") = "An error of the native half, in one line.";
  bindKind<ErrorKind::InvalidArgument>(Module, "InvalidArgument", Base, "Something was asked for that cannot be.");
  bindKind<ErrorKind::SpecMismatch>(Module, "SpecMismatch", Base, "The two ends disagree on the task.");
  bindKind<ErrorKind::ProtocolError>(Module, "ProtocolError", Base, "A frame is foreign, truncated, or out of turn.");
  bindKind<ErrorKind::PeerGone>(Module, "PeerGone", Base, "The other end closed its channel or died.");
  bindKind<ErrorKind::Timeout>(Module, "Timeout", Base, "A deadline passed.");
  bindKind<ErrorKind::PeerError>(Module, "PeerError", Base, "The other end said in an Error frame why it gave up.");
  bindKind<ErrorKind::SystemError>(Module, "SystemError_", Base, "The machine: a file, a descriptor, memory.");
  bindKind<ErrorKind::NoAdvice>(Module, "NoAdvice", Base, "The compiler's own heuristic decides.");
}

} // namespace mlcb::python
