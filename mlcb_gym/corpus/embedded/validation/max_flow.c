// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dinic's maximum flow on layered networks, its minimum cut, and bipartite matching by flow.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MaxNodes = 1600, MaxArcs = 60000, Infinite = 1 << 30 };

typedef struct {
  int to, next; // next: the arc after this one at the same node, or -1
  int room;     // what can still flow; the reverse arc is at index ^ 1
} Arc;

typedef struct {
  Arc arcs[MaxArcs];
  int first[MaxNodes], level[MaxNodes], cursor[MaxNodes];
  int nodes, arcCount;
} Network;

static uint32_t state;

static int randomBelow(int limit) {
  state = state * 747796405u + 2891336453u;
  uint32_t word = ((state >> ((state >> 28) + 4)) ^ state) * 277803737u;
  return (int)((word >> 22 ^ word) % (uint32_t)limit);
}

static void networkInit(Network *network, int nodes) {
  network->nodes = nodes;
  network->arcCount = 0;
  memset(network->first, 0xff, sizeof network->first);
}

static void addHalf(Network *network, int from, int to, int room) {
  network->arcs[network->arcCount] = (Arc){to, network->first[from], room};
  network->first[from] = network->arcCount++;
}

static void addArc(Network *network, int from, int to, int room) {
  addHalf(network, from, to, room);
  addHalf(network, to, from, 0);
}

static int buildLevels(Network *network, int source, int sink) {
  static int queue[MaxNodes];
  int head = 0, tail = 0;
  memset(network->level, 0xff, sizeof network->level);
  network->level[source] = 0;
  queue[tail++] = source;
  while (head < tail) {
    int node = queue[head++];
    for (int a = network->first[node]; a >= 0; a = network->arcs[a].next) {
      const Arc *arc = &network->arcs[a];
      if (arc->room > 0 && network->level[arc->to] < 0) {
        network->level[arc->to] = network->level[node] + 1;
        queue[tail++] = arc->to;
      }
    }
  }
  return network->level[sink] >= 0;
}

static int smaller(int a, int b) { return a < b ? a : b; }

static int push(Network *network, int node, int sink, int limit) {
  if (node == sink)
    return limit;
  int sent = 0;
  for (int *a = &network->cursor[node]; *a >= 0; *a = network->arcs[*a].next) {
    Arc *arc = &network->arcs[*a];
    if (arc->room <= 0 || network->level[arc->to] != network->level[node] + 1)
      continue;
    int pushed = push(network, arc->to, sink, smaller(limit - sent, arc->room));
    arc->room -= pushed;
    network->arcs[*a ^ 1].room += pushed;
    sent += pushed;
    if (sent == limit)
      return sent;
  }
  return sent;
}

int maxFlow(Network *network, int source, int sink, int *phases) {
  int total = 0;
  for (*phases = 0; buildLevels(network, source, sink); ++*phases) {
    memcpy(network->cursor, network->first, sizeof network->cursor);
    total += push(network, source, sink, Infinite);
  }
  return total;
}

// After maxFlow the nodes with a level are those on the source's side.
int cutCapacity(const Network *network) {
  int capacity = 0;
  for (int node = 0; node < network->nodes; node++)
    for (int a = network->first[node]; a >= 0 && network->level[node] >= 0; a = network->arcs[a].next)
      if (!(a & 1) && network->level[network->arcs[a].to] < 0)
        capacity += network->arcs[a ^ 1].room;
  return capacity;
}

static int conserves(const Network *network, int source, int sink) {
  static int balance[MaxNodes];
  memset(balance, 0, sizeof balance);
  for (int a = 0; a < network->arcCount; a += 2) {
    int flow = network->arcs[a ^ 1].room;
    balance[network->arcs[a ^ 1].to] -= flow;
    balance[network->arcs[a].to] += flow;
  }
  for (int node = 0; node < network->nodes; node++)
    if (balance[node] != 0 && node != source && node != sink)
      return 0;
  return balance[source] == -balance[sink];
}

static void buildGrid(Network *network, int width, int height) {
  int nodes = width * height;
  networkInit(network, nodes + 2);
  for (int y = 0; y < height; y++) {
    addArc(network, nodes, y * width, 60 + randomBelow(40));
    addArc(network, y * width + width - 1, nodes + 1, 60 + randomBelow(40));
    for (int x = 0; x < width; x++) {
      int node = y * width + x;
      if (x + 1 < width)
        addArc(network, node, node + 1, 1 + randomBelow(90));
      if (y + 1 < height) {
        addArc(network, node, node + width, randomBelow(30));
        addArc(network, node + width, node, randomBelow(30));
      }
    }
  }
}

static void buildBipartite(Network *network, int side, int degree) {
  networkInit(network, 2 * side + 2);
  for (int i = 0; i < side; i++) {
    addArc(network, 2 * side, i, 1);
    addArc(network, side + i, 2 * side + 1, 1);
    for (int d = 0; d < degree; d++) {
      int low = randomBelow(side), high = randomBelow(side);
      addArc(network, i, side + smaller(low, high), 1);
    }
  }
}

static void buildLayers(Network *network, int layers, int width) {
  networkInit(network, layers * width + 2);
  for (int i = 0; i < width; i++) {
    addArc(network, layers * width, i, Infinite / 4096);
    addArc(network, (layers - 1) * width + i, layers * width + 1, Infinite / 4096);
  }
  for (int layer = 0; layer + 1 < layers; layer++)
    for (int i = 0; i < width; i++)
      for (int k = 0; k < 6; k++) {
        int to = (layer + 1) * width + randomBelow(width);
        addArc(network, layer * width + i, to, 1 + randomBelow(1000));
      }
}

int main(void) {
  static Network network;
  uint32_t hash = 0;
  int wrong = 0, phases, allPhases = 0;
  for (uint32_t round = 0; round < 24; round++) {
    state = round * 7919 + 1;
    switch (round % 3) {
    case 0: buildGrid(&network, 50, 30); break;
    case 1: buildBipartite(&network, 700, 3); break;
    default: buildLayers(&network, 20, 60);
    }
    int source = network.nodes - 2, sink = network.nodes - 1;
    int flow = maxFlow(&network, source, sink, &phases);
    wrong += flow != cutCapacity(&network) || !conserves(&network, source, sink);
    allPhases += phases;
    hash = hash * 31 + (uint32_t)flow;
  }
  printf("flow phases %d wrong %d hash %08x\n", allPhases, wrong, hash);
  return 0;
}
