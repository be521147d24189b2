// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SipHash-2-4 under a robin-hood hash map, a chained map and a Bloom filter.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KeySize = 24, Keys = 30000, BloomBits = 1 << 18, BloomHashes = 5, Buckets = 4096 };

typedef uint64_t (*HashFunction)(const void *data, size_t size);

typedef struct {
  char key[KeySize];
  uint32_t value;
  uint32_t distance; // how far from home, plus one; 0: empty
} Slot;

typedef struct {
  Slot *slots;
  size_t count, mask;
  HashFunction hash;
} RobinMap;

typedef struct Entry {
  struct Entry *next;
  uint32_t value;
  char key[];
} Entry;

typedef struct {
  Entry *buckets[Buckets];
  HashFunction hash;
} ChainMap;

static uint64_t rotate(uint64_t x, int n) { return x << n | x >> (64 - n); }

static uint64_t loadWord(const uint8_t *p, size_t count) {
  uint64_t word = 0;
  for (size_t i = 0; i < count; i++)
    word |= (uint64_t)p[i] << (8 * i);
  return word;
}

static void sipRound(uint64_t v[4]) {
  v[0] += v[1];
  v[1] = rotate(v[1], 13) ^ v[0];
  v[0] = rotate(v[0], 32);
  v[2] += v[3];
  v[3] = rotate(v[3], 16) ^ v[2];
  v[0] += v[3];
  v[3] = rotate(v[3], 21) ^ v[0];
  v[2] += v[1];
  v[1] = rotate(v[1], 17) ^ v[2];
  v[2] = rotate(v[2], 32);
}

static void sipAbsorb(uint64_t v[4], uint64_t word) {
  v[3] ^= word;
  sipRound(v);
  sipRound(v);
  v[0] ^= word;
}

uint64_t sipHash(const void *data, size_t size) {
  const uint64_t k0 = 0x0706050403020100u, k1 = 0x0f0e0d0c0b0a0908u;
  uint64_t v[4] = {k0 ^ 0x736f6d6570736575u, k1 ^ 0x646f72616e646f6du, k0 ^ 0x6c7967656e657261u,
                   k1 ^ 0x7465646279746573u};
  const uint8_t *p = data;
  size_t left = size;
  for (; left >= 8; left -= 8, p += 8)
    sipAbsorb(v, loadWord(p, 8));
  sipAbsorb(v, loadWord(p, left) | (uint64_t)size << 56);
  v[2] ^= 0xff;
  for (int i = 0; i < 4; i++)
    sipRound(v);
  return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t fnvHash(const void *data, size_t size) {
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < size; i++)
    hash = (hash ^ ((const uint8_t *)data)[i]) * 1099511628211u;
  return hash ^ hash >> 29;
}

static void robinInit(RobinMap *map, size_t capacity, HashFunction hash) {
  map->slots = calloc(capacity, sizeof(Slot));
  if (!map->slots)
    abort();
  map->count = 0;
  map->mask = capacity - 1;
  map->hash = hash;
}

uint32_t *robinFind(const RobinMap *map, const char *key) {
  size_t at = map->hash(key, strlen(key)) & map->mask;
  for (uint32_t distance = 1;; distance++, at = (at + 1) & map->mask) {
    Slot *slot = &map->slots[at];
    if (slot->distance < distance)
      return NULL;
    if (slot->distance == distance && strcmp(slot->key, key) == 0)
      return &slot->value;
  }
}

static void robinPlace(RobinMap *map, Slot incoming) {
  size_t at = map->hash(incoming.key, strlen(incoming.key)) & map->mask;
  for (incoming.distance = 1;; incoming.distance++, at = (at + 1) & map->mask) {
    Slot *slot = &map->slots[at];
    if (slot->distance == 0) {
      *slot = incoming;
      map->count++;
      return;
    }
    if (slot->distance < incoming.distance) {
      Slot displaced = *slot;
      *slot = incoming;
      incoming = displaced;
    }
  }
}

static void robinGrow(RobinMap *map) {
  RobinMap larger;
  robinInit(&larger, 2 * (map->mask + 1), map->hash);
  for (size_t i = 0; i <= map->mask; i++)
    if (map->slots[i].distance)
      robinPlace(&larger, map->slots[i]);
  free(map->slots);
  *map = larger;
}

void robinAdd(RobinMap *map, const char *key, uint32_t amount) {
  uint32_t *value = robinFind(map, key);
  if (value) {
    *value += amount;
    return;
  }
  if (map->count * 8 > map->mask * 7)
    robinGrow(map);
  Slot slot = {.value = amount};
  memcpy(slot.key, key, strlen(key) + 1);
  robinPlace(map, slot);
}

// Erases by shifting the run behind back by one, so that no tombstones are needed.
int robinErase(RobinMap *map, const char *key) {
  uint32_t *value = robinFind(map, key);
  if (!value)
    return 0;
  size_t at = map->hash(key, strlen(key)) & map->mask;
  while (&map->slots[at].value != value)
    at = (at + 1) & map->mask;
  for (;;) {
    size_t next = (at + 1) & map->mask;
    map->slots[at] = map->slots[next];
    if (map->slots[next].distance <= 1)
      break;
    map->slots[at].distance--;
    at = next;
  }
  map->slots[at].distance = 0;
  map->count--;
  return 1;
}

static Entry **chainFind(ChainMap *map, const char *key) {
  Entry **link = &map->buckets[map->hash(key, strlen(key)) % Buckets];
  while (*link && strcmp((*link)->key, key) != 0)
    link = &(*link)->next;
  return link;
}

void chainAdd(ChainMap *map, const char *key, uint32_t amount) {
  Entry **link = chainFind(map, key);
  if (!*link) {
    Entry *entry = malloc(sizeof *entry + strlen(key) + 1);
    if (!entry)
      abort();
    entry->next = NULL;
    entry->value = 0;
    memcpy(entry->key, key, strlen(key) + 1);
    *link = entry;
  }
  (*link)->value += amount;
}

int chainErase(ChainMap *map, const char *key) {
  Entry **link = chainFind(map, key), *entry = *link;
  if (!entry)
    return 0;
  *link = entry->next;
  free(entry);
  return 1;
}

static int bloomTouch(uint8_t *bits, const char *key, int set) {
  uint64_t hash = sipHash(key, strlen(key));
  int present = 1;
  for (uint32_t i = 0; i < BloomHashes; i++) {
    uint32_t bit = ((uint32_t)hash + i * (uint32_t)(hash >> 32)) % BloomBits;
    present &= bits[bit / 8] >> bit % 8 & 1;
    if (set)
      bits[bit / 8] |= (uint8_t)(1 << bit % 8);
  }
  return present;
}

static void makeKey(char key[KeySize], uint32_t number) {
  static const char *const Stems[] = {"user", "session", "block", "index"};
  number = (number ^ number >> 7) * 2654435761u % 30011;
  snprintf(key, KeySize, "%s:%u", Stems[number & 3], number);
}

static uint32_t drain(ChainMap *chain, const RobinMap *robin, int *differing) {
  uint32_t total = 0;
  for (int i = 0; i < Buckets; i++)
    while (chain->buckets[i]) {
      Entry *entry = chain->buckets[i];
      const uint32_t *value = robinFind(robin, entry->key);
      *differing += !value || *value != entry->value;
      total = total * 31 + entry->value;
      chain->buckets[i] = entry->next;
      free(entry);
    }
  return total;
}

int main(void) {
  static uint8_t bloom[BloomBits / 8];
  static ChainMap chain;
  static const HashFunction Hashes[] = {sipHash, fnvHash};
  char key[KeySize];
  for (int h = 0; h < 2; h++) {
    RobinMap robin;
    int known = 0, erased = 0, differing = 0;
    robinInit(&robin, 64, Hashes[h]);
    chain.hash = Hashes[1 - h];
    memset(bloom, 0, sizeof bloom);
    for (uint32_t i = 0; i < Keys; i++) {
      makeKey(key, i);
      known += bloomTouch(bloom, key, i % 2);
      robinAdd(&robin, key, i);
      chainAdd(&chain, key, i);
      makeKey(key, i * 7);
      if (i % 3 == 0) {
        erased += robinErase(&robin, key);
        differing += chainErase(&chain, key);
      }
    }
    differing -= erased;
    size_t count = robin.count;
    uint32_t total = drain(&chain, &robin, &differing);
    printf("maps count %zu erased %d known %d differing %d total %08x\n", count, erased, known, differing, total);
    free(robin.slots);
  }
  printf("sip %016llx\n", (unsigned long long)sipHash("\0\1\2\3\4\5\6\7\10\11\12\13\14\15\16", 15));
  return 0;
}
