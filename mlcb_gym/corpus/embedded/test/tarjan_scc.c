// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Analyses of a control-flow graph: components, topological order, dominators, loops, liveness.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { Nodes = 2500, MaxEdges = Nodes * 3, Words = Nodes / 64 + 1 };

typedef struct {
  int first[Nodes], count; // heads of the lists of outgoing edges
  int target[MaxEdges], next[MaxEdges];
} Graph;

typedef struct {
  int index[Nodes], low[Nodes], stack[Nodes], component[Nodes];
  uint8_t onStack[Nodes];
  int nextIndex, top, components;
} Tarjan;

typedef struct {
  int order[Nodes], number[Nodes], count; // reverse post-order from node 0
  int dominator[Nodes];
} Dominators;

typedef struct {
  uint64_t used[Words], defined[Words], in[Words];
} Liveness;

static uint64_t state;

static uint32_t nextRandom(void) {
  state += 0x9e3779b97f4a7c15u;
  uint64_t z = (state ^ state >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return (uint32_t)(z >> 32);
}

static void addEdge(Graph *graph, int from, int to) {
  if (to < 0 || to >= Nodes || graph->count == MaxEdges)
    return;
  graph->target[graph->count] = to;
  graph->next[graph->count] = graph->first[from];
  graph->first[from] = graph->count++;
}

static void buildGraph(Graph *graph, uint64_t seed, uint32_t backward) {
  state = seed;
  graph->count = 0;
  memset(graph->first, 0xff, sizeof graph->first);
  for (int node = 0; node < Nodes; node++) {
    uint32_t r = nextRandom();
    if (r % 64 != 0)
      addEdge(graph, node, node + 1);
    if (r >> 8 & 1)
      addEdge(graph, node, node + 1 + (int)(r >> 12 & 31));
    if (nextRandom() % 100 < backward)
      addEdge(graph, node, node - (int)(nextRandom() % 40));
  }
}

static void connect(Tarjan *t, const Graph *graph, int node) {
  t->index[node] = t->low[node] = t->nextIndex++;
  t->stack[t->top++] = node;
  t->onStack[node] = 1;
  for (int e = graph->first[node]; e >= 0; e = graph->next[e]) {
    int to = graph->target[e];
    if (t->index[to] < 0) {
      connect(t, graph, to);
      t->low[node] = t->low[to] < t->low[node] ? t->low[to] : t->low[node];
    } else if (t->onStack[to] && t->index[to] < t->low[node]) {
      t->low[node] = t->index[to];
    }
  }
  if (t->low[node] != t->index[node])
    return;
  int member;
  do {
    member = t->stack[--t->top];
    t->onStack[member] = 0;
    t->component[member] = t->components;
  } while (member != node);
  t->components++;
}

void findComponents(Tarjan *t, const Graph *graph) {
  memset(t, 0, sizeof *t);
  memset(t->index, 0xff, sizeof t->index);
  for (int node = 0; node < Nodes; node++)
    if (t->index[node] < 0)
      connect(t, graph, node);
}

// Tarjan numbers components in reverse topological order.
static int breaksOrder(const Tarjan *t, const Graph *graph) {
  for (int node = 0; node < Nodes; node++)
    for (int e = graph->first[node]; e >= 0; e = graph->next[e])
      if (t->component[graph->target[e]] > t->component[node])
        return 1;
  return 0;
}

static void reversePostOrder(Dominators *d, const Graph *graph) {
  static int path[Nodes], edge[Nodes];
  int top = 0, place = Nodes;
  memset(d->number, 0xff, sizeof d->number);
  path[top] = 0;
  edge[top++] = graph->first[0];
  d->number[0] = Nodes;
  while (top > 0) {
    int e = edge[top - 1];
    if (e < 0) {
      d->order[--place] = path[--top];
      continue;
    }
    edge[top - 1] = graph->next[e];
    int to = graph->target[e];
    if (d->number[to] < 0) {
      d->number[to] = Nodes;
      path[top] = to;
      edge[top++] = graph->first[to];
    }
  }
  d->count = Nodes - place;
  memmove(d->order, d->order + place, (size_t)d->count * sizeof(int));
  for (int i = 0; i < d->count; i++)
    d->number[d->order[i]] = i;
}

static int commonDominator(const Dominators *d, int a, int b) {
  while (a != b) {
    while (d->number[a] > d->number[b])
      a = d->dominator[a];
    while (d->number[b] > d->number[a])
      b = d->dominator[b];
  }
  return a;
}

static void reverseGraph(const Graph *graph, Graph *reversed) {
  reversed->count = 0;
  memset(reversed->first, 0xff, sizeof reversed->first);
  for (int node = 0; node < Nodes; node++)
    for (int e = graph->first[node]; e >= 0; e = graph->next[e])
      addEdge(reversed, graph->target[e], node);
}

static int dominatorOf(const Dominators *d, const Graph *reversed, int node) {
  int best = -1;
  for (int e = reversed->first[node]; e >= 0; e = reversed->next[e]) {
    int from = reversed->target[e];
    if (d->number[from] >= 0 && d->dominator[from] >= 0)
      best = best < 0 ? from : commonDominator(d, best, from);
  }
  return best;
}

// Cooper, Harvey and Kennedy's iteration. Returns the rounds it took.
int findDominators(Dominators *d, const Graph *graph) {
  static Graph reversed;
  reverseGraph(graph, &reversed);
  reversePostOrder(d, graph);
  memset(d->dominator, 0xff, sizeof d->dominator);
  d->dominator[0] = 0;
  for (int rounds = 1, changed = 1;; rounds++, changed = 0) {
    for (int i = 1; i < d->count; i++) {
      int best = dominatorOf(d, &reversed, d->order[i]);
      changed |= best != d->dominator[d->order[i]];
      d->dominator[d->order[i]] = best;
    }
    if (!changed || rounds == 50)
      return rounds;
  }
}

static int dominates(const Dominators *d, int a, int b) {
  while (d->number[b] > d->number[a])
    b = d->dominator[b];
  return a == b;
}

int countLoops(const Dominators *d, const Graph *graph) {
  int loops = 0;
  for (int i = 0; i < d->count; i++)
    for (int e = graph->first[d->order[i]]; e >= 0; e = graph->next[e])
      loops += dominates(d, graph->target[e], d->order[i]);
  return loops;
}

// Each node uses and defines a few of Nodes variables; iterates backwards to the fixed point.
int solveLiveness(Liveness *all, const Dominators *d, const Graph *graph) {
  memset(all, 0, sizeof *all * Nodes);
  for (int node = 0; node < Nodes; node++) {
    uint32_t use = nextRandom() % Nodes, define = nextRandom() % Nodes;
    all[node].used[use / 64] |= (uint64_t)1 << use % 64;
    all[node].defined[define / 64] |= (uint64_t)1 << define % 64;
  }
  for (int rounds = 1, changed = 1;; rounds++, changed = 0) {
    for (int i = d->count - 1; i >= 0; i--) {
      Liveness *live = &all[d->order[i]];
      for (int w = 0; w < Words; w++) {
        uint64_t out = 0;
        for (int e = graph->first[d->order[i]]; e >= 0; e = graph->next[e])
          out |= all[graph->target[e]].in[w];
        uint64_t in = live->used[w] | (out & ~live->defined[w]);
        changed |= in != live->in[w];
        live->in[w] = in;
      }
    }
    if (!changed || rounds == 50)
      return rounds;
  }
}

static uint32_t hashInts(uint32_t hash, const int *values, int count) {
  for (int i = 0; i < count; i++)
    hash = (hash ^ (uint32_t)values[i]) * 16777619u;
  return hash;
}

int main(void) {
  static Graph graph;
  static Tarjan tarjan;
  static Dominators dominators;
  static Liveness liveness[Nodes];
  int components = 0, broken = 0, rounds = 0, loops = 0;
  uint32_t hash = 2166136261u;
  for (uint32_t round = 0; round < 14; round++) {
    buildGraph(&graph, round, 2 + 3 * round);
    findComponents(&tarjan, &graph);
    components += tarjan.components;
    broken += breaksOrder(&tarjan, &graph);
    rounds += findDominators(&dominators, &graph);
    loops += countLoops(&dominators, &graph);
    rounds += solveLiveness(liveness, &dominators, &graph);
    hash = hashInts(hash, tarjan.component, Nodes);
    hash = hashInts(hash, dominators.dominator, Nodes);
    for (int w = 0; w < Words; w++)
      hash = hash * 31 + (uint32_t)(liveness[0].in[w] ^ liveness[0].in[w] >> 32);
  }
  printf("graph components %d broken %d rounds %d loops %d hash %08x\n", components, broken, rounds, loops, hash);
  return 0;
}
