// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/process/JobSlots.h"

#include "llvm/ADT/StringRef.h"

#include <cstdlib>
#include <sys/stat.h>

using namespace llvm;

namespace mlcb {

/// The jobserver that make names, as FIFO or as descriptors; the last one counts.
static std::optional<StringRef> namedByMake() {
  const char *Flags = std::getenv("MAKEFLAGS");
  const auto [Before, Named] = StringRef(Flags ? Flags : "").rsplit("--jobserver-");
  return Named.empty() ? std::nullopt : std::optional(Named.split('=').second.split(' ').first);
}

static bool isPipe(StringRef Descriptor) {
  int Number;
  struct stat Status;
  return !Descriptor.getAsInteger(10, Number) && fstat(Number, &Status) == 0 && S_ISFIFO(Status.st_mode);
}

/// Whether this process may use it: make closes its descriptors to recipes that are not marked by +, and LLVM's client would take other files for them.
static bool isShared(StringRef Named) {
  const auto [Read, Write] = Named.split(',');
  return Named.starts_with("fifo:") || (isPipe(Read) && isPipe(Write));
}

static JobserverClient *clientOfMake() {
  const auto Named = namedByMake();
  JobserverClient *Client = Named && isShared(*Named) ? JobserverClient::getInstance() : nullptr;
  if (Client)
    Client->tryAcquire(); // the first one is that of this process, and of whatever goes on in its place
  return Client;
}

static JobserverClient *slotsOfMake() {
  static JobserverClient *const Client = clientOfMake();
  return Client;
}

JobSlots::JobSlots(unsigned AtMost) : AtMost(AtMost), Make(AtMost > 1 ? slotsOfMake() : nullptr) {
  if (!Make && namedByMake())
    this->AtMost = 1; // make counts this process as one job, and lends it no more
}

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
