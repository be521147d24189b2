// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/process/JobSlots.h"

#include "llvm/ADT/StringRef.h"

#include <cstdlib>

using namespace llvm;

namespace mlcb {

/// Where make shares none, LLVM's client would say so in each process.
static JobserverClient *clientOfMake() {
  const char *Flags = std::getenv("MAKEFLAGS");
  JobserverClient *Client = Flags && StringRef(Flags).contains("--jobserver-") ? JobserverClient::getInstance() : nullptr;
  if (Client)
    Client->tryAcquire(); // the first one is that of this process, and of whatever goes on in its place
  return Client;
}

static JobserverClient *slotsOfMake() {
  static JobserverClient *const Client = clientOfMake();
  return Client;
}

JobSlots::JobSlots(unsigned AtMost) : AtMost(AtMost), Make(AtMost > 1 ? slotsOfMake() : nullptr) {}

bool JobSlots::take() {
  if (Taken.size() + 1 >= AtMost)
    return false;
  JobSlot Slot = Make ? Make->tryAcquire() : JobSlot::createImplicit();
  if (!Slot.isValid())
    return false;
  Taken.push_back(std::move(Slot));
  return true;
}

void JobSlots::giveBack() {
  if (Taken.empty())
    return;
  if (Make)
    Make->release(std::move(Taken.back()));
  Taken.pop_back();
}

void JobSlots::giveBackAll() {
  while (!Taken.empty())
    giveBack();
}

} // namespace mlcb
