// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An ordered map as a red-black tree with parent links: insert, erase, range scan, invariants.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Node {
  struct Node *child[2], *parent;
  uint32_t key;
  int32_t value;
  int red;
} Node;

typedef struct {
  Node *root;
  Node nil; // the leaf of this tree; always black
  size_t count;
  int (*compare)(uint32_t a, uint32_t b);
} Tree;

static int ascending(uint32_t a, uint32_t b) { return (a > b) - (a < b); }

// Orders by the reversed low byte first: a second shape for the same keys.
static int scrambled(uint32_t a, uint32_t b) {
  uint32_t x = a * 2654435761u, y = b * 2654435761u;
  return (x > y) - (x < y);
}

static void treeInit(Tree *tree, int (*compare)(uint32_t, uint32_t)) {
  tree->nil = (Node){{&tree->nil, &tree->nil}, &tree->nil, 0, 0, 0};
  tree->root = &tree->nil;
  tree->count = 0;
  tree->compare = compare;
}

static void replaceChild(Tree *tree, Node *old, Node *new) {
  if (old->parent == &tree->nil)
    tree->root = new;
  else
    old->parent->child[old == old->parent->child[1]] = new;
  new->parent = old->parent;
}

static void rotate(Tree *tree, Node *node, int side) {
  Node *up = node->child[!side];
  node->child[!side] = up->child[side];
  if (up->child[side] != &tree->nil)
    up->child[side]->parent = node;
  replaceChild(tree, node, up);
  up->child[side] = node;
  node->parent = up;
}

static void fixInsert(Tree *tree, Node *node) {
  while (node->parent->red) {
    Node *grand = node->parent->parent;
    int side = node->parent == grand->child[1];
    Node *uncle = grand->child[!side];
    if (uncle->red) {
      node->parent->red = uncle->red = 0;
      grand->red = 1;
      node = grand;
      continue;
    }
    if (node == node->parent->child[!side]) {
      node = node->parent;
      rotate(tree, node, side);
    }
    node->parent->red = 0;
    grand->red = 1;
    rotate(tree, grand, !side);
  }
  tree->root->red = 0;
}

Node *treeFind(const Tree *tree, uint32_t key) {
  Node *node = tree->root;
  while (node != &tree->nil) {
    int order = tree->compare(key, node->key);
    if (order == 0)
      return node;
    node = node->child[order > 0];
  }
  return NULL;
}

int treeInsert(Tree *tree, uint32_t key, int32_t value) {
  Node *parent = &tree->nil, *at = tree->root;
  int order = 0;
  while (at != &tree->nil) {
    parent = at;
    order = tree->compare(key, at->key);
    if (order == 0) {
      at->value += value;
      return 0;
    }
    at = at->child[order > 0];
  }
  Node *node = malloc(sizeof *node);
  if (!node)
    abort();
  *node = (Node){{&tree->nil, &tree->nil}, parent, key, value, 1};
  if (parent == &tree->nil)
    tree->root = node;
  else
    parent->child[order > 0] = node;
  tree->count++;
  fixInsert(tree, node);
  return 1;
}

static Node *lowest(Tree *tree, Node *node) {
  while (node->child[0] != &tree->nil)
    node = node->child[0];
  return node;
}

static Node *successor(Tree *tree, Node *node) {
  if (node->child[1] != &tree->nil)
    return lowest(tree, node->child[1]);
  while (node == node->parent->child[1])
    node = node->parent;
  return node->parent;
}

static void fixErase(Tree *tree, Node *node) {
  while (node != tree->root && !node->red) {
    int side = node == node->parent->child[1];
    Node *sibling = node->parent->child[!side];
    if (sibling->red) {
      sibling->red = 0;
      node->parent->red = 1;
      rotate(tree, node->parent, side);
      sibling = node->parent->child[!side];
    }
    if (!sibling->child[0]->red && !sibling->child[1]->red) {
      sibling->red = 1;
      node = node->parent;
      continue;
    }
    if (!sibling->child[!side]->red) {
      sibling->child[side]->red = 0;
      sibling->red = 1;
      rotate(tree, sibling, !side);
      sibling = node->parent->child[!side];
    }
    sibling->red = node->parent->red;
    node->parent->red = sibling->child[!side]->red = 0;
    rotate(tree, node->parent, side);
    node = tree->root;
  }
  node->red = 0;
}

int treeErase(Tree *tree, uint32_t key) {
  Node *victim = treeFind(tree, key);
  if (!victim)
    return 0;
  Node *out = victim;
  if (victim->child[0] != &tree->nil && victim->child[1] != &tree->nil) {
    out = lowest(tree, victim->child[1]);
    victim->key = out->key;
    victim->value = out->value;
  }
  Node *up = out->child[out->child[0] == &tree->nil];
  replaceChild(tree, out, up);
  if (!out->red)
    fixErase(tree, up);
  free(out);
  tree->count--;
  return 1;
}

static int64_t sumRange(Tree *tree, uint32_t low, uint32_t high) {
  Node *node = tree->root, *first = &tree->nil;
  int64_t sum = 0;
  while (node != &tree->nil) {
    int right = tree->compare(node->key, low) < 0;
    if (!right)
      first = node;
    node = node->child[right];
  }
  for (node = first; node != &tree->nil && tree->compare(node->key, high) <= 0; node = successor(tree, node))
    sum += node->value;
  return sum;
}

// The black height, or -1 where an invariant is broken.
static int checkTree(const Tree *tree, const Node *node) {
  if (node == &tree->nil)
    return 0;
  int left = checkTree(tree, node->child[0]), right = checkTree(tree, node->child[1]);
  int redPair = node->red && (node->child[0]->red || node->child[1]->red);
  return left < 0 || left != right || redPair ? -1 : left + !node->red;
}

static void treeFree(Tree *tree, Node *node) {
  if (node == &tree->nil)
    return;
  treeFree(tree, node->child[0]);
  treeFree(tree, node->child[1]);
  free(node);
}

static uint32_t exercise(Tree *tree, uint32_t seed) {
  uint32_t hits = 0, hash = 0;
  for (int i = 0; i < 60000; i++) {
    seed = seed * 1664525u + 1013904223u;
    uint32_t key = seed >> 18;
    switch (seed >> 8 & 7) {
    case 0:
    case 1: hits += (uint32_t)treeErase(tree, key); break;
    case 2: hits += treeFind(tree, key) != NULL; break;
    default: hits += (uint32_t)treeInsert(tree, key, (int32_t)(key & 255) - 100);
    }
    if (i % 1000 == 0)
      hash = hash * 31 + (uint32_t)sumRange(tree, key, key + 2000) + (uint32_t)checkTree(tree, tree->root);
  }
  return hash * 31 + hits;
}

int main(void) {
  static int (*const Orders[])(uint32_t, uint32_t) = {ascending, scrambled};
  for (int i = 0; i < 2; i++) {
    Tree tree;
    treeInit(&tree, Orders[i]);
    uint32_t hash = exercise(&tree, 42) ^ exercise(&tree, 43);
    printf("tree %d count %zu height %d hash %08x\n", i, tree.count, checkTree(&tree, tree.root), hash);
    treeFree(&tree, tree.root);
  }
  return 0;
}
