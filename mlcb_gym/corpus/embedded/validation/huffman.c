// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Canonical Huffman coding: code lengths from a heap, a bit writer, a table-driven decoder.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { Symbols = 256, MaxLength = 15, InputSize = 250000, Rounds = 8 };

typedef struct {
  uint64_t weight;
  int left, right; // -1 for a leaf
} TreeNode;

typedef struct {
  uint16_t code[Symbols];
  uint8_t length[Symbols];
} CodeTable;

typedef struct {
  uint8_t *bytes;
  size_t at;
  uint32_t buffer;
  unsigned filled;
} BitWriter;

typedef struct {
  const uint8_t *bytes;
  size_t at, size;
  uint32_t buffer;
  unsigned filled;
} BitReader;

typedef struct {
  int items[Symbols];
  int count;
  const TreeNode *nodes;
} NodeHeap;

static int lighter(const NodeHeap *heap, int a, int b) {
  const TreeNode *x = &heap->nodes[a], *y = &heap->nodes[b];
  return x->weight != y->weight ? x->weight < y->weight : a < b;
}

static void heapPush(NodeHeap *heap, int node) {
  int at = heap->count++;
  for (; at > 0 && lighter(heap, node, heap->items[(at - 1) / 2]); at = (at - 1) / 2)
    heap->items[at] = heap->items[(at - 1) / 2];
  heap->items[at] = node;
}

static int heapPop(NodeHeap *heap) {
  int top = heap->items[0], last = heap->items[--heap->count], at = 0;
  for (int child; (child = 2 * at + 1) < heap->count; at = child) {
    if (child + 1 < heap->count && lighter(heap, heap->items[child + 1], heap->items[child]))
      child++;
    if (!lighter(heap, heap->items[child], last))
      break;
    heap->items[at] = heap->items[child];
  }
  heap->items[at] = last;
  return top;
}

static void assignDepths(const TreeNode *nodes, int at, unsigned depth, uint8_t *lengths) {
  if (nodes[at].left < 0) {
    lengths[at] = (uint8_t)(depth ? depth : 1);
    return;
  }
  assignDepths(nodes, nodes[at].left, depth + 1, lengths);
  assignDepths(nodes, nodes[at].right, depth + 1, lengths);
}

static unsigned longest(const uint8_t *lengths) {
  unsigned most = 0;
  for (int s = 0; s < Symbols; s++)
    if (lengths[s] > most)
      most = lengths[s];
  return most;
}

static void buildLengths(const uint64_t *counts, uint8_t *lengths) {
  TreeNode nodes[2 * Symbols];
  NodeHeap heap = {.count = 0, .nodes = nodes};
  memset(lengths, 0, Symbols);
  for (int s = 0; s < Symbols; s++) {
    nodes[s] = (TreeNode){counts[s], -1, -1};
    if (counts[s])
      heapPush(&heap, s);
  }
  int next = Symbols;
  while (heap.count > 1) {
    int a = heapPop(&heap), b = heapPop(&heap);
    nodes[next] = (TreeNode){nodes[a].weight + nodes[b].weight, a, b};
    heapPush(&heap, next++);
  }
  if (heap.count)
    assignDepths(nodes, heap.items[0], 0, lengths);
}

// Flattens the counts until no code is longer than the format allows.
static void limitLengths(uint64_t *counts, uint8_t *lengths) {
  buildLengths(counts, lengths);
  while (longest(lengths) > MaxLength) {
    for (int s = 0; s < Symbols; s++)
      if (counts[s])
        counts[s] = counts[s] / 2 + 1;
    buildLengths(counts, lengths);
  }
}

static void assignCodes(CodeTable *table) {
  uint16_t next = 0;
  for (unsigned length = 1; length <= MaxLength; length++, next = (uint16_t)(next << 1))
    for (int s = 0; s < Symbols; s++)
      if (table->length[s] == length)
        table->code[s] = next++;
}

static void putBits(BitWriter *writer, uint32_t bits, unsigned count) {
  writer->buffer = writer->buffer << count | bits;
  for (writer->filled += count; writer->filled >= 8; writer->filled -= 8)
    writer->bytes[writer->at++] = (uint8_t)(writer->buffer >> (writer->filled - 8));
}

static uint32_t peekBits(BitReader *reader) {
  while (reader->filled < MaxLength) {
    uint8_t byte = reader->at < reader->size ? reader->bytes[reader->at] : 0;
    reader->at++;
    reader->buffer = reader->buffer << 8 | byte;
    reader->filled += 8;
  }
  return reader->buffer >> (reader->filled - MaxLength) & ((1u << MaxLength) - 1);
}

size_t huffmanEncode(const uint8_t *data, size_t size, uint8_t *out) {
  static CodeTable table;
  uint64_t counts[Symbols] = {0};
  for (size_t i = 0; i < size; i++)
    counts[data[i]]++;
  limitLengths(counts, table.length);
  assignCodes(&table);
  BitWriter writer = {out, 0, 0, 0};
  for (int s = 0; s < Symbols; s++)
    putBits(&writer, table.length[s], 4);
  for (size_t i = 0; i < size; i++)
    putBits(&writer, table.code[data[i]], table.length[data[i]]);
  putBits(&writer, 0, 7);
  return writer.at;
}

void huffmanDecode(const uint8_t *packed, size_t packedSize, uint8_t *data, size_t size) {
  static uint8_t symbolAt[1 << MaxLength];
  CodeTable table;
  BitReader reader = {packed, Symbols / 2, packedSize, 0, 0};
  for (int s = 0; s < Symbols; s++)
    table.length[s] = s & 1 ? packed[s / 2] & 15 : packed[s / 2] >> 4;
  assignCodes(&table);
  for (int s = 0; s < Symbols; s++)
    if (table.length[s]) {
      unsigned free = MaxLength - table.length[s];
      memset(symbolAt + ((size_t)table.code[s] << free), s, (size_t)1 << free);
    }
  for (size_t i = 0; i < size; i++) {
    data[i] = symbolAt[peekBits(&reader)];
    reader.filled -= table.length[data[i]];
  }
}

static void fillSkewed(uint8_t *data, size_t size, unsigned skew) {
  uint32_t state = 1 + skew;
  for (size_t i = 0; i < size; i++) {
    unsigned value = 0;
    for (unsigned k = 0; k < skew; k++) {
      state = state * 1664525u + 1013904223u;
      value += state >> 24;
    }
    data[i] = (uint8_t)(skew > 5 && state >> 30 ? 'e' : value / skew);
  }
}

int main(void) {
  uint8_t *data = malloc(InputSize), *packed = malloc(2 * InputSize), *back = malloc(InputSize);
  if (!data || !packed || !back)
    return 1;
  uint32_t hash = 0;
  size_t total = 0;
  int wrong = 0;
  for (unsigned round = 1; round <= Rounds; round++) {
    fillSkewed(data, InputSize, round);
    size_t size = huffmanEncode(data, InputSize, packed);
    huffmanDecode(packed, size, back, InputSize);
    wrong += memcmp(data, back, InputSize) != 0;
    total += size;
    for (size_t i = 0; i < size; i++)
      hash = hash * 31 + packed[i];
  }
  printf("huffman %d -> %zu wrong %d hash %08x\n", Rounds * InputSize, total, wrong, hash);
  free(data);
  free(packed);
  free(back);
  return 0;
}
