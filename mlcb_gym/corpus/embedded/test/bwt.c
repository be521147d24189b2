// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A block compressor: suffix array by doubling, Burrows-Wheeler, move-to-front, runs, range coder.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BlockSize = 12000, Blocks = 24, RunLimit = 255 };

typedef struct {
  int rank[BlockSize], order[BlockSize], spare[BlockSize], counts[BlockSize > 256 ? BlockSize : 256];
} Sorter;

// Adaptive order-0 model of bytes, as a Fenwick tree of frequencies.
typedef struct {
  uint32_t tree[257];
  uint32_t total;
} Model;

typedef struct {
  uint32_t low, range;
  uint8_t *bytes;
  size_t used;
  uint32_t code; // the decoder's
} Coder;

static void countingSort(Sorter *s, const int *from, int *to, int size, int classes) {
  memset(s->counts, 0, (size_t)classes * sizeof(int));
  for (int i = 0; i < size; i++)
    s->counts[s->rank[i]]++;
  for (int c = 1; c < classes; c++)
    s->counts[c] += s->counts[c - 1];
  for (int i = size - 1; i >= 0; i--)
    to[--s->counts[s->rank[from[i]]]] = from[i];
}

static int wrapAdd(int at, int step, int size) { return (at + step) % size; }

// Sorts the rotations of the block.
static void sortRotations(Sorter *s, const uint8_t *data, int size) {
  int classes = 256;
  for (int i = 0; i < size; i++) {
    s->rank[i] = data[i];
    s->spare[i] = i;
  }
  countingSort(s, s->spare, s->order, size, classes);
  for (int step = 0; step < size; step = step ? 2 * step : 1) {
    if (step)
      for (int i = 0; i < size; i++)
        s->spare[i] = wrapAdd(s->order[i], size - step, size);
    if (step)
      countingSort(s, s->spare, s->order, size, classes);
    classes = 1;
    s->spare[s->order[0]] = 0;
    for (int i = 1; i < size; i++) {
      int a = s->order[i - 1], b = s->order[i];
      int same = s->rank[a] == s->rank[b] && s->rank[wrapAdd(a, step, size)] == s->rank[wrapAdd(b, step, size)];
      classes += !same;
      s->spare[b] = classes - 1;
    }
    memcpy(s->rank, s->spare, (size_t)size * sizeof(int));
    if (classes == size)
      break;
  }
}

int bwtForward(const uint8_t *data, uint8_t *out, int size) {
  static Sorter sorter;
  int primary = 0;
  sortRotations(&sorter, data, size);
  for (int i = 0; i < size; i++) {
    out[i] = data[wrapAdd(sorter.order[i], size - 1, size)];
    if (sorter.order[i] == 0)
      primary = i;
  }
  return primary;
}

void bwtInverse(const uint8_t *data, uint8_t *out, int size, int primary) {
  static int next[BlockSize];
  int start[257] = {0};
  for (int i = 0; i < size; i++)
    start[data[i] + 1]++;
  for (int c = 0; c < 256; c++)
    start[c + 1] += start[c];
  for (int i = 0; i < size; i++)
    next[start[data[i]]++] = i;
  for (int i = 0, at = next[primary]; i < size; i++, at = next[at])
    out[i] = data[at];
}

void moveToFront(uint8_t *data, int size, int inverse) {
  uint8_t table[256];
  for (int i = 0; i < 256; i++)
    table[i] = (uint8_t)i;
  for (int i = 0; i < size; i++) {
    int place = data[i];
    uint8_t symbol = table[place];
    if (!inverse) {
      symbol = data[i];
      for (place = 0; table[place] != symbol; place++)
        ;
    }
    memmove(table + 1, table, (size_t)place);
    table[0] = symbol;
    data[i] = inverse ? symbol : (uint8_t)place;
  }
}

// A zero is followed by how many more zeros come.
static int encodeRuns(const uint8_t *data, int size, uint8_t *out) {
  int used = 0;
  for (int i = 0; i < size; i++) {
    out[used++] = data[i];
    if (data[i] != 0)
      continue;
    int run = 0;
    while (run < RunLimit && i + 1 < size && data[i + 1] == 0) {
      run++;
      i++;
    }
    out[used++] = (uint8_t)run;
  }
  return used;
}

static int decodeRuns(const uint8_t *data, int size, uint8_t *out) {
  int used = 0;
  for (int i = 0; i < size; i++) {
    out[used++] = data[i];
    if (data[i] != 0)
      continue;
    for (int run = data[++i]; run > 0; run--)
      out[used++] = 0;
  }
  return used;
}

static void modelAdd(Model *model, int symbol, uint32_t amount) {
  model->total += amount;
  for (int i = symbol + 1; i <= 256; i += i & -i)
    model->tree[i] += amount;
}

static uint32_t modelBelow(const Model *model, int symbol) {
  uint32_t sum = 0;
  for (int i = symbol; i > 0; i -= i & -i)
    sum += model->tree[i];
  return sum;
}

static void modelInit(Model *model) {
  memset(model, 0, sizeof *model);
  for (int s = 0; s < 256; s++)
    modelAdd(model, s, 1);
}

static void modelSee(Model *model, int symbol) {
  modelAdd(model, symbol, 24);
  if (model->total < 1 << 15)
    return;
  Model halved;
  memset(&halved, 0, sizeof halved);
  for (int s = 0; s < 256; s++)
    modelAdd(&halved, s, (modelBelow(model, s + 1) - modelBelow(model, s)) / 2 + 1);
  *model = halved;
}

static int modelFind(const Model *model, uint32_t target) {
  int at = 0;
  for (int step = 256; step > 0; step /= 2)
    if (at + step <= 256 && model->tree[at + step] <= target) {
      at += step;
      target -= model->tree[at];
    }
  return at;
}

// Carry-less range coder: the range is cut short where the top byte cannot settle.
static int unsettled(const Coder *coder) {
  return (coder->low ^ (coder->low + coder->range)) >= 1u << 24 && coder->range >= 1u << 16;
}

static void narrow(Coder *coder, uint32_t below, uint32_t width, uint32_t total) {
  coder->range /= total;
  coder->low += below * coder->range;
  coder->range *= width;
}

static void shiftByte(Coder *coder) {
  if ((coder->low ^ (coder->low + coder->range)) >= 1u << 24)
    coder->range = (0u - coder->low) & 0xffff;
  coder->low <<= 8;
  coder->range <<= 8;
}

size_t rangeEncode(const uint8_t *data, int size, uint8_t *out) {
  Coder coder = {0, ~0u, out, 0, 0};
  Model model;
  modelInit(&model);
  for (int i = 0; i < size; i++) {
    uint32_t below = modelBelow(&model, data[i]);
    narrow(&coder, below, modelBelow(&model, data[i] + 1) - below, model.total);
    while (!unsettled(&coder)) {
      out[coder.used++] = (uint8_t)(coder.low >> 24);
      shiftByte(&coder);
    }
    modelSee(&model, data[i]);
  }
  for (int i = 0; i < 4; i++, coder.low <<= 8)
    out[coder.used++] = (uint8_t)(coder.low >> 24);
  return coder.used;
}

void rangeDecode(uint8_t *packed, int size, uint8_t *out) {
  Coder coder = {0, ~0u, packed, 0, 0};
  Model model;
  modelInit(&model);
  for (int i = 0; i < 4; i++)
    coder.code = coder.code << 8 | packed[coder.used++];
  for (int i = 0; i < size; i++) {
    uint32_t target = (coder.code - coder.low) / (coder.range / model.total);
    int symbol = modelFind(&model, target);
    uint32_t below = modelBelow(&model, symbol);
    narrow(&coder, below, modelBelow(&model, symbol + 1) - below, model.total);
    while (!unsettled(&coder)) {
      coder.code = coder.code << 8 | packed[coder.used++];
      shiftByte(&coder);
    }
    out[i] = (uint8_t)symbol;
    modelSee(&model, symbol);
  }
}

static void fillBlock(uint8_t *data, int block) {
  static const char *const Words[] = {"loop", "unroll", "inline", "hoist", "spill", "phi", "gvn", "dce"};
  uint32_t state = (uint32_t)block * 2654435761u + 1;
  for (int at = 0; at < BlockSize;) {
    state = state * 1664525u + 1013904223u;
    if (block % 4 == 3) {
      data[at++] = state >> 29 ? (uint8_t)'.' : (uint8_t)(state >> 16);
      continue;
    }
    const char *word = Words[(state >> 20) % (uint32_t)(2 + 2 * (block % 4))];
    while (*word && at < BlockSize)
      data[at++] = (uint8_t)*word++;
    if (at < BlockSize)
      data[at++] = state >> 30 ? ' ' : '\n';
  }
}

int main(void) {
  static uint8_t data[BlockSize], front[2 * BlockSize], runs[2 * BlockSize], packed[4 * BlockSize], back[2 * BlockSize];
  uint32_t hash = 0;
  size_t total = 0;
  int wrong = 0;
  for (int block = 0; block < Blocks; block++) {
    fillBlock(data, block);
    int primary = bwtForward(data, front, BlockSize);
    moveToFront(front, BlockSize, 0);
    int runSize = encodeRuns(front, BlockSize, runs);
    size_t size = rangeEncode(runs, runSize, packed);
    for (size_t i = 0; i < size; i++)
      hash = hash * 31 + packed[i];
    rangeDecode(packed, runSize, runs);
    int frontSize = decodeRuns(runs, runSize, front);
    moveToFront(front, frontSize, 1);
    bwtInverse(front, back, BlockSize, primary);
    wrong += frontSize != BlockSize || memcmp(data, back, BlockSize) != 0;
    total += size;
  }
  printf("bwt %d -> %zu wrong %d hash %08x\n", Blocks * BlockSize, total, wrong, hash);
  return 0;
}
