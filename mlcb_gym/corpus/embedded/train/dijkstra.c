// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shortest paths on a road-like graph: Dijkstra with an indexed heap, A*, and Bellman-Ford as check.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { Width = 96, Height = 96, Nodes = Width * Height, MaxEdges = Nodes * 6, Unreached = 1 << 29 };

typedef struct {
  int first[Nodes + 1];
  int target[MaxEdges];
  int cost[MaxEdges];
  int edges;
} Graph;

typedef struct {
  int items[Nodes];
  int place[Nodes]; // -1 when absent
  int key[Nodes];
  int size;
} Heap;

typedef int (*Estimate)(int from, int to);

static uint32_t seed = 12345;

static int randomBelow(int limit) {
  seed = seed * 1103515245u + 12345u;
  return (int)((seed >> 8) % (uint32_t)limit);
}

static void addEdge(Graph *graph, int x, int y, int cost) {
  if (x < 0 || x >= Width || y < 0 || y >= Height)
    return;
  graph->target[graph->edges] = y * Width + x;
  graph->cost[graph->edges++] = cost;
}

static void buildGraph(Graph *graph) {
  graph->edges = 0;
  for (int node = 0; node < Nodes; node++) {
    int x = node % Width, y = node / Width;
    graph->first[node] = graph->edges;
    addEdge(graph, x + 1, y, 10 + randomBelow(40));
    addEdge(graph, x - 1, y, 10 + randomBelow(40));
    addEdge(graph, x, y + 1, 10 + randomBelow(40));
    addEdge(graph, x, y - 1, 10 + randomBelow(40));
    if (randomBelow(8) == 0)
      addEdge(graph, x + 3, y + 2, 50 + randomBelow(20));
  }
  graph->first[Nodes] = graph->edges;
}

static void heapPlace(Heap *heap, int at, int node) {
  heap->items[at] = node;
  heap->place[node] = at;
}

static void siftUp(Heap *heap, int at) {
  int node = heap->items[at];
  while (at > 0) {
    int parent = (at - 1) / 2;
    if (heap->key[heap->items[parent]] <= heap->key[node])
      break;
    heapPlace(heap, at, heap->items[parent]);
    at = parent;
  }
  heapPlace(heap, at, node);
}

static void siftDown(Heap *heap, int at) {
  int node = heap->items[at];
  for (;;) {
    int child = 2 * at + 1;
    if (child >= heap->size)
      break;
    if (child + 1 < heap->size && heap->key[heap->items[child + 1]] < heap->key[heap->items[child]])
      child++;
    if (heap->key[heap->items[child]] >= heap->key[node])
      break;
    heapPlace(heap, at, heap->items[child]);
    at = child;
  }
  heapPlace(heap, at, node);
}

static void heapClear(Heap *heap) {
  heap->size = 0;
  for (int i = 0; i < Nodes; i++)
    heap->place[i] = -1;
}

static void heapLower(Heap *heap, int node, int key) {
  heap->key[node] = key;
  if (heap->place[node] < 0)
    heapPlace(heap, heap->size++, node);
  siftUp(heap, heap->place[node]);
}

static int heapPop(Heap *heap) {
  int top = heap->items[0];
  heap->place[top] = -1;
  if (--heap->size > 0) {
    heapPlace(heap, 0, heap->items[heap->size]);
    siftDown(heap, 0);
  }
  return top;
}

static int noEstimate(int from, int to) {
  (void)from;
  (void)to;
  return 0;
}

static int gridEstimate(int from, int to) {
  int dx = abs(from % Width - to % Width), dy = abs(from / Width - to / Width);
  return (dx + dy) * 10;
}

// Returns how many nodes were settled; stops early when `goal` is settled (goal < 0: never).
int searchPaths(const Graph *graph, int source, int goal, Estimate estimate, int *distance) {
  static Heap heap;
  int settled = 0;
  heapClear(&heap);
  for (int i = 0; i < Nodes; i++)
    distance[i] = Unreached;
  distance[source] = 0;
  heapLower(&heap, source, estimate(source, goal));
  while (heap.size > 0) {
    int node = heapPop(&heap);
    settled++;
    if (node == goal)
      break;
    for (int e = graph->first[node]; e < graph->first[node + 1]; e++) {
      int next = graph->target[e], length = distance[node] + graph->cost[e];
      if (length < distance[next]) {
        distance[next] = length;
        heapLower(&heap, next, length + estimate(next, goal));
      }
    }
  }
  return settled;
}

int bellmanFord(const Graph *graph, int source, int *distance) {
  int rounds = 0, changed = 1;
  for (int i = 0; i < Nodes; i++)
    distance[i] = Unreached;
  distance[source] = 0;
  for (; changed; rounds++) {
    changed = 0;
    for (int node = 0; node < Nodes; node++)
      for (int e = graph->first[node]; e < graph->first[node + 1]; e++)
        if (distance[node] + graph->cost[e] < distance[graph->target[e]]) {
          distance[graph->target[e]] = distance[node] + graph->cost[e];
          changed = 1;
        }
  }
  return rounds;
}

int main(void) {
  static Graph graph;
  static int byHeap[Nodes], byRounds[Nodes];
  uint32_t sum = 0;
  int settled = 0, goalSettled = 0, differing = 0;
  buildGraph(&graph);
  for (int trial = 0; trial < 50; trial++) {
    int source = randomBelow(Nodes), goal = randomBelow(Nodes);
    settled += searchPaths(&graph, source, -1, noEstimate, byHeap);
    int expected = byHeap[goal];
    goalSettled += searchPaths(&graph, source, goal, gridEstimate, byHeap);
    sum = sum * 31 + (uint32_t)expected;
    differing += byHeap[goal] < expected;
  }
  searchPaths(&graph, 0, -1, noEstimate, byHeap);
  int rounds = bellmanFord(&graph, 0, byRounds);
  for (int i = 0; i < Nodes; i++)
    differing += byHeap[i] != byRounds[i];
  printf("dijkstra edges %d settled %d goal %d rounds %d differing %d sum %08x\n", graph.edges, settled, goalSettled,
         rounds, differing, sum);
  return 0;
}
