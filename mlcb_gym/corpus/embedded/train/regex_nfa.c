// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Regular expressions compiled to an NFA program and run by lock-step simulation.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MaxCode = 256, MaxSets = 16, TextSize = 240000 };

typedef enum { OpChar, OpAny, OpSet, OpSplit, OpJump, OpStart, OpEnd, OpMatch } Opcode;

typedef struct {
  Opcode op;
  int x, y; // targets of splits and jumps, or the character or set
} Inst;

typedef struct {
  Inst code[MaxCode];
  uint8_t sets[MaxSets][32];
  int length, setCount, failed;
  const char *at;
} Regex;

typedef struct {
  int items[MaxCode];
  int seen[MaxCode]; // the generation an instruction was last added in
  int count, generation;
} ThreadList;

static int emit(Regex *re, Opcode op, int x, int y) {
  if (re->length == MaxCode) {
    re->failed = 1;
    return 0;
  }
  re->code[re->length] = (Inst){op, x, y};
  return re->length++;
}

static void insertAt(Regex *re, int at, Inst inst) {
  if (re->length == MaxCode) {
    re->failed = 1;
    return;
  }
  for (int i = re->length++; i > at; i--) {
    re->code[i] = re->code[i - 1];
    Inst *moved = &re->code[i];
    if (moved->op == OpSplit || moved->op == OpJump) {
      moved->x += moved->x >= at;
      moved->y += moved->y >= at;
    }
  }
  re->code[at] = inst;
}

static void setAdd(uint8_t *set, int c) { set[c >> 3] |= (uint8_t)(1 << (c & 7)); }
static int setHas(const uint8_t *set, int c) { return set[c >> 3] >> (c & 7) & 1; }

static void addClass(uint8_t *set, char name) {
  for (int c = 0; c < 128; c++) {
    int digit = c >= '0' && c <= '9', letter = (c | 32) >= 'a' && (c | 32) <= 'z';
    if ((name == 'd' && digit) || (name == 'w' && (digit || letter || c == '_')) ||
        (name == 's' && (c == ' ' || (c >= 9 && c <= 13))))
      setAdd(set, c);
  }
}

static uint8_t *newSet(Regex *re) {
  if (re->setCount == MaxSets) {
    re->failed = 1;
    return re->sets[0];
  }
  emit(re, OpSet, re->setCount, 0);
  return re->sets[re->setCount++];
}

static void parseSet(Regex *re) {
  uint8_t *set = newSet(re);
  int negated = *re->at == '^';
  re->at += negated;
  while (*re->at && *re->at != ']') {
    int low = (unsigned char)*re->at++, high = low;
    if (re->at[0] == '-' && re->at[1] && re->at[1] != ']') {
      high = (unsigned char)re->at[1];
      re->at += 2;
    }
    for (int c = low; c <= high; c++)
      setAdd(set, c);
  }
  re->failed |= *re->at != ']';
  re->at += *re->at == ']';
  for (int i = 0; negated && i < 32; i++)
    set[i] = (uint8_t)~set[i];
}

static void parseAlternatives(Regex *re);

static void parseAtom(Regex *re) {
  char c = *re->at++;
  switch (c) {
  case '.': emit(re, OpAny, 0, 0); break;
  case '^': emit(re, OpStart, 0, 0); break;
  case '$': emit(re, OpEnd, 0, 0); break;
  case '[': parseSet(re); break;
  case '(':
    parseAlternatives(re);
    re->failed |= *re->at != ')';
    re->at += *re->at == ')';
    break;
  case '\\':
    c = *re->at++;
    if (c == 'd' || c == 'w' || c == 's')
      addClass(newSet(re), c);
    else
      emit(re, OpChar, (unsigned char)c, 0);
    break;
  default: emit(re, OpChar, (unsigned char)c, 0);
  }
}

static void parseRepeat(Regex *re) {
  int start = re->length;
  parseAtom(re);
  for (;; re->at++) {
    switch (*re->at) {
    case '*':
      insertAt(re, start, (Inst){OpSplit, start + 1, 0});
      re->code[start].y = emit(re, OpJump, start, 0) + 1;
      break;
    case '+': emit(re, OpSplit, start, re->length + 1); break;
    case '?':
      insertAt(re, start, (Inst){OpSplit, start + 1, 0});
      re->code[start].y = re->length;
      break;
    default: return;
    }
  }
}

static void parseSequence(Regex *re) {
  while (*re->at && *re->at != '|' && *re->at != ')' && !re->failed)
    parseRepeat(re);
}

static void parseAlternatives(Regex *re) {
  int start = re->length;
  parseSequence(re);
  if (*re->at != '|')
    return;
  re->at++;
  insertAt(re, start, (Inst){OpSplit, start + 1, 0});
  int jump = emit(re, OpJump, 0, 0);
  re->code[start].y = re->length;
  parseAlternatives(re);
  re->code[jump].x = re->length;
}

int regexCompile(Regex *re, const char *pattern) {
  memset(re, 0, sizeof *re);
  re->at = pattern;
  parseAlternatives(re);
  emit(re, OpMatch, 0, 0);
  return !re->failed && !*re->at;
}

static void addThread(const Regex *re, ThreadList *list, int pc, int first, int last) {
  if (list->seen[pc] == list->generation)
    return;
  list->seen[pc] = list->generation;
  const Inst *inst = &re->code[pc];
  switch (inst->op) {
  case OpJump: addThread(re, list, inst->x, first, last); break;
  case OpSplit:
    addThread(re, list, inst->x, first, last);
    addThread(re, list, inst->y, first, last);
    break;
  case OpStart:
    if (first)
      addThread(re, list, pc + 1, first, last);
    break;
  case OpEnd:
    if (last)
      addThread(re, list, pc + 1, first, last);
    break;
  default: list->items[list->count++] = pc;
  }
}

static int consumes(const Regex *re, const Inst *inst, int c) {
  switch (inst->op) {
  case OpChar: return inst->x == c;
  case OpAny: return c != '\n';
  case OpSet: return setHas(re->sets[inst->x], c);
  default: return 0;
  }
}

// The number of positions at which some match of the pattern ends.
int regexCountEnds(const Regex *re, const char *text) {
  static ThreadList lists[2];
  ThreadList *now = &lists[0], *next = &lists[1];
  int ends = 0;
  memset(lists, 0, sizeof lists);
  now->generation = 1;
  for (const char *at = text;; at++) {
    addThread(re, now, 0, at == text, *at == 0);
    next->count = 0;
    next->generation = now->generation + 1;
    int matched = 0;
    for (int i = 0; i < now->count; i++) {
      int pc = now->items[i];
      if (re->code[pc].op == OpMatch)
        matched = 1;
      else if (*at && consumes(re, &re->code[pc], (unsigned char)*at))
        addThread(re, next, pc + 1, 0, at[1] == 0);
    }
    ends += matched;
    if (!*at)
      return ends;
    ThreadList *swap = now;
    now = next;
    next = swap;
  }
}

static void writeText(char *text) {
  static const char *const Pieces[] = {"cat ", "dog.", "x=42; ", "aaab", "2024-01-31 ", "foo_bar(", "\n", "0xBEEF "};
  uint32_t state = 3;
  size_t used = 0;
  while (used < TextSize - 16) {
    state = state * 22695477u + 1u;
    const char *piece = Pieces[state >> 16 & 7];
    memcpy(text + used, piece, strlen(piece));
    used += strlen(piece);
  }
  text[used] = 0;
}

int main(void) {
  static const char *const Patterns[] = {"cat|dog",         "a+b",         "(a|aa)*b", "\\d\\d\\d\\d-\\d\\d-\\d\\d",
                                         "[a-z_]+\\(",      "0x[0-9A-F]+", "^cat",     "x=\\d*;?",
                                         "(cat |dog\\.)+x", "[^ \n]+ ",    ".*foo.*",  "\\w+\\s\\w+$"};
  static const char *const Invalid[] = {"(ab", "[a-", "a)b"};
  static char text[TextSize];
  static Regex re;
  unsigned sum = 0, rejected = 0;
  writeText(text);
  for (size_t i = 0; i < sizeof Invalid / sizeof *Invalid; i++)
    rejected += !regexCompile(&re, Invalid[i]);
  for (size_t i = 0; i < sizeof Patterns / sizeof *Patterns; i++) {
    if (!regexCompile(&re, Patterns[i]))
      return 1;
    sum = sum * 131 + (unsigned)regexCountEnds(&re, text);
  }
  printf("regex rejected %u length %zu sum %08x\n", rejected, strlen(text), sum);
  return 0;
}
