// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "channel/ShmChannel.h"

#include "channel/FdChannelBase.h"
#include "channel/Wait.h"

#include <algorithm>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace mlcb {
namespace {

// Published at once: while one end copies in, the other copies out.
constexpr size_t MaxChunk = size_t(32) << 10;

// Without these the other end could cut the memory off under us, which is a SIGBUS.
constexpr int Seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

class ShmChannel final : public FdChannelBase {
public:
  ShmChannel(std::shared_ptr<Rings> Memory, Ring &In, Ring &Out, std::unique_ptr<Channel> Socket)
      : Memory(std::move(Memory)), In(In), Out(Out), Socket(std::move(Socket)) {}

  /// From here on each send rings, and so fails where nobody is there.
  ~ShmChannel() override { In.sleeps().store(1); }

  int fileno() const override { return Socket->fileno(); }

  FileDescriptor takeAttached() override {
    listen(); // it was sent before the bytes that it belongs to
    return Socket->takeAttached();
  }

  Expected<bool> readable(Deadline Until) override {
    return sleep(In.sleeps(), [this] { return In.available().value_or(1) > 0; }, Until);
  }

private:
  Expected<bool> writable(Deadline Until) override {
    return sleep(Out.sleeps(), [this] { return Out.room().value_or(1) > 0; }, Until);
  }

  Expected<size_t> tryReceive(std::span<std::byte> Into) override {
    auto Available = In.available();
    if (!Available || (*Available == 0 && !Gone))
      return Available;
    if (*Available == 0)
      return peerGone();
    Into = Into.first(std::min(*Available, Into.size()));
    if (In.take(Into))
      ring();
    return Into.size();
  }

  Expected<size_t> trySend(std::span<const ByteSpan> Pieces, int Attach) override {
    if (Gone)
      return peerGone();
    auto Room = Out.room();
    if (!Room || *Room == 0)
      return Room;
    if (Attach >= 0)
      if (auto Sent = Socket->send(Bell, Clock::now(), Attach); !Sent)
        return Unexpected(Sent.error());
    const size_t Chunk = std::min(*Room, MaxChunk);
    size_t Size = 0;
    for (ByteSpan Piece : Pieces) {
      Piece = Piece.first(std::min(Piece.size(), Chunk - Size));
      Out.put(Piece);
      Size += Piece.size();
    }
    if (Out.publish())
      ring();
    return Gone ? Expected<size_t>(peerGone()) : Size;
  }

  /// Blocks until there is something to do or nobody to do it with. What was rung before the flag is set says nothing new,
  /// what is rung after it ends the wait.
  template <class Fn> Expected<bool> sleep(std::atomic<uint32_t> &Sleeps, Fn IsReady, Deadline Until) {
    for (;;) {
      listen();
      Sleeps.store(1);
      if (IsReady() || Gone) {
        Sleeps.store(0);
        return true;
      }
      auto Rung = waitFor(fileno(), POLLIN, Until, Interrupted);
      if (!Rung || !*Rung)
        return Rung;
      if (Clock::now() >= Until) // they may ring without reason for ever
        return IsReady();
    }
  }

  /// A socket full of wake-ups needs no other.
  void ring() { note(Socket->send(Bell, Clock::now())); }

  /// Takes the wake-ups, and the descriptors that came with them.
  void listen() {
    std::byte Rung[64];
    const auto Got = Socket->receive(Rung, Clock::now());
    note(Got.map([](size_t) {}));
  }

  void note(const Expected<void> &Done) { Gone = Gone || (!Done && Done.error().Kind != ErrorKind::Timeout); }

  static constexpr std::byte Bell[1]{};

  std::shared_ptr<Rings> Memory;
  RingReader In;
  RingWriter Out;
  std::unique_ptr<Channel> Socket;
  bool Gone = false; // no more comes than the ring holds
};

} // namespace

Expected<FileDescriptor> makeRings() {
  FileDescriptor Memory(::memfd_create("mlcb", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!Memory)
    return failErrno("memfd_create");
  // Allocated now: where memory is short this is an error, later it would be a SIGBUS.
  while (::fallocate(Memory.get(), 0, 0, sizeof(Rings)) != 0)
    if (errno != EINTR)
      return failErrno("shared memory of " + std::to_string(sizeof(Rings)) + " bytes");
  if (::fcntl(Memory.get(), F_ADD_SEALS, Seals) != 0)
    return failErrno("sealing shared memory");
  return Memory;
}

Expected<std::shared_ptr<Rings>> mapRings(const FileDescriptor &Memory) {
  struct stat Status;
  if (::fstat(Memory.get(), &Status) != 0 || Status.st_size != sizeof(Rings))
    return fail(ErrorKind::ProtocolError, "the other end offers no shared memory of " + std::to_string(sizeof(Rings)) + " bytes");
  const int Sealed = ::fcntl(Memory.get(), F_GET_SEALS); // -1 of what cannot be sealed
  if (Sealed < 0 || (Sealed & Seals) != Seals)
    return fail(ErrorKind::ProtocolError, "the other end offers shared memory that it did not seal");
  // Populated: the first round through the rings would else take a fault a page.
  void *Mapped = ::mmap(nullptr, sizeof(Rings), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, Memory.get(), 0);
  if (Mapped == MAP_FAILED)
    return failErrno("mmap");
  return std::shared_ptr<Rings>(static_cast<Rings *>(Mapped), [](Rings *Old) { ::munmap(Old, sizeof(Rings)); });
}

std::unique_ptr<Channel> shmChannel(std::shared_ptr<Rings> Memory, Ring &In, Ring &Out, std::unique_ptr<Channel> Socket) {
  return std::make_unique<ShmChannel>(std::move(Memory), In, Out, std::move(Socket));
}

} // namespace mlcb
