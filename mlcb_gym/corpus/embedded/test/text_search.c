// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// String algorithms: KMP, Horspool, Z function, Manacher, edit distances, common subsequence, trie.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { TextSize = 100000, MaxPattern = 64, WordSize = 40, TrieNodes = 6000 };

typedef int (*Search)(const char *text, int length, const char *pattern, int size);

static uint32_t seed = 31;

static uint32_t nextRandom(void) {
  seed ^= seed << 13;
  seed ^= seed >> 17;
  seed ^= seed << 5;
  return seed;
}

static int smaller(int a, int b) { return a < b ? a : b; }

static int countNaive(const char *text, int length, const char *pattern, int size) {
  int found = 0;
  for (int i = 0; i + size <= length; i++) {
    int k = 0;
    while (k < size && text[i + k] == pattern[k])
      k++;
    found += k == size;
  }
  return found;
}

static int countKmp(const char *text, int length, const char *pattern, int size) {
  int border[MaxPattern + 1], found = 0;
  border[0] = -1;
  for (int i = 0, k = -1; i < size;) {
    while (k >= 0 && pattern[i] != pattern[k])
      k = border[k];
    border[++i] = ++k;
  }
  for (int i = 0, k = 0; i < length; i++) {
    while (k >= 0 && (k == size || text[i] != pattern[k]))
      k = border[k];
    k++;
    found += k == size;
  }
  return found;
}

static int countHorspool(const char *text, int length, const char *pattern, int size) {
  int skip[256], found = 0;
  for (int c = 0; c < 256; c++)
    skip[c] = size;
  for (int i = 0; i < size - 1; i++)
    skip[(unsigned char)pattern[i]] = size - 1 - i;
  for (int at = 0; at + size <= length; at += skip[(unsigned char)text[at + size - 1]])
    found += memcmp(text + at, pattern, (size_t)size) == 0;
  return found;
}

// Shift-and: one bit for each prefix of the pattern that the text now ends with.
static int countBits(const char *text, int length, const char *pattern, int size) {
  uint64_t masks[256] = {0}, prefixes = 0;
  int found = 0;
  for (int i = 0; i < size; i++)
    masks[(unsigned char)pattern[i]] |= (uint64_t)1 << i;
  for (int i = 0; i < length; i++) {
    prefixes = (prefixes << 1 | 1) & masks[(unsigned char)text[i]];
    found += (int)(prefixes >> (size - 1) & 1);
  }
  return found;
}

static uint32_t zChecksum(const char *text, int length) {
  static int z[TextSize];
  uint32_t hash = 0;
  for (int i = 1, left = 0, right = 0; i < length; i++) {
    z[i] = i < right ? smaller(right - i, z[i - left]) : 0;
    while (i + z[i] < length && text[z[i]] == text[i + z[i]])
      z[i]++;
    if (i + z[i] > right) {
      left = i;
      right = i + z[i];
    }
    hash = hash * 31 + (uint32_t)z[i];
  }
  return hash;
}

static long countPalindromes(const char *text, int length, int odd) {
  static int radius[TextSize];
  long total = 0;
  for (int i = 0, left = 0, right = -1; i < length; i++) {
    int k = odd;
    if (i <= right) {
      int mirror = left + right - i + !odd;
      k = smaller(radius[mirror], right - i + 1);
    }
    while (i + k < length && i - k - !odd >= 0 && text[i + k] == text[i - k - !odd])
      k++;
    radius[i] = k;
    total += k;
    if (i + k - 1 > right) {
      left = i - k + odd;
      right = i + k - 1;
    }
  }
  return total;
}

int editDistance(const char *a, int m, const char *b, int n, int transpositions) {
  static int rows[3][WordSize + 1];
  for (int j = 0; j <= n; j++)
    rows[0][j] = j;
  for (int i = 1; i <= m; i++) {
    int *now = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
    now[0] = i;
    for (int j = 1; j <= n; j++) {
      int cost = a[i - 1] != b[j - 1];
      now[j] = smaller(smaller(last[j], now[j - 1]) + 1, last[j - 1] + cost);
      if (transpositions && i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = smaller(now[j], before[j - 2] + 1);
    }
  }
  return rows[m % 3][n];
}

int commonSubsequence(const char *a, int m, const char *b, int n, char *out) {
  static uint8_t length[WordSize + 1][WordSize + 1];
  memset(length, 0, sizeof length);
  for (int i = m - 1; i >= 0; i--)
    for (int j = n - 1; j >= 0; j--) {
      uint8_t down = length[i + 1][j], right = length[i][j + 1];
      length[i][j] = a[i] == b[j] ? (uint8_t)(length[i + 1][j + 1] + 1) : down > right ? down : right;
    }
  int used = 0;
  for (int i = 0, j = 0; i < m && j < n;) {
    if (a[i] == b[j]) {
      out[used++] = a[i++];
      j++;
    } else if (length[i + 1][j] >= length[i][j + 1]) {
      i++;
    } else {
      j++;
    }
  }
  out[used] = 0;
  return used;
}

// A trie whose siblings are linked: finds words within a number of errors by one walk.
typedef struct {
  int child, sibling, words;
  char letter;
} TrieNode;

static TrieNode trie[TrieNodes];
static int trieCount = 1;

static void trieAdd(const char *word) {
  int at = 0;
  for (; *word; word++) {
    int child = trie[at].child;
    while (child && trie[child].letter != *word)
      child = trie[child].sibling;
    if (!child && trieCount < TrieNodes) {
      child = trieCount++;
      trie[child] = (TrieNode){0, trie[at].child, 0, *word};
      trie[at].child = child;
    }
    at = child;
  }
  trie[at].words++;
}

static int trieNear(int node, const char *word, int length, const int *last, int limit) {
  int found = 0;
  for (int child = trie[node].child; child; child = trie[child].sibling) {
    int row[WordSize + 1], least = row[0] = last[0] + 1;
    for (int j = 1; j <= length; j++) {
      int cost = word[j - 1] != trie[child].letter;
      row[j] = smaller(smaller(row[j - 1], last[j]) + 1, last[j - 1] + cost);
      least = smaller(least, row[j]);
    }
    if (row[length] <= limit)
      found += trie[child].words;
    if (least <= limit)
      found += trieNear(child, word, length, row, limit);
  }
  return found;
}

static int makeWord(char *word, int least, uint32_t letters) {
  int length = least + (int)(nextRandom() % 5);
  for (int i = 0; i < length; i++)
    word[i] = (char)('a' + nextRandom() % letters);
  word[length] = 0;
  return length;
}

int main(void) {
  static const Search Searches[] = {countNaive, countKmp, countHorspool, countBits};
  static char text[TextSize], a[WordSize + 1], b[WordSize + 1], common[WordSize + 1];
  int differing = 0, found = 0, distances = 0, near = 0;
  uint32_t hash = 0;
  for (int i = 0; i < TextSize; i++)
    text[i] = i > 100 && nextRandom() % 16 ? text[i - 89] : (char)('a' + nextRandom() % 4);
  for (int size = 2; size < MaxPattern; size += 5) {
    const char *pattern = text + nextRandom() % (TextSize - MaxPattern);
    int expected = countNaive(text, TextSize, pattern, size);
    for (size_t s = 0; s < sizeof Searches / sizeof *Searches; s++)
      differing += Searches[s](text, TextSize, pattern, size) != expected;
    found += expected;
  }
  hash = zChecksum(text, TextSize);
  long palindromes = countPalindromes(text, TextSize, 1) + countPalindromes(text, TextSize, 0);
  for (int round = 0; round < 1500; round++) {
    int m = makeWord(a, 20, 4), n = makeWord(b, 22, 4);
    distances += editDistance(a, m, b, n, 0) * 2 - editDistance(a, m, b, n, 1);
    commonSubsequence(a, m, b, n, common);
    for (const char *c = common; *c; c++)
      hash = hash * 31 + (unsigned char)*c;
  }
  for (int i = 0; i < 800; i++) {
    makeWord(a, 3, 6);
    trieAdd(a);
  }
  for (int i = 0; i < 300; i++) {
    int row[WordSize + 1], length = makeWord(a, 3, 6);
    for (int j = 0; j <= length; j++)
      row[j] = j;
    near += trieNear(0, a, length, row, 2);
  }
  printf("search found %d differing %d palindromes %ld distances %d near %d hash %08x\n", found, differing, palindromes,
         distances, near, hash);
  return 0;
}
