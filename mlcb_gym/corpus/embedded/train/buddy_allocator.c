// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A buddy allocator and a first-fit free list over one pool, under a random trace of requests.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { PoolLog = 18, MinLog = 5, PoolSize = 1 << PoolLog, Slots = 400, Operations = 160000 };

#define NoBlock UINT32_MAX

// Both allocators hand out offsets into the pool: addresses never reach the output.
typedef struct {
  const char *name;
  void (*reset)(void);
  uint32_t (*allocate)(uint32_t size);
  void (*release)(uint32_t offset);
  uint32_t (*freeBytes)(void);
} Allocator;

static _Alignas(16) uint8_t pool[PoolSize];

// Buddy: a free block keeps the links of its list in its own first bytes.
typedef struct {
  uint32_t next, previous;
} Links;

static uint32_t freeHeads[PoolLog + 1];
static uint8_t orderOf[PoolSize >> MinLog]; // order of the block that starts here; 0: none
static uint8_t isFree[PoolSize >> MinLog];

static Links loadLinks(uint32_t offset) {
  Links links;
  memcpy(&links, pool + offset, sizeof links);
  return links;
}

static void storeLinks(uint32_t offset, uint32_t next, uint32_t previous) {
  Links links = {next, previous};
  memcpy(pool + offset, &links, sizeof links);
}

static void pushFree(uint32_t offset, int order) {
  uint32_t head = freeHeads[order];
  storeLinks(offset, head, NoBlock);
  if (head != NoBlock)
    storeLinks(head, loadLinks(head).next, offset);
  freeHeads[order] = offset;
  orderOf[offset >> MinLog] = (uint8_t)order;
  isFree[offset >> MinLog] = 1;
}

static void unlinkFree(uint32_t offset) {
  Links links = loadLinks(offset);
  if (links.previous == NoBlock)
    freeHeads[orderOf[offset >> MinLog]] = links.next;
  else
    storeLinks(links.previous, links.next, loadLinks(links.previous).previous);
  if (links.next != NoBlock)
    storeLinks(links.next, loadLinks(links.next).next, links.previous);
  isFree[offset >> MinLog] = 0;
}

static void buddyReset(void) {
  memset(orderOf, 0, sizeof orderOf);
  memset(isFree, 0, sizeof isFree);
  for (int order = 0; order <= PoolLog; order++)
    freeHeads[order] = NoBlock;
  pushFree(0, PoolLog);
}

static uint32_t buddyAllocate(uint32_t size) {
  int order = MinLog;
  while (order <= PoolLog && 1u << order < size)
    order++;
  int found = order;
  while (found <= PoolLog && freeHeads[found] == NoBlock)
    found++;
  if (found > PoolLog)
    return NoBlock;
  uint32_t offset = freeHeads[found];
  unlinkFree(offset);
  while (found > order) {
    found--;
    pushFree(offset + (1u << found), found);
  }
  orderOf[offset >> MinLog] = (uint8_t)order;
  return offset;
}

static void buddyRelease(uint32_t offset) {
  int order = orderOf[offset >> MinLog];
  for (; order < PoolLog; order++) {
    uint32_t buddy = offset ^ 1u << order;
    if (!isFree[buddy >> MinLog] || orderOf[buddy >> MinLog] != order)
      break;
    unlinkFree(buddy);
    orderOf[(offset > buddy ? offset : buddy) >> MinLog] = 0;
    offset &= ~(1u << order);
  }
  pushFree(offset, order);
}

static uint32_t buddyFreeBytes(void) {
  uint32_t bytes = 0;
  for (int order = MinLog; order <= PoolLog; order++)
    for (uint32_t at = freeHeads[order]; at != NoBlock; at = loadLinks(at).next)
      bytes += 1u << order;
  return bytes;
}

// First fit: every block begins with its size, the low bit telling that it is in use.
enum { HeaderSize = 16 };

static uint32_t loadHeader(uint32_t offset) {
  uint32_t header;
  memcpy(&header, pool + offset, sizeof header);
  return header;
}

static void storeHeader(uint32_t offset, uint32_t size, uint32_t used) {
  uint32_t header = size | used;
  memcpy(pool + offset, &header, sizeof header);
}

static void fitReset(void) { storeHeader(0, PoolSize, 0); }

// Joins a free block with the free ones that follow it and returns the size.
static uint32_t coalesce(uint32_t offset) {
  uint32_t size = loadHeader(offset);
  while (offset + size < PoolSize && !(loadHeader(offset + size) & 1))
    size += loadHeader(offset + size);
  storeHeader(offset, size, 0);
  return size;
}

static uint32_t fitAllocate(uint32_t size) {
  uint32_t wanted = (size + HeaderSize + 15) & ~15u;
  for (uint32_t at = 0; at < PoolSize; at += loadHeader(at) & ~1u) {
    if (loadHeader(at) & 1)
      continue;
    uint32_t room = coalesce(at);
    if (room < wanted)
      continue;
    if (room - wanted >= 2 * HeaderSize) {
      storeHeader(at + wanted, room - wanted, 0);
      room = wanted;
    }
    storeHeader(at, room, 1);
    return at + HeaderSize;
  }
  return NoBlock;
}

static void fitRelease(uint32_t offset) { storeHeader(offset - HeaderSize, loadHeader(offset - HeaderSize) & ~1u, 0); }

static uint32_t fitFreeBytes(void) {
  uint32_t bytes = 0;
  for (uint32_t at = 0; at < PoolSize; at += loadHeader(at) & ~1u)
    if (!(loadHeader(at) & 1))
      bytes += loadHeader(at);
  return bytes;
}

static uint32_t xorshift(uint32_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 17;
  *state ^= *state << 5;
  return *state;
}

static uint32_t requestSize(uint32_t random) {
  switch (random >> 28) {
  case 0: return 2000 + random % 6000;
  case 1:
  case 2:
  case 3: return 256 + random % 700;
  default: return 8 + random % 120;
  }
}

static int stamped(uint32_t offset, uint32_t size, uint8_t stamp) {
  return pool[offset] == stamp && pool[offset + size - 1] == stamp && pool[offset + size / 2] == stamp;
}

static void runTrace(const Allocator *allocator) {
  uint32_t offsets[Slots], sizes[Slots] = {0}, seed = 2463534242u, hash = 0;
  int failed = 0, damaged = 0;
  allocator->reset();
  uint32_t before = allocator->freeBytes();
  for (int i = 0; i < Operations; i++) {
    uint32_t slot = xorshift(&seed) % Slots;
    if (sizes[slot]) {
      damaged += !stamped(offsets[slot], sizes[slot], (uint8_t)slot);
      allocator->release(offsets[slot]);
      sizes[slot] = 0;
      continue;
    }
    uint32_t size = requestSize(xorshift(&seed)), offset = allocator->allocate(size);
    if (offset == NoBlock) {
      failed++;
      continue;
    }
    offsets[slot] = offset;
    sizes[slot] = size;
    memset(pool + offset, (int)(slot & 255), size);
    hash = hash * 31 + offset;
  }
  for (int slot = 0; slot < Slots; slot++)
    if (sizes[slot])
      allocator->release(offsets[slot]);
  printf("%s failed %d damaged %d whole %d hash %08x\n", allocator->name, failed, damaged,
         allocator->freeBytes() == before, hash);
}

int main(void) {
  static const Allocator Allocators[] = {{"buddy", buddyReset, buddyAllocate, buddyRelease, buddyFreeBytes},
                                         {"fit", fitReset, fitAllocate, fitRelease, fitFreeBytes}};
  for (size_t i = 0; i < sizeof Allocators / sizeof *Allocators; i++)
    runTrace(&Allocators[i]);
  return 0;
}
