// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The learner's end for Python.
#include "protocol/LearnerEnd.h"
#include "channel/Fifo.h"
#include "channel/GrpcRendezvous.h"
#include "channel/Pump.h"
#include "channel/ShmRendezvous.h"
#include "python/Bindings.h"
#include "python/Message.h"
#include "python/SharedEnd.h"
#include "python/Sockets.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace mlcb::python {
namespace {

/// A bound spec from its JSON text. Reading one takes longer than beginning an episode, and most episodes have the spec of the one before.
BoundSpec readEpisodeSpec(const std::string &Json) {
  static std::string Last; // under the GIL
  static BoundSpec Read;
  if (Json != Last) {
    Read = unwrap(readSpec(Json));
    Last = Json;
  }
  return Read;
}

class PyLearnerEnd {
  SharedEnd<LearnerEnd> &end() {
    if (!End.isOpen())
      raise(Pending ? Error{ErrorKind::InvalidArgument, "nobody is connected yet: call hello()"}
                    : Error{ErrorKind::PeerGone, "the channel is closed"});
    return End;
  }

  template <class Call> auto wait(Call Wait) { return end().wait(Wait); }

public:
  PyLearnerEnd(int Fd, const std::optional<std::string> &Spec, const std::vector<std::string> &Metrics, const std::string &When,
               const std::string &Serializer) {
    End.open(makeEnd(interruptible(adoptSocket(Fd)), Spec, Metrics, unwrap(readMeasure(When)), Serializer));
  }

  explicit PyLearnerEnd(std::shared_ptr<Rendezvous> Pending) : Pending(std::move(Pending)) {}

  static PyLearnerEnd *fifo(const std::string &Base) { return new PyLearnerEnd(std::make_unique<Fifo>(unwrap(Fifo::open(Base, FifoEnd::Learner)))); }

  static PyLearnerEnd *shm(const std::string &Path) { return new PyLearnerEnd(std::make_unique<ShmListener>(unwrap(ShmListener::open(Path)))); }

  void connect(double Timeout) {
    if (auto Place = Pending)
      End.open(LearnerEnd(interruptible(End.connect(*Place, after(Timeout)))));
    Pending.reset();
  }

  std::string hello(std::string Task, std::string Parameters, std::vector<std::string> Metrics, double Timeout, std::string Serializer,
                    const std::string &When) {
    const Hello Asked{std::move(Task), std::move(Parameters), std::move(Serializer), std::move(Metrics), unwrap(readMeasure(When))};
    connect(Timeout);
    return wait([&](LearnerEnd &Of) { return Of.hello(Asked, after(Timeout)).map([&] { return Of.spec().toJson(); }); });
  }

  void begin(const std::string &Payload, int Fd, double Timeout) {
    const FileDescriptor Episode(Fd);
    wait([&](LearnerEnd &Of) { return Of.begin(Payload, Episode, after(Timeout)); });
  }

  PyMessage receive(double Timeout) {
    return end().wait([&](LearnerEnd &Of) { return Of.receive(after(Timeout)); }, [](const Message &Got) { return PyMessage(Got); });
  }

  bool readable(double Timeout) {
    return wait([&](LearnerEnd &Of) { return Of.readable(after(Timeout)); });
  }

  void advise(nb::handle Advice, double Timeout) { python::advise(end(), Advice, Timeout); }

  void delegate(const std::vector<nb::bytes> &Models, double Timeout) {
    std::vector<std::string_view> Contents;
    for (const nb::bytes &Model : Models)
      Contents.emplace_back(Model.c_str(), Model.size());
    wait([&](LearnerEnd &Of) { return Of.delegate(Contents, after(Timeout)); });
  }

  int fork(double Timeout) {
    return wait([&](LearnerEnd &Of) { return Of.fork(after(Timeout)); }).release();
  }

  void close() {
    Pending.reset();
    End.close();
  }

  int fileno() const { return End.fileno(); }

private:
  std::unique_ptr<Channel> interruptible(std::unique_ptr<Channel> Link) const {
    Link->onWait(End.interrupted());
    return Link;
  }

  static LearnerEnd makeEnd(std::unique_ptr<Channel> Link, const std::optional<std::string> &Spec, const std::vector<std::string> &Metrics,
                            Measure When, const std::string &Serializer) {
    if (!Spec)
      return LearnerEnd(std::move(Link));
    const auto &Codec = *unwrap(findSerializer(Serializer));
    return unwrap(LearnerEnd::ofEpisode(std::move(Link), readEpisodeSpec(*Spec), Metrics, When, Codec));
  }

  std::shared_ptr<Rendezvous> Pending;
  SharedEnd<LearnerEnd> End;
};

/// A place to which others call, or from which we do.
class Grpc {
public:
  Grpc(const std::string &Uri, bool Listens, std::optional<size_t> Episodes, double IdleSeconds)
      : Place(waiting([&] {
          return openGrpc(mlcb::Uri::parse(Uri), Listens, {.Episodes = Episodes.value_or(GrpcBounds().Episodes), .IdleSeconds = IdleSeconds});
        })) {}

  std::string address() const { return open().address(); }
  size_t refused() const { return open().refused(); }
  PyLearnerEnd *host() const { return new PyLearnerEnd((open(), Place)); }

  void join(const nb::callable &Start, double Timeout) const {
    const Released Kept((open(), Place));
    auto Caller = waiting([&] { return Kept->connect(after(Timeout), signalRaised); });
    unwrap(pump(std::move(Caller), adoptSocket(nb::cast<int>(Start()))));
  }

  void close() { const Released Last(std::move(Place)); }

private:
  GrpcRendezvous &open() const {
    if (!Place)
      raise({ErrorKind::InvalidArgument, "the place is closed"});
    return *Place;
  }

  std::shared_ptr<GrpcRendezvous> Place;
};

void bindGrpc(nb::module_ &Module) {
  nb::class_<Grpc>(Module, "Grpc", "An end of a grpc://HOST:PORT: of whoever listens there, or of one who calls.")
      .def(nb::init<const std::string &, bool, std::optional<size_t>, double>(), "uri"_a, "listens"_a, "episodes"_a = nb::none(),
           "idle_seconds"_a = GrpcBounds().IdleSeconds,
           "A server allows a connection so many `episodes` at once, and closes one on which nothing was said for `idle_seconds`, unless it is 0.")
      .def_prop_ro("address", &Grpc::address, "host:port, with the port that was found for 0.")
      .def_prop_ro("refused", &Grpc::refused, "How many calls a server has refused; 0 at a client.")
      .def("host", &Grpc::host, nb::rv_policy::take_ownership, "The learner's end of the next conversation; connect() waits for it.")
      .def("join", &Grpc::join, "start"_a, "timeout"_a,
           "Waits for the next caller, then carries bytes and descriptors between it and the Unix socket that `start` returns, which "
           "it takes over, in a thread of its own, until either closes.",
           nb::sig("def join(self, start: collections.abc.Callable[[], int], timeout: float) -> None"))
      .def("close", &Grpc::close, "Listens no more, once the conversations are over; harmless if closed already.");
}

} // namespace

void bindLearnerEnd(nb::module_ &Module) {
  bindGrpc(Module);
  nb::class_<PyLearnerEnd>(Module, "LearnerEnd",
                           "The learner's end of a conversation with a compiler. Every wait ends after `timeout` seconds, without "
                           "the GIL, and a second thread that comes meanwhile gets an InvalidArgument; after a Timeout of receive() it may be "
                           "called again, after any other error it is over.")
      .def(nb::init<int, const std::optional<std::string> &, std::vector<std::string>, const std::string &, const std::string &>(), "fd"_a,
           "spec"_a = nb::none(), "metrics"_a = std::vector<std::string>(), "measure"_a = "always", "serializer"_a = "bitstream",
           "Takes over a connected Unix socket: an episode's, with its bound spec, the metrics wanted 'always' or at the "
           "'end', and the serializer; or a worker's control channel.")
      .def_static("fifo", &PyLearnerEnd::fifo, "base"_a, nb::rv_policy::take_ownership,
                  "The learner's end of the FIFOs BASE.in and BASE.out, which must exist: for a compiler with the runner pipe:BASE.")
      .def_static("shm", &PyLearnerEnd::shm, "path"_a, nb::rv_policy::take_ownership,
                  "Listens at a path, which must not exist, for a compiler with the runner shm:PATH; the path is removed once "
                  "it is there.")
      .def("connect", &PyLearnerEnd::connect, "timeout"_a, "Waits until the compiler is there; hello() does it too.")
      .def("hello", &PyLearnerEnd::hello, "task"_a, "parameters"_a, "metrics"_a, "timeout"_a, "serializer"_a = "bitstream", "measure"_a = "always",
           "Asks the compiler to bind a task; returns the bound spec as JSON. Another spec than this build's is a "
           "SpecMismatch. The task \"\" is whichever the compiler has, declared by itself.")
      .def("begin", &PyLearnerEnd::begin, "payload"_a, "fd"_a, "timeout"_a,
           "Asks a worker for an episode whose channel is the socket `fd`; closes our copy of it.")
      .def("receive", &PyLearnerEnd::receive, "timeout"_a, "The next message. An Error frame raises PeerError.")
      .def("readable", &PyLearnerEnd::readable, "timeout"_a = 0.0, "Whether receive() would find the beginning of a message.")
      .def("advise", &PyLearnerEnd::advise, "advice"_a, "timeout"_a = 60.0,
           "Answers the last observation: an index, or a float where the agent asks for a value.",
           nb::sig("def advise(self, advice: int | float, timeout: float = 60.0) -> None"))
      .def("delegate", &PyLearnerEnd::delegate, "models"_a, "timeout"_a = 60.0,
           "Leaves the last observation, and all that would follow it, to models in the compiler: the contents of an ONNX file "
           "for each agent.")
      .def("fork", &PyLearnerEnd::fork, "timeout"_a = 60.0,
           "Clones the compiler where it waits for advice; returns the socket of a new LearnerEnd, on which the clone says "
           "begin and the same observation.")
      .def("close", &PyLearnerEnd::close, "Says bye and closes; harmless if closed already.")
      .def("fileno", &PyLearnerEnd::fileno, "The descriptor to poll once readable() is false, -1 if closed.")
      .def(
          "__enter__", [](nb::object Self) { return Self; }, nb::sig("def __enter__(self) -> LearnerEnd"))
      .def("__exit__", [](PyLearnerEnd &Self, nb::args) { Self.close(); }, nb::sig("def __exit__(self, *args: object) -> None"));
}

} // namespace mlcb::python
