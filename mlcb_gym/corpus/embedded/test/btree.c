// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A B-tree of small pages with splits, borrows and merges, checked against a skip list.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { Degree = 8, MaxKeys = 2 * Degree - 1, MaxHeight = 12, Operations = 200000 };

typedef struct Page {
  int count, leaf;
  uint32_t keys[MaxKeys];
  uint32_t values[MaxKeys];
  struct Page *children[MaxKeys + 1];
} Page;

typedef struct SkipNode {
  uint32_t key, value;
  struct SkipNode *next[MaxHeight];
} SkipNode;

typedef struct {
  SkipNode *head;
  uint32_t seed;
} SkipList;

typedef void (*Visitor)(void *context, uint32_t key, uint32_t value);

static void *allocate(size_t size) {
  void *memory = calloc(1, size);
  if (!memory)
    abort();
  return memory;
}

static Page *newPage(int leaf) {
  Page *page = allocate(sizeof *page);
  page->leaf = leaf;
  return page;
}

static int lowerBound(const Page *page, uint32_t key) {
  int low = 0, high = page->count;
  while (low < high) {
    int middle = (low + high) / 2;
    if (page->keys[middle] < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static int holds(const Page *page, int at, uint32_t key) { return at < page->count && page->keys[at] == key; }

// Opens (shift 1) or closes (shift -1) a gap among the keys at `at`.
static void shiftKeys(Page *page, int at, int shift) {
  int from = shift > 0 ? at : at + 1;
  size_t moved = (size_t)(page->count - from) * sizeof page->keys[0];
  memmove(&page->keys[from + shift], &page->keys[from], moved);
  memmove(&page->values[from + shift], &page->values[from], moved);
}

static void shiftChildren(Page *page, int at, int shift) {
  int from = shift > 0 ? at : at + 1;
  memmove(&page->children[from + shift], &page->children[from],
          (size_t)(page->count + 1 - from) * sizeof page->children[0]);
}

static void setKey(Page *to, int at, const Page *from, int source) {
  to->keys[at] = from->keys[source];
  to->values[at] = from->values[source];
}

static void splitChild(Page *parent, int at) {
  Page *left = parent->children[at], *right = newPage(left->leaf);
  right->count = Degree - 1;
  memcpy(right->keys, left->keys + Degree, (Degree - 1) * sizeof left->keys[0]);
  memcpy(right->values, left->values + Degree, (Degree - 1) * sizeof left->values[0]);
  memcpy(right->children, left->children + Degree, Degree * sizeof left->children[0]);
  left->count = Degree - 1;
  shiftChildren(parent, at + 1, 1);
  shiftKeys(parent, at, 1);
  parent->children[at + 1] = right;
  setKey(parent, at, left, Degree - 1);
  parent->count++;
}

int treeInsert(Page **root, uint32_t key, uint32_t value) {
  if ((*root)->count == MaxKeys) {
    Page *taller = newPage(0);
    taller->children[0] = *root;
    splitChild(taller, 0);
    *root = taller;
  }
  for (Page *page = *root;;) {
    int at = lowerBound(page, key);
    if (holds(page, at, key)) {
      page->values[at] = value;
      return 0;
    }
    if (page->leaf) {
      shiftKeys(page, at, 1);
      page->keys[at] = key;
      page->values[at] = value;
      page->count++;
      return 1;
    }
    if (page->children[at]->count == MaxKeys) {
      splitChild(page, at);
      continue;
    }
    page = page->children[at];
  }
}

const uint32_t *treeFind(const Page *page, uint32_t key) {
  for (;;) {
    int at = lowerBound(page, key);
    if (holds(page, at, key))
      return &page->values[at];
    if (page->leaf)
      return NULL;
    page = page->children[at];
  }
}

static void borrowFromLeft(Page *parent, int at) {
  Page *page = parent->children[at], *left = parent->children[at - 1];
  shiftKeys(page, 0, 1);
  shiftChildren(page, 0, 1);
  setKey(page, 0, parent, at - 1);
  setKey(parent, at - 1, left, left->count - 1);
  page->children[0] = left->children[left->count];
  page->count++;
  left->count--;
}

static void borrowFromRight(Page *parent, int at) {
  Page *page = parent->children[at], *right = parent->children[at + 1];
  setKey(page, page->count, parent, at);
  setKey(parent, at, right, 0);
  page->children[++page->count] = right->children[0];
  shiftKeys(right, 0, -1);
  shiftChildren(right, 0, -1);
  right->count--;
}

static void mergeChildren(Page *parent, int at) {
  Page *left = parent->children[at], *right = parent->children[at + 1];
  setKey(left, left->count, parent, at);
  for (int i = 0; i < right->count; i++)
    setKey(left, left->count + 1 + i, right, i);
  memcpy(left->children + left->count + 1, right->children, (size_t)(right->count + 1) * sizeof right->children[0]);
  left->count += right->count + 1;
  shiftKeys(parent, at, -1);
  shiftChildren(parent, at + 1, -1);
  parent->count--;
  free(right);
}

// Makes sure that a page can lose a key before the walk enters it; returns where it is now.
static int refill(Page *parent, int at) {
  if (parent->children[at]->count >= Degree)
    return at;
  if (at > 0 && parent->children[at - 1]->count >= Degree) {
    borrowFromLeft(parent, at);
  } else if (at < parent->count && parent->children[at + 1]->count >= Degree) {
    borrowFromRight(parent, at);
  } else {
    at = at < parent->count ? at : at - 1;
    mergeChildren(parent, at);
  }
  return at;
}

static int eraseBelow(Page *page, uint32_t key);

static int eraseInner(Page *page, int at) {
  uint32_t key = page->keys[at];
  for (int side = 0; side < 2; side++) {
    Page *child = page->children[at + side], *source = child;
    if (child->count < Degree)
      continue;
    while (!source->leaf)
      source = source->children[side ? 0 : source->count];
    setKey(page, at, source, side ? 0 : source->count - 1);
    return eraseBelow(child, page->keys[at]);
  }
  mergeChildren(page, at);
  return eraseBelow(page->children[at], key);
}

static int eraseBelow(Page *page, uint32_t key) {
  int at = lowerBound(page, key);
  if (!page->leaf)
    return holds(page, at, key) ? eraseInner(page, at) : eraseBelow(page->children[refill(page, at)], key);
  if (!holds(page, at, key))
    return 0;
  shiftKeys(page, at, -1);
  page->count--;
  return 1;
}

int treeErase(Page **root, uint32_t key) {
  int erased = eraseBelow(*root, key);
  if ((*root)->count == 0 && !(*root)->leaf) {
    Page *old = *root;
    *root = old->children[0];
    free(old);
  }
  return erased;
}

void treeVisit(const Page *page, Visitor visit, void *context) {
  for (int i = 0; i <= page->count; i++) {
    if (!page->leaf)
      treeVisit(page->children[i], visit, context);
    if (i < page->count)
      visit(context, page->keys[i], page->values[i]);
  }
}

static void treeFree(Page *page) {
  for (int i = 0; i <= page->count && !page->leaf; i++)
    treeFree(page->children[i]);
  free(page);
}

static SkipNode *skipSearch(const SkipList *list, uint32_t key, SkipNode ***links) {
  SkipNode *at = list->head;
  for (int level = MaxHeight - 1; level >= 0; level--) {
    while (at->next[level] && at->next[level]->key < key)
      at = at->next[level];
    links[level] = &at->next[level];
  }
  return at->next[0] && at->next[0]->key == key ? at->next[0] : NULL;
}

void skipInsert(SkipList *list, uint32_t key, uint32_t value) {
  SkipNode **links[MaxHeight], *found = skipSearch(list, key, links);
  if (found) {
    found->value = value;
    return;
  }
  int height = 1;
  list->seed = list->seed * 1664525u + 1013904223u;
  for (uint32_t coin = list->seed >> 8; (coin & 3) == 0 && height < MaxHeight; coin >>= 2)
    height++;
  SkipNode *node = allocate(sizeof *node);
  node->key = key;
  node->value = value;
  for (int level = 0; level < height; level++) {
    node->next[level] = *links[level];
    *links[level] = node;
  }
}

int skipErase(SkipList *list, uint32_t key) {
  SkipNode **links[MaxHeight], *found = skipSearch(list, key, links);
  for (int level = 0; found && level < MaxHeight && *links[level] == found; level++)
    *links[level] = found->next[level];
  free(found);
  return found != NULL;
}

typedef struct {
  const SkipNode *expected;
  uint32_t hash;
  int count, differing;
} Comparison;

static void compareNext(void *context, uint32_t key, uint32_t value) {
  Comparison *c = context;
  c->differing += !c->expected || c->expected->key != key || c->expected->value != value;
  c->expected = c->expected ? c->expected->next[0] : NULL;
  c->hash = (c->hash ^ (key * 31 + value)) * 16777619u;
  c->count++;
}

int main(void) {
  Page *root = newPage(1);
  SkipList list = {allocate(sizeof(SkipNode)), 9};
  uint32_t seed = 2024, found = 0;
  int differing = 0;
  for (uint32_t i = 0; i < Operations; i++) {
    seed = seed * 1664525u + 1013904223u;
    uint32_t key = 1 + (seed >> 12) % 9000;
    if ((seed >> 8 & 15) < (i < Operations / 2 ? 9u : 5u)) {
      treeInsert(&root, key, i);
      skipInsert(&list, key, i);
    } else if (seed & 128) {
      differing += treeErase(&root, key) != skipErase(&list, key);
    } else {
      found += treeFind(root, key) != NULL;
    }
  }
  Comparison comparison = {list.head->next[0], 2166136261u, 0, differing};
  treeVisit(root, compareNext, &comparison);
  printf("btree count %d found %u differing %d hash %08x\n", comparison.count, found,
         comparison.differing + (comparison.expected != NULL), comparison.hash);
  treeFree(root);
  for (SkipNode *node = list.head, *next; node; node = next) {
    next = node->next[0];
    free(node);
  }
  return 0;
}
