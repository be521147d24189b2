// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/worker/Snapshots.h"

#include "channel/FdChannel.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace mlcb {

static constexpr double ForkSeconds = 1; // it has nothing else to do than to listen

bool Snapshots::begin(measure::Key Request, FileDescriptor &Channel) {
  auto Found = find(Request);
  if (Found == Kept.end() || !isThere(*Found))
    return false;
  Kept.splice(Kept.begin(), Kept, Found);
  if (!Found->Link.send(FrameKind::Fork, {}, after(ForkSeconds), 0, 0, Channel.get()))
    return false;
  Channel.reset();
  return true;
}

/// It says one thing: that it is there. Whatever comes after that is its end.
bool Snapshots::isThere(Snapshot &S) {
  for (Expected<bool> Readable = S.Link.readable(Clock::now()); Readable && *Readable; Readable = S.Link.readable(Clock::now()))
    S.IsThere = S.Link.receive(Clock::now()).has_value();
  return S.IsThere && S.Link.isOpen();
}

FileDescriptor Snapshots::admit(measure::Key Request, size_t Instructions) {
  if (Instructions > Limits.Instructions || find(Request) != Kept.end() || !recurs(Request))
    return {};
  auto Pair = socketPair();
  if (!Pair)
    return {};
  Kept.push_front({Request, Instructions, Framed(socketChannel(std::move(Pair->first)))});
  evict();
  return std::move(Pair->second);
}

bool Snapshots::recurs(measure::Key Request) {
  auto Known = llvm::find(Lately, Request);
  if (Known != Lately.end()) {
    Lately.erase(Known);
    return true;
  }
  Lately.push_front(Request);
  if (Lately.size() > Limits.Count)
    Lately.pop_back();
  return false;
}

std::list<Snapshots::Snapshot>::iterator Snapshots::find(measure::Key Request) {
  return find_if(Kept, [&](const Snapshot &S) { return S.Request == Request; });
}

void Snapshots::evict() {
  size_t Count = 0, Instructions = 0;
  auto First = find_if(Kept, [&](const Snapshot &S) {
    Instructions += S.Instructions;
    return ++Count > Limits.Count || Instructions > Limits.Instructions;
  });
  Kept.erase(First, Kept.end());
}

} // namespace mlcb
