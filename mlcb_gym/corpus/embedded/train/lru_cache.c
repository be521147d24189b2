// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cache replacement policies (LRU, LFU, clock, two queues, direct-mapped) against four access traces.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { Capacity = 128, Buckets = 256, Accesses = 60000, None = -1 };

typedef struct {
  int32_t key;
  int next, previous; // in the list the slot belongs to
  int chain;          // next in the hash bucket
  uint32_t uses;
  uint8_t list, referenced;
} Slot;

typedef struct {
  int head, tail, size;
} List;

typedef struct {
  Slot slots[Capacity];
  int buckets[Buckets];
  List lists[2]; // two queues: 0 probation, 1 protected; the others use list 0
  int used, hand;
} Cache;

typedef struct {
  const char *name;
  void (*onHit)(Cache *cache, int slot);
  int (*victim)(Cache *cache);
} Policy;

typedef int32_t (*Trace)(int i);

static uint64_t state;

static uint32_t nextRandom(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (uint32_t)(state >> 16);
}

static int bucketOf(int32_t key) { return (int)((uint32_t)key * 2654435769u >> 24); }

static void cacheInit(Cache *cache) {
  memset(cache, 0, sizeof *cache);
  memset(cache->buckets, 0xff, sizeof cache->buckets);
  cache->lists[0] = cache->lists[1] = (List){None, None, 0};
}

static int findSlot(const Cache *cache, int32_t key) {
  int slot = cache->buckets[bucketOf(key)];
  while (slot != None && cache->slots[slot].key != key)
    slot = cache->slots[slot].chain;
  return slot;
}

static void unlinkSlot(Cache *cache, int slot) {
  Slot *s = &cache->slots[slot];
  List *list = &cache->lists[s->list];
  *(s->previous == None ? &list->head : &cache->slots[s->previous].next) = s->next;
  *(s->next == None ? &list->tail : &cache->slots[s->next].previous) = s->previous;
  list->size--;
}

static void pushFront(Cache *cache, int slot, int which) {
  Slot *s = &cache->slots[slot];
  List *list = &cache->lists[which];
  s->list = (uint8_t)which;
  s->previous = None;
  s->next = list->head;
  *(list->head == None ? &list->tail : &cache->slots[list->head].previous) = slot;
  list->head = slot;
  list->size++;
}

static void removeFromBucket(Cache *cache, int slot) {
  int *link = &cache->buckets[bucketOf(cache->slots[slot].key)];
  while (*link != slot)
    link = &cache->slots[*link].chain;
  *link = cache->slots[slot].chain;
}

static void hitRecency(Cache *cache, int slot) {
  unlinkSlot(cache, slot);
  pushFront(cache, slot, 0);
}

static void hitNothing(Cache *cache, int slot) { cache->slots[slot].uses++; }
static void hitReference(Cache *cache, int slot) { cache->slots[slot].referenced = 1; }

// A second hit protects; the protected list gives its oldest back when it grows too long.
static void hitProtect(Cache *cache, int slot) {
  unlinkSlot(cache, slot);
  pushFront(cache, slot, 1);
  if (cache->lists[1].size > Capacity * 3 / 4) {
    int oldest = cache->lists[1].tail;
    unlinkSlot(cache, oldest);
    pushFront(cache, oldest, 0);
  }
}

static int oldestSlot(Cache *cache) { return cache->lists[0].tail; }

static int leastUsed(Cache *cache) {
  int best = 0;
  for (int i = 1; i < Capacity; i++)
    if (cache->slots[i].uses < cache->slots[best].uses)
      best = i;
  for (int i = 0; i < Capacity; i++)
    cache->slots[i].uses -= cache->slots[i].uses > 64 ? 32 : 0;
  return best;
}

static int clockHand(Cache *cache) {
  for (;;) {
    int slot = cache->hand;
    cache->hand = (cache->hand + 1) % Capacity;
    if (!cache->slots[slot].referenced)
      return slot;
    cache->slots[slot].referenced = 0;
  }
}

static int probationSlot(Cache *cache) { return cache->lists[0].size ? cache->lists[0].tail : cache->lists[1].tail; }

static int randomSlot(Cache *cache) {
  (void)cache;
  return (int)(nextRandom() % Capacity);
}

static const Policy Policies[] = {{"lru", hitRecency, oldestSlot},     {"fifo", hitNothing, oldestSlot},
                                  {"lfu", hitNothing, leastUsed},      {"clock", hitReference, clockHand},
                                  {"twoq", hitProtect, probationSlot}, {"random", hitNothing, randomSlot}};

int cacheAccess(Cache *cache, const Policy *policy, int32_t key) {
  int slot = findSlot(cache, key);
  if (slot != None) {
    policy->onHit(cache, slot);
    return 1;
  }
  if (cache->used < Capacity) {
    slot = cache->used++;
  } else {
    slot = policy->victim(cache);
    removeFromBucket(cache, slot);
    unlinkSlot(cache, slot);
  }
  Slot *s = &cache->slots[slot];
  s->key = key;
  s->uses = 1;
  s->referenced = 0;
  s->chain = cache->buckets[bucketOf(key)];
  cache->buckets[bucketOf(key)] = slot;
  pushFront(cache, slot, 0);
  return 0;
}

static int32_t traceUniform(int i) {
  (void)i;
  return (int32_t)(nextRandom() % 300);
}

// The smaller of three draws, cubed: few keys get most of the accesses.
static int32_t traceSkewed(int i) {
  uint32_t least = nextRandom() % 2000;
  for (int k = 0; k < 3; k++) {
    uint32_t draw = nextRandom() % 2000;
    least = draw < least ? draw : least;
  }
  return (int32_t)least + (i / 5000) * 50;
}

static int32_t traceLoop(int i) { return i % (Capacity + 20); }

static int32_t traceScan(int i) {
  if (i % 1000 > 700)
    return 5000 + i;
  return (int32_t)(nextRandom() % 90);
}

static int consistent(const Cache *cache) {
  int chained = 0, listed = 0;
  for (int b = 0; b < Buckets; b++)
    for (int slot = cache->buckets[b]; slot != None; slot = cache->slots[slot].chain)
      chained += bucketOf(cache->slots[slot].key) == b;
  for (int l = 0; l < 2; l++)
    for (int slot = cache->lists[l].tail; slot != None; slot = cache->slots[slot].previous)
      listed += cache->slots[slot].list == l;
  return chained == cache->used && listed == cache->used;
}

int main(void) {
  static const Trace Traces[] = {traceUniform, traceSkewed, traceLoop, traceScan};
  static Cache cache;
  int sound = 0;
  for (size_t p = 0; p < sizeof Policies / sizeof *Policies; p++) {
    printf("%s", Policies[p].name);
    for (size_t t = 0; t < sizeof Traces / sizeof *Traces; t++) {
      int hits = 0;
      state = 88172645463325252u + t;
      cacheInit(&cache);
      for (int i = 0; i < Accesses; i++)
        hits += cacheAccess(&cache, &Policies[p], Traces[t](i));
      sound += consistent(&cache);
      printf(" %d", hits);
    }
    printf("; ");
  }
  printf("sound %d\n", sound);
  return 0;
}
