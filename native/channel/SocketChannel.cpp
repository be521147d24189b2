// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A Unix stream socket: both directions, and descriptors along with the bytes.
#include "channel/FdChannelBase.h"

#include "channel/Wait.h"

#include <cstring>
#include <deque>
#include <poll.h>
#include <sys/socket.h>

namespace mlcb {
namespace {

constexpr size_t MaxFdsAtOnce = 4;   // of one read; the kernel closes what does not fit
constexpr size_t MaxFdsWaiting = 16; // not yet taken; more is a flood and is closed

class SocketChannel final : public FdChannelBase {
public:
  explicit SocketChannel(FileDescriptor Socket) : Socket(std::move(Socket)) {}

  int fileno() const override { return Socket.get(); }

  FileDescriptor takeAttached() override {
    if (Attached.empty())
      return {};
    FileDescriptor First = std::move(Attached.front());
    Attached.pop_front();
    return First;
  }

private:
  Expected<bool> writable(Deadline Until) override { return waitFor(Socket.get(), POLLOUT, Until, Interrupted); }

  Expected<size_t> tryReceive(std::span<std::byte> Into) override {
    iovec Part{Into.data(), Into.size()};
    alignas(cmsghdr) char Control[CMSG_SPACE(sizeof(int) * MaxFdsAtOnce)];
    msghdr Message{};
    Message.msg_iov = &Part;
    Message.msg_iovlen = 1;
    Message.msg_control = Control;
    Message.msg_controllen = sizeof Control;
    const ssize_t Got = ::recvmsg(Socket.get(), &Message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (Got < 0)
      return wouldBlockOr("recvmsg");
    keepDescriptors(Message);
    return Got == 0 ? Expected<size_t>(peerGone()) : static_cast<size_t>(Got);
  }

  void keepDescriptors(msghdr &Message) {
    for (cmsghdr *Item = CMSG_FIRSTHDR(&Message); Item; Item = CMSG_NXTHDR(&Message, Item)) {
      if (Item->cmsg_level != SOL_SOCKET || Item->cmsg_type != SCM_RIGHTS)
        continue;
      const size_t Count = (Item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (size_t I = 0; I < Count; ++I) {
        int Fd;
        std::memcpy(&Fd, CMSG_DATA(Item) + I * sizeof(int), sizeof Fd);
        FileDescriptor Received(Fd);
        if (Attached.size() < MaxFdsWaiting)
          Attached.push_back(std::move(Received));
      }
    }
  }

  Expected<size_t> trySend(std::span<const ByteSpan> Pieces, int Attach) override {
    Iovecs Parts(Pieces);
    alignas(cmsghdr) char Control[CMSG_SPACE(sizeof(int))];
    msghdr Message{};
    Message.msg_iov = Parts.data();
    Message.msg_iovlen = Parts.size();
    if (Attach >= 0)
      attach(Message, Control, Attach);
    const ssize_t Sent = ::sendmsg(Socket.get(), &Message, MSG_DONTWAIT | MSG_NOSIGNAL);
    return Sent < 0 ? wouldBlockOr("sendmsg") : static_cast<size_t>(Sent);
  }

  template <size_t Size> static void attach(msghdr &Message, char (&Control)[Size], int Fd) {
    Message.msg_control = Control;
    Message.msg_controllen = Size;
    cmsghdr *Item = CMSG_FIRSTHDR(&Message);
    Item->cmsg_level = SOL_SOCKET;
    Item->cmsg_type = SCM_RIGHTS;
    Item->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(Item), &Fd, sizeof Fd);
  }

  FileDescriptor Socket;
  std::deque<FileDescriptor> Attached;
};

} // namespace

std::unique_ptr<Channel> socketChannel(FileDescriptor Socket) { return std::make_unique<SocketChannel>(std::move(Socket)); }

} // namespace mlcb
