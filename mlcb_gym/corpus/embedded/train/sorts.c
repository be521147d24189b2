// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Eight sorting algorithms behind one table, over inputs of different shapes.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { Count = 25000, SlowCount = 1200 };

typedef int32_t Item;

static Item scratch[Count];

static void swapItems(Item *a, Item *b) {
  Item t = *a;
  *a = *b;
  *b = t;
}

void insertionSort(Item *items, int count) {
  for (int i = 1; i < count; i++) {
    Item item = items[i];
    int at = i;
    for (; at > 0 && items[at - 1] > item; at--)
      items[at] = items[at - 1];
    items[at] = item;
  }
}

void selectionSort(Item *items, int count) {
  for (int i = 0; i + 1 < count; i++) {
    int least = i;
    for (int j = i + 1; j < count; j++)
      if (items[j] < items[least])
        least = j;
    swapItems(&items[i], &items[least]);
  }
}

void combSort(Item *items, int count) {
  int gap = count, swapped = 1;
  while (gap > 1 || swapped) {
    gap = gap * 10 / 13;
    if (gap < 1)
      gap = 1;
    swapped = 0;
    for (int i = 0; i + gap < count; i++)
      if (items[i] > items[i + gap]) {
        swapItems(&items[i], &items[i + gap]);
        swapped = 1;
      }
  }
}

void shellSort(Item *items, int count) {
  static const int Gaps[] = {3548, 1577, 701, 301, 132, 57, 23, 10, 4, 1};
  for (size_t g = 0; g < sizeof Gaps / sizeof *Gaps; g++)
    for (int i = Gaps[g]; i < count; i++) {
      Item item = items[i];
      int at = i;
      for (; at >= Gaps[g] && items[at - Gaps[g]] > item; at -= Gaps[g])
        items[at] = items[at - Gaps[g]];
      items[at] = item;
    }
}

static void siftDown(Item *items, int at, int count) {
  for (int child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && items[child + 1] > items[child])
      child++;
    if (items[at] >= items[child])
      return;
    swapItems(&items[at], &items[child]);
  }
}

void heapSort(Item *items, int count) {
  for (int i = count / 2 - 1; i >= 0; i--)
    siftDown(items, i, count);
  while (--count > 0) {
    swapItems(&items[0], &items[count]);
    siftDown(items, 0, count);
  }
}

static void merge(const Item *left, int leftCount, const Item *right, int rightCount, Item *out) {
  while (leftCount > 0 && rightCount > 0) {
    if (*right < *left) {
      *out++ = *right++;
      rightCount--;
    } else {
      *out++ = *left++;
      leftCount--;
    }
  }
  memcpy(out, left, (size_t)leftCount * sizeof *out);
  memcpy(out + leftCount, right, (size_t)rightCount * sizeof *out);
}

void mergeSort(Item *items, int count) {
  if (count <= 12) {
    insertionSort(items, count);
    return;
  }
  int half = count / 2;
  mergeSort(items, half);
  mergeSort(items + half, count - half);
  if (items[half - 1] <= items[half])
    return;
  merge(items, half, items + half, count - half, scratch);
  memcpy(items, scratch, (size_t)count * sizeof *items);
}

static Item medianOfThree(Item a, Item b, Item c) {
  if (a < b)
    return b < c ? b : a < c ? c : a;
  return a < c ? a : b < c ? c : b;
}

// Three-way quicksort; falls back to heap sort when the recursion runs too deep.
static void introSort(Item *items, int count, int depth) {
  while (count > 16) {
    if (depth-- == 0) {
      heapSort(items, count);
      return;
    }
    Item pivot = medianOfThree(items[0], items[count / 2], items[count - 1]);
    int less = 0, at = 0, more = count;
    while (at < more) {
      if (items[at] < pivot)
        swapItems(&items[less++], &items[at++]);
      else if (items[at] > pivot)
        swapItems(&items[at], &items[--more]);
      else
        at++;
    }
    introSort(items, less, depth);
    items += more;
    count -= more;
  }
  insertionSort(items, count);
}

void quickSort(Item *items, int count) { introSort(items, count, 30); }

void radixSort(Item *items, int count) {
  for (int shift = 0; shift < 32; shift += 8) {
    int start[257] = {0};
    uint32_t flip = shift == 24 ? 128 : 0; // the sign orders the last digit
    for (int i = 0; i < count; i++)
      start[(((uint32_t)items[i] >> shift & 255) ^ flip) + 1]++;
    for (int d = 0; d < 256; d++)
      start[d + 1] += start[d];
    for (int i = 0; i < count; i++)
      scratch[start[((uint32_t)items[i] >> shift & 255) ^ flip]++] = items[i];
    memcpy(items, scratch, (size_t)count * sizeof *items);
  }
}

static const struct {
  const char *name;
  void (*sort)(Item *, int);
  int count;
} Algorithms[] = {{"insertion", insertionSort, SlowCount},
                  {"selection", selectionSort, SlowCount},
                  {"comb", combSort, Count},
                  {"shell", shellSort, Count},
                  {"heap", heapSort, Count},
                  {"merge", mergeSort, Count},
                  {"quick", quickSort, Count},
                  {"radix", radixSort, Count}};

typedef enum { ShapeRandom, ShapeSorted, ShapeReversed, ShapeFewValues, ShapeOrganPipe, ShapeCount } Shape;

static void fill(Item *items, int count, Shape shape) {
  uint32_t state = 0x9e3779b9u;
  for (int i = 0; i < count; i++) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    switch (shape) {
    case ShapeRandom: items[i] = (Item)(state >> 1) - (1 << 30); break;
    case ShapeSorted: items[i] = i * 3 - count; break;
    case ShapeReversed: items[i] = (count - i) * 5; break;
    case ShapeFewValues: items[i] = (Item)(state % 7) - 3; break;
    default: items[i] = i < count / 2 ? i : count - i;
    }
  }
}

static int isSorted(const Item *items, int count) {
  for (int i = 1; i < count; i++)
    if (items[i - 1] > items[i])
      return 0;
  return 1;
}

static uint32_t hashItems(const Item *items, int count) {
  uint32_t hash = 2166136261u;
  for (int i = 0; i < count; i++)
    hash = (hash ^ (uint32_t)items[i]) * 16777619u;
  return hash;
}

int main(void) {
  static Item items[Count];
  uint32_t total = 0;
  int sorted = 0;
  for (size_t a = 0; a < sizeof Algorithms / sizeof *Algorithms; a++)
    for (int shape = 0; shape < ShapeCount; shape++) {
      fill(items, Algorithms[a].count, (Shape)shape);
      Algorithms[a].sort(items, Algorithms[a].count);
      sorted += isSorted(items, Algorithms[a].count);
      total = total * 31 + hashItems(items, Algorithms[a].count);
    }
  printf("sorts %s..%s sorted %d hash %08x\n", Algorithms[0].name, Algorithms[7].name, sorted, total);
  return 0;
}
