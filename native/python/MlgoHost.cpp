// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The learner's end of LLVM's own protocol for Python.
#include "channel/ProcessFifos.h"
#include "protocol/MlgoEnd.h"
#include "python/Bindings.h"
#include "python/Message.h"

#include <nanobind/stl/string.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace mlcb::python {
namespace {

class MlgoHost {
public:
  MlgoHost(const std::string &Base, int Process, const std::string &Spec)
      : End(interruptible(unwrap(processFifos(Base, Process))), unwrap(readSpec(Spec))) {}

  PyMessage receive(double Timeout) {
    return PyMessage(waiting([&] { return End.receive(after(Timeout)); }));
  }

  bool readable(double Timeout) {
    return waiting([&] { return End.readable(after(Timeout)); });
  }

  void advise(nb::handle Advice, double Timeout) { python::advise(End, Advice, Timeout); }
  void close() { End.close(); }
  int fileno() const { return End.fileno(); }

private:
  static std::unique_ptr<Channel> interruptible(std::unique_ptr<Channel> Link) {
    Link->onWait(signalRaised);
    return Link;
  }

  MlgoEnd End;
};

} // namespace

void bindMlgoHost(nb::module_ &Module) {
  nb::class_<MlgoHost>(Module, "MlgoHost",
                       "The learner's end of a conversation with an untouched opt, clang or llc, in LLVM's own format: as a Host, but "
                       "for what that format lacks. Where the compiler has ended, receive() gives a bye.")
      .def(nb::init<const std::string &, int, const std::string &>(), "base"_a, "pid"_a, "spec"_a,
           "Over the FIFOs BASE.in and BASE.out, which must exist, with the process `pid`, a child of this one; `spec` is the bound "
           "spec (JSON) of what it will ask.")
      .def("receive", &MlgoHost::receive, "timeout"_a, "The next message.")
      .def("readable", &MlgoHost::readable, "timeout"_a = 0.0, "Whether receive() would not wait.")
      .def("advise", &MlgoHost::advise, "advice"_a, "timeout"_a = 60.0,
           "Answers the last observation: an index, or a float where the agent asks for a value.",
           nb::sig("def advise(self, advice: int | float, timeout: float = 60.0) -> None"))
      .def("close", &MlgoHost::close, "Closes; harmless if closed already. The compiler must be ended then: it would wait, and spin.")
      .def("fileno", &MlgoHost::fileno, "The descriptor to poll once readable() is false, -1 if closed.");
}

} // namespace mlcb::python
