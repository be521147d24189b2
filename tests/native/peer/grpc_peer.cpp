// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The other end of a gRPC channel in a process that can be killed:  grpc_peer URI SEND RECEIVE
// calls, sends and receives so many bytes, writes a byte to its output, and waits for its end.
#include "channel/GrpcRendezvous.h"

#include <cstdio>
#include <vector>

int main(int, char **Words) {
  using namespace mlcb;
  const Deadline Until = after(10);
  auto Link = openGrpc(Uri::parse(Words[1]), false).and_then([&](auto Place) { return Place->connect(Until, {}); });
  if (!Link) {
    std::fprintf(stderr, "%s\n", Link.error().Message.c_str());
    return 1;
  }
  const std::vector<std::byte> Sent(std::stoul(Words[2]));
  bool Good = (*Link)->send(Sent, Until).has_value();
  std::vector<std::byte> Into(size_t(1) << 16);
  for (size_t Left = std::stoul(Words[3]); Good && Left > 0;) {
    const auto Got = (*Link)->receive(std::span(Into).first(std::min(Left, Into.size())), Until);
    Good = Got.has_value();
    Left -= Got.value_or(0);
  }
  std::puts(Good ? "+" : "-");
  std::fflush(stdout);
  (void)std::getchar();
  return 0;
}
