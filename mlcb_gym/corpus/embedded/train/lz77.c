// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LZ77 with hash chains and lazy matching, a byte-oriented token format, and its decoder.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WindowSize = 1 << 15, HashSize = 1 << 13, MinMatch = 4, MaxMatch = 258, MaxChain = 24, InputSize = 500000 };

typedef struct {
  const uint8_t *data;
  size_t size;
  int32_t head[HashSize];
  int32_t previous[WindowSize];
} MatchFinder;

typedef struct {
  size_t length, distance;
} Match;

typedef struct {
  uint8_t *bytes;
  size_t used;
} Output;

static uint32_t hashAt(const uint8_t *p) {
  uint32_t word = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
  return word * 2654435761u >> 19;
}

static void finderInit(MatchFinder *finder, const uint8_t *data, size_t size) {
  finder->data = data;
  finder->size = size;
  memset(finder->head, 0xff, sizeof finder->head);
  memset(finder->previous, 0xff, sizeof finder->previous);
}

static void finderInsert(MatchFinder *finder, size_t at) {
  if (at + MinMatch > finder->size)
    return;
  uint32_t hash = hashAt(finder->data + at);
  finder->previous[at % WindowSize] = finder->head[hash];
  finder->head[hash] = (int32_t)at;
}

static size_t commonLength(const uint8_t *a, const uint8_t *b, size_t limit) {
  size_t n = 0;
  while (n < limit && a[n] == b[n])
    n++;
  return n;
}

static Match finderBest(const MatchFinder *finder, size_t at) {
  Match best = {0, 0};
  if (at + MinMatch > finder->size)
    return best;
  size_t limit = finder->size - at < MaxMatch ? finder->size - at : MaxMatch;
  int32_t candidate = finder->head[hashAt(finder->data + at)];
  for (int chain = 0; candidate >= 0 && chain < MaxChain; chain++) {
    size_t distance = at - (size_t)candidate;
    if (distance == 0 || distance >= WindowSize)
      break;
    size_t length = commonLength(finder->data + candidate, finder->data + at, limit);
    if (length > best.length) {
      best.length = length;
      best.distance = distance;
    }
    candidate = finder->previous[(size_t)candidate % WindowSize];
  }
  if (best.length < MinMatch)
    best.length = 0;
  return best;
}

static void putVarint(Output *out, size_t value) {
  for (; value >= 128; value >>= 7)
    out->bytes[out->used++] = (uint8_t)(value | 128);
  out->bytes[out->used++] = (uint8_t)value;
}

static void putLiterals(Output *out, const uint8_t *from, size_t count) {
  if (count == 0)
    return;
  putVarint(out, count << 1);
  memcpy(out->bytes + out->used, from, count);
  out->used += count;
}

static void putMatch(Output *out, Match match) {
  putVarint(out, match.length << 1 | 1);
  putVarint(out, match.distance);
}

size_t lzCompress(const uint8_t *data, size_t size, uint8_t *bytes) {
  static MatchFinder finder;
  Output out = {bytes, 0};
  size_t at = 0, literals = 0;
  finderInit(&finder, data, size);
  while (at < size) {
    Match match = finderBest(&finder, at);
    finderInsert(&finder, at);
    if (match.length && at + 1 < size && match.length < 32) {
      Match later = finderBest(&finder, at + 1);
      if (later.length > match.length + 1)
        match.length = 0;
    }
    if (match.length == 0) {
      at++;
      continue;
    }
    putLiterals(&out, data + literals, at - literals);
    putMatch(&out, match);
    for (size_t i = 1; i < match.length; i++)
      finderInsert(&finder, at + i);
    at += match.length;
    literals = at;
  }
  putLiterals(&out, data + literals, size - literals);
  return out.used;
}

static size_t getVarint(const uint8_t **at) {
  size_t value = 0;
  unsigned shift = 0;
  while (**at & 128) {
    value |= (size_t)(*(*at)++ & 127) << shift;
    shift += 7;
  }
  return value | (size_t)*(*at)++ << shift;
}

size_t lzDecompress(const uint8_t *bytes, size_t size, uint8_t *data) {
  const uint8_t *at = bytes, *end = bytes + size;
  size_t used = 0;
  while (at < end) {
    size_t token = getVarint(&at), count = token >> 1;
    if (token & 1) {
      size_t distance = getVarint(&at);
      for (size_t i = 0; i < count; i++, used++)
        data[used] = data[used - distance];
    } else {
      memcpy(data + used, at, count);
      at += count;
      used += count;
    }
  }
  return used;
}

static uint32_t nextRandom(uint32_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 17;
  *state ^= *state << 5;
  return *state;
}

static void fillProse(uint8_t *data, size_t size) {
  static const char *const Words[] = {"register ", "the ",   "loop ",      "is ",     "invariant ",
                                      "hoisted ",  "value ", "dominates ", "block, ", "phi.\n"};
  uint32_t state = 2463534242u;
  for (size_t at = 0; at < size;) {
    const char *word = Words[nextRandom(&state) % 10];
    while (*word && at < size)
      data[at++] = (uint8_t)*word++;
    if (at < size && nextRandom(&state) % 5 == 0)
      data[at++] = (uint8_t)('0' + nextRandom(&state) % 10);
  }
}

static void fillTable(uint8_t *data, size_t size) {
  uint32_t state = 99;
  for (size_t at = 0; at < size; at++)
    data[at] = at % 16 < 10 ? (uint8_t)(at / 16 >> (at % 4)) : (uint8_t)(nextRandom(&state) & 15);
}

static void fillNoise(uint8_t *data, size_t size) {
  uint32_t state = 1;
  for (size_t at = 0; at < size; at++)
    data[at] = (uint8_t)nextRandom(&state);
}

int main(void) {
  static void (*const Fill[])(uint8_t *, size_t) = {fillProse, fillTable, fillNoise};
  uint8_t *data = malloc(InputSize), *packed = malloc(2 * InputSize), *back = malloc(InputSize);
  if (!data || !packed || !back)
    return 1;
  uint32_t hash = 5381;
  for (size_t kind = 0; kind < sizeof Fill / sizeof *Fill; kind++) {
    Fill[kind](data, InputSize);
    size_t size = lzCompress(data, InputSize, packed);
    size_t restored = lzDecompress(packed, size, back);
    int same = restored == InputSize && memcmp(data, back, InputSize) == 0;
    for (size_t i = 0; i < size; i++)
      hash = hash * 33 + packed[i];
    printf("lz77 %zu -> %zu %s\n", (size_t)InputSize, size, same ? "ok" : "DIFFERS");
  }
  printf("hash %08x\n", hash);
  free(data);
  free(packed);
  free(back);
  return 0;
}
