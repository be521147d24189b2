// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Many patterns at once with an Aho-Corasick automaton, against a Rabin-Karp scan as check.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { Letters = 26, MaxStates = 4096, Patterns = 160, MaxPattern = 9, TextSize = 800000 };

typedef struct {
  int next[Letters];
  int fail, output; // output: the nearest state on the fail chain that ends a pattern
  int pattern;      // -1 when none ends here
} State;

typedef struct {
  State states[MaxStates];
  int count;
} Automaton;

typedef struct {
  int total;
  int byPattern[Patterns];
} Matches;

typedef void (*OnMatch)(void *context, int pattern, int end);

static uint32_t state = 88172645u;

static uint32_t nextRandom(void) {
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}

static int newState(Automaton *a) {
  State *s = &a->states[a->count];
  for (int c = 0; c < Letters; c++)
    s->next[c] = -1;
  s->fail = s->output = 0;
  s->pattern = -1;
  return a->count++;
}

static int addPattern(Automaton *a, const char *pattern, int index) {
  int at = 0;
  for (; *pattern; pattern++) {
    int letter = *pattern - 'a';
    if (a->states[at].next[letter] < 0) {
      int fresh = newState(a);
      a->states[at].next[letter] = fresh;
    }
    at = a->states[at].next[letter];
  }
  if (a->states[at].pattern >= 0)
    return 0;
  a->states[at].pattern = index;
  return 1;
}

static void linkFailures(Automaton *a) {
  static int queue[MaxStates];
  int head = 0, tail = 0;
  for (int c = 0; c < Letters; c++) {
    int child = a->states[0].next[c];
    if (child < 0)
      a->states[0].next[c] = 0;
    else
      queue[tail++] = child;
  }
  while (head < tail) {
    State *s = &a->states[queue[head++]];
    const State *fail = &a->states[s->fail];
    s->output = fail->pattern >= 0 ? s->fail : fail->output;
    for (int c = 0; c < Letters; c++) {
      int child = s->next[c];
      if (child < 0) {
        s->next[c] = fail->next[c];
      } else {
        a->states[child].fail = fail->next[c];
        queue[tail++] = child;
      }
    }
  }
}

void scanAutomaton(const Automaton *a, const char *text, OnMatch onMatch, void *context) {
  int at = 0;
  for (int i = 0; text[i]; i++) {
    at = a->states[at].next[text[i] - 'a'];
    for (int out = at; out; out = a->states[out].output)
      if (a->states[out].pattern >= 0)
        onMatch(context, a->states[out].pattern, i);
  }
}

static uint32_t hashWindow(const char *text, int length) {
  uint32_t hash = 0;
  for (int i = 0; i < length; i++)
    hash = hash * 257u + (unsigned char)text[i];
  return hash;
}

int rabinKarp(const char *text, const char *pattern) {
  int length = (int)strlen(pattern), found = 0;
  uint32_t top = 1, wanted = hashWindow(pattern, length), rolling = hashWindow(text, length);
  for (int i = 1; i < length; i++)
    top *= 257u;
  for (int i = 0;; i++) {
    if (rolling == wanted && memcmp(text + i, pattern, (size_t)length) == 0)
      found++;
    if (!text[i + length])
      return found;
    rolling = (rolling - (unsigned char)text[i] * top) * 257u + (unsigned char)text[i + length];
  }
}

static void countMatch(void *context, int pattern, int end) {
  Matches *matches = context;
  (void)end;
  matches->total++;
  matches->byPattern[pattern]++;
}

static void hashMatch(void *context, int pattern, int end) {
  uint32_t *hash = context;
  *hash = (*hash ^ (uint32_t)(pattern * 65599 + end)) * 16777619u;
}

static void fillLetters(char *text, int size, uint32_t alphabet) {
  for (int i = 0; i < size; i++) {
    uint32_t r = nextRandom();
    text[i] = (char)('a' + (r >> 8 & 1 ? r % alphabet : r % 2));
  }
  text[size] = 0;
}

int main(void) {
  static Automaton automaton;
  static char patterns[Patterns][MaxPattern + 1], text[TextSize + 1];
  Matches matches = {0};
  uint32_t hash = 2166136261u;
  int distinct = 0, differing = 0;
  newState(&automaton);
  for (int i = 0; i < Patterns; i++) {
    fillLetters(patterns[i], 2 + (int)(nextRandom() % (MaxPattern - 1)), 3 + i % 5);
    distinct += addPattern(&automaton, patterns[i], i);
  }
  linkFailures(&automaton);
  fillLetters(text, TextSize, 6);
  scanAutomaton(&automaton, text, countMatch, &matches);
  scanAutomaton(&automaton, text, hashMatch, &hash);
  for (int i = 0; i < Patterns; i += 8)
    if (matches.byPattern[i])
      differing += matches.byPattern[i] != rabinKarp(text, patterns[i]);
  printf("aho states %d patterns %d matches %d differing %d hash %08x\n", automaton.count, distinct, matches.total,
         differing, hash);
  return 0;
}
