// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as frames: the conversation ends.
#include "channel/FdChannel.h"
#include "protocol/Framed.h"

#include <cstdlib>
#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *Data, size_t Size) {
  auto Pair = mlcb::socketPair();
  if (!Pair || ::write(Pair->second.get(), Data, Size) != static_cast<ssize_t>(Size))
    std::abort();
  Pair->second = {};
  mlcb::Framed Link(mlcb::socketChannel(std::move(Pair->first)));
  while (Link.isOpen())
    (void)Link.receive(mlcb::after(1));
  return 0;
}
