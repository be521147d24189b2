// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The learner's end of LLVM's own protocol for Python.
#include "channel/Fifo.h"
#include "channel/ProcessFifos.h"
#include "protocol/MlgoEnd.h"
#include "python/Bindings.h"
#include "python/Message.h"
#include "python/SharedEnd.h"

#include <nanobind/stl/string.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace mlcb::python {
namespace {

class MlgoLearnerEnd {
public:
  MlgoLearnerEnd(const std::string &Base, int Process, const std::string &SpecJson) : Spec(unwrap(readSpec(SpecJson))) {
    begin(unwrap(processFifos(Base, Process)));
  }

  MlgoLearnerEnd(std::shared_ptr<Rendezvous> Pending, BoundSpec Spec) : Pending(std::move(Pending)), Spec(std::move(Spec)) {}

  static MlgoLearnerEnd *fifo(const std::string &Base, const std::string &SpecJson) {
    BoundSpec Spec = unwrap(readSpec(SpecJson));
    return new MlgoLearnerEnd(std::make_unique<Fifo>(unwrap(Fifo::open(Base, FifoEnd::Learner))), std::move(Spec));
  }

  void connect(double Timeout) {
    if (auto Place = Pending)
      begin(End.connect(*Place, after(Timeout)));
    Pending.reset();
  }

  PyMessage receive(double Timeout) {
    return end().wait([&](MlgoEnd &Of) { return Of.receive(after(Timeout)); }, [](const Message &Got) { return PyMessage(Got); });
  }

  bool readable(double Timeout) {
    return end().wait([&](MlgoEnd &Of) { return Of.readable(after(Timeout)); });
  }

  void advise(nb::handle Advice, double Timeout) { python::advise(end(), Advice, Timeout); }

  void close() {
    Pending.reset();
    End.close();
  }

  std::string spec() const { return Spec.toJson(); }
  int fileno() const { return End.fileno(); }

private:
  void begin(std::unique_ptr<Channel> Link) {
    Link->onWait(End.interrupted());
    End.open(MlgoEnd(std::move(Link), Spec));
  }

  SharedEnd<MlgoEnd> &end() {
    if (!End.isOpen())
      raise(Pending ? Error{ErrorKind::InvalidArgument, "nobody is connected yet: call connect()"}
                    : Error{ErrorKind::PeerGone, "the channel is closed"});
    return End;
  }

  std::shared_ptr<Rendezvous> Pending;
  BoundSpec Spec;
  SharedEnd<MlgoEnd> End;
};

} // namespace

void bindMlgoLearnerEnd(nb::module_ &Module) {
  nb::class_<MlgoLearnerEnd>(Module, "MlgoLearnerEnd",
                             "The learner's end of a conversation with an untouched opt, clang or llc, in LLVM's own format: as a LearnerEnd, but "
                             "for what that format lacks. Where the compiler has ended, receive() gives a bye.")
      .def(nb::init<const std::string &, int, const std::string &>(), "base"_a, "pid"_a, "spec"_a,
           "Over the FIFOs BASE.in and BASE.out, which must exist, with the process `pid`, a child of this one; `spec` is the bound "
           "spec (JSON) of what it will ask.")
      .def_static("fifo", &MlgoLearnerEnd::fifo, "base"_a, "spec"_a, nb::rv_policy::take_ownership,
                  "The same for a compiler that somebody else starts: the end of the channel is that of the compiler.")
      .def_prop_ro("spec", &MlgoLearnerEnd::spec, "The bound spec as JSON.")
      .def("connect", &MlgoLearnerEnd::connect, "timeout"_a, "Waits until that compiler is there.")
      .def("receive", &MlgoLearnerEnd::receive, "timeout"_a, "The next message.")
      .def("readable", &MlgoLearnerEnd::readable, "timeout"_a = 0.0, "Whether receive() would not wait.")
      .def("advise", &MlgoLearnerEnd::advise, "advice"_a, "timeout"_a = 60.0,
           "Answers the last observation: an index, or a float where the agent asks for a value.",
           nb::sig("def advise(self, advice: int | float, timeout: float = 60.0) -> None"))
      .def("close", &MlgoLearnerEnd::close, "Closes; harmless if closed already. The compiler must be ended then: it would wait, and spin.")
      .def("fileno", &MlgoLearnerEnd::fileno, "The descriptor to poll once readable() is false, -1 if closed.")
      .def(
          "__enter__", [](nb::object Self) { return Self; }, nb::sig("def __enter__(self) -> MlgoLearnerEnd"))
      .def("__exit__", [](MlgoLearnerEnd &Self, nb::args) { Self.close(); }, nb::sig("def __exit__(self, *args: object) -> None"));
}

} // namespace mlcb::python
