// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Raw frames for Python: for scripted workers and tests of the wire.
#include "protocol/Framed.h"
#include "python/Bindings.h"
#include "python/SharedEnd.h"
#include "python/Sockets.h"

#include <nanobind/stl/string.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace mlcb::python {
namespace {

class Frames {
public:
  explicit Frames(int Fd) {
    auto Link = adoptSocket(Fd);
    Link->onWait(End.interrupted());
    End.open(Framed(std::move(Link)));
  }

  void send(const std::string &Kind, nb::bytes Payload, size_t Agent, size_t Flags, int Fd, double Timeout) {
    const FileDescriptor Attached(Fd);
    const auto Which = frameKind(Kind);
    if (!Which || Agent > UINT8_MAX || Flags > UINT8_MAX)
      raise({ErrorKind::InvalidArgument, "there is no frame of kind '" + Kind + "', or an agent or flags beyond 255"});
    const std::span Bytes(static_cast<const std::byte *>(Payload.data()), Payload.size());
    End.wait([&](Framed &Of) { return Of.send(*Which, Bytes, after(Timeout), static_cast<uint8_t>(Agent), static_cast<uint8_t>(Flags), Fd); });
  }

  nb::tuple receive(double Timeout) {
    return End.wait([&](Framed &Of) { return Of.receive(after(Timeout)); },
                    [](Frame Got) {
                      const std::string Kind(name(Got.Kind));
                      const nb::bytes Payload(Got.Payload.data(), Got.Payload.size());
                      return nb::make_tuple(Kind, Got.Agent, Got.Flags, Payload, Got.Attached.release());
                    });
  }

  void refuse(const std::string &Message) {
    say([&](Framed &Of) { (void)Of.refuse({ErrorKind::ProtocolError, Message}); });
  }
  void decline(const std::string &Message) {
    say([&](Framed &Of) { (void)Of.decline({ErrorKind::InvalidArgument, Message}); });
  }
  void close() { End.close(); }
  int fileno() const { return End.fileno(); }

private:
  template <class Call> void say(Call Last) {
    End.wait([&](Framed &Of) { return Last(Of), Expected<void>(); });
  }

  SharedEnd<Framed> End;
};

} // namespace

void bindFrames(nb::module_ &Module) {
  nb::class_<Frames>(Module, "Frames", "One end of a conversation, frame by frame, over a Unix socket that it takes over.")
      .def(nb::init<int>(), "fd"_a)
      .def("send", &Frames::send, "kind"_a, "payload"_a = nb::bytes("", 0), "agent"_a = 0, "flags"_a = 0, "fd"_a = -1, "timeout"_a = 60.0,
           "Sends a frame, and with it the descriptor `fd`, whose copy here is closed.")
      .def("receive", &Frames::receive, "timeout"_a, "(kind, agent, flags, payload, descriptor or -1) of the next frame.",
           nb::sig("def receive(self, timeout: float) -> tuple[str, int, int, bytes, int]"))
      .def("refuse", &Frames::refuse, "message"_a, "Sends an Error frame and closes.")
      .def("decline", &Frames::decline, "message"_a, "Sends an Error frame after which the conversation goes on.")
      .def("close", &Frames::close, "Closes without a word.")
      .def("fileno", &Frames::fileno);
}

} // namespace mlcb::python
