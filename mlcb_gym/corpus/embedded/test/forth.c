// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A Forth with colon definitions, control structures and variables, threaded through function pointers.
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { StackSize = 256, ReturnSize = 512, DictionarySize = 128, CodeSize = 4096, MemorySize = 4096, NameSize = 12 };

typedef struct Forth Forth;
typedef void (*Action)(Forth *forth); // its operand is forth->operand

typedef struct {
  Action action;
  int32_t operand;
} Op;

typedef struct {
  char name[NameSize];
  Action action;
  int32_t operand;
  int immediate;
} Word;

struct Forth {
  int32_t stack[StackSize], returns[ReturnSize], memory[MemorySize];
  Word words[DictionarySize];
  Op code[CodeSize];
  int32_t operand;
  int depth, returnDepth, wordCount, codeCount, memoryUsed, pc, compiling, defining;
  const char *source;
  uint32_t output;
  uint64_t steps;
  jmp_buf failed;
};

static void fail(Forth *f, int code) { longjmp(f->failed, code); }

static void push(Forth *f, int32_t value) {
  if (f->depth == StackSize)
    fail(f, 1);
  f->stack[f->depth++] = value;
}

static int32_t pop(Forth *f) {
  if (f->depth == 0)
    fail(f, 2);
  return f->stack[--f->depth];
}

static void pushReturn(Forth *f, int32_t value) {
  if (f->returnDepth == ReturnSize)
    fail(f, 3);
  f->returns[f->returnDepth++] = value;
}

static int32_t popReturn(Forth *f) {
  if (f->returnDepth == 0)
    fail(f, 4);
  return f->returns[--f->returnDepth];
}

static int32_t *cellAt(Forth *f, int32_t address) {
  if (address < 0 || address >= MemorySize)
    fail(f, 5);
  return &f->memory[address];
}

// The operand tells which operator.
static void doBinary(Forth *f) {
  int32_t b = pop(f), a = pop(f);
  switch (f->operand) {
  case '+': push(f, (int32_t)((uint32_t)a + (uint32_t)b)); break;
  case '-': push(f, (int32_t)((uint32_t)a - (uint32_t)b)); break;
  case '*': push(f, (int32_t)((uint32_t)a * (uint32_t)b)); break;
  case '/':
  case '%':
    if (b <= 0)
      fail(f, 6);
    push(f, f->operand == '/' ? a / b : a % b);
    break;
  case '<': push(f, -(a < b)); break;
  case '=': push(f, -(a == b)); break;
  case '&': push(f, a & b); break;
  }
}

static void doStack(Forth *f) {
  int32_t top = pop(f), below;
  switch (f->operand) {
  case 0:
    push(f, top);
    push(f, top);
    break;
  case 1: break;
  case 2:
  case 3:
    below = pop(f);
    if (f->operand == 3)
      push(f, below);
    push(f, top);
    push(f, below);
    break;
  case 4: pushReturn(f, top); break;
  }
}

static void doFromReturn(Forth *f) { push(f, popReturn(f)); }
static void doLiteral(Forth *f) { push(f, f->operand); }
static void doExit(Forth *f) { f->pc = popReturn(f); }
static void doJump(Forth *f) { f->pc = f->operand; }
static void doFetch(Forth *f) { push(f, *cellAt(f, pop(f))); }
static void doPrint(Forth *f) { f->output = f->output * 31 + (uint32_t)pop(f); }

static void doCall(Forth *f) {
  pushReturn(f, f->pc);
  f->pc = f->operand;
}

static void doStore(Forth *f) {
  int32_t *cell = cellAt(f, pop(f)), value = pop(f);
  *cell = f->operand ? (int32_t)((uint32_t)*cell + (uint32_t)value) : value;
}

static void doBranchIfZero(Forth *f) {
  if (pop(f) == 0)
    f->pc = f->operand;
}

static void doIndex(Forth *f) {
  if (f->returnDepth < 2 * f->operand + 2)
    fail(f, 4);
  push(f, f->returns[f->returnDepth - 1 - 2 * f->operand]);
}

static void doStart(Forth *f) {
  int32_t index = pop(f), limit = pop(f);
  pushReturn(f, limit);
  pushReturn(f, index);
}

static void doLoop(Forth *f) {
  int32_t index = popReturn(f) + 1, limit = popReturn(f);
  if (index >= limit)
    return;
  pushReturn(f, limit);
  pushReturn(f, index);
  f->pc = f->operand;
}

static int emit(Forth *f, Action action, int32_t operand) {
  if (f->codeCount == CodeSize)
    fail(f, 7);
  f->code[f->codeCount] = (Op){action, operand};
  return f->codeCount++;
}

static int nextName(Forth *f, char name[NameSize]) {
  int length = 0;
  while (*f->source == ' ')
    f->source++;
  for (; *f->source && *f->source != ' '; f->source++)
    if (length < NameSize - 1)
      name[length++] = *f->source;
  name[length] = 0;
  return length;
}

static void defineNext(Forth *f, Action action, int32_t operand) {
  if (f->wordCount == DictionarySize)
    fail(f, 8);
  Word *word = &f->words[f->wordCount++];
  nextName(f, word->name);
  word->action = action;
  word->operand = operand;
}

static void comColon(Forth *f) {
  defineNext(f, doCall, f->codeCount);
  f->compiling = 1;
}

static void comSemicolon(Forth *f) {
  emit(f, doExit, 0);
  f->compiling = 0;
}

static void comVariable(Forth *f) { defineNext(f, doLiteral, f->memoryUsed++); }
static void comAllot(Forth *f) { f->memoryUsed += pop(f); }
static void comIf(Forth *f) { push(f, emit(f, doBranchIfZero, 0)); }
static void comThen(Forth *f) { f->code[pop(f)].operand = f->codeCount; }
static void comBegin(Forth *f) { push(f, f->codeCount); }
static void comUntil(Forth *f) { emit(f, doBranchIfZero, pop(f)); }
static void comLoop(Forth *f) { emit(f, doLoop, pop(f)); }

static void comElse(Forth *f) {
  int jump = emit(f, doJump, 0);
  f->code[pop(f)].operand = f->codeCount;
  push(f, jump);
}

static void comDo(Forth *f) {
  emit(f, doStart, 0);
  push(f, f->codeCount);
}

static void comRecurse(Forth *f) { emit(f, doCall, f->words[f->wordCount - 1].operand); }

// clang-format off
static const Word Builtins[] = {
    {"+", doBinary, '+', 0}, {"-", doBinary, '-', 0}, {"*", doBinary, '*', 0}, {"/", doBinary, '/', 0},
    {"mod", doBinary, '%', 0}, {"<", doBinary, '<', 0}, {"=", doBinary, '=', 0}, {"and", doBinary, '&', 0},
    {"dup", doStack, 0, 0}, {"drop", doStack, 1, 0}, {"swap", doStack, 2, 0}, {"over", doStack, 3, 0},
    {">r", doStack, 4, 0}, {"r>", doFromReturn, 0, 0}, {"@", doFetch, 0, 0}, {"!", doStore, 0, 0},
    {"+!", doStore, 1, 0}, {".", doPrint, 0, 0}, {"i", doIndex, 0, 0}, {"j", doIndex, 1, 0},
    {":", comColon, 0, 1}, {";", comSemicolon, 0, 1}, {"if", comIf, 0, 1}, {"else", comElse, 0, 1},
    {"then", comThen, 0, 1}, {"begin", comBegin, 0, 1}, {"until", comUntil, 0, 1}, {"do", comDo, 0, 1},
    {"loop", comLoop, 0, 1}, {"recurse", comRecurse, 0, 1}, {"variable", comVariable, 0, 1}, {"allot", comAllot, 0, 1}};
// clang-format on

static void perform(Forth *f, Action action, int32_t operand) {
  f->operand = operand;
  action(f);
}

// Runs threaded code until the matching exit comes back to address -1.
static void execute(Forth *f, int32_t target) {
  pushReturn(f, -1);
  for (f->pc = target; f->pc >= 0; f->steps++) {
    const Op *op = &f->code[f->pc++];
    perform(f, op->action, op->operand);
  }
}

static void interpretName(Forth *f, const char *name) {
  for (int i = f->wordCount - 1; i >= 0; i--) {
    const Word *word = &f->words[i];
    if (strcmp(word->name, name) != 0)
      continue;
    if (f->compiling && !word->immediate)
      emit(f, word->action, word->operand);
    else if (word->action == doCall)
      execute(f, word->operand);
    else
      perform(f, word->action, word->operand);
    return;
  }
  char *end;
  long value = strtol(name, &end, 10);
  if (*end)
    fail(f, 9);
  if (f->compiling)
    emit(f, doLiteral, (int32_t)value);
  else
    push(f, (int32_t)value);
}

int interpret(Forth *f, const char *source) {
  char name[NameSize];
  int code = setjmp(f->failed);
  if (code) {
    f->depth = f->returnDepth = f->compiling = 0;
    return code;
  }
  f->source = source;
  while (nextName(f, name))
    interpretName(f, name);
  return 0;
}

int main(void) {
  static const char *const Lines[] = {
      ": square dup * ; : fib dup 2 < if else dup 1 - recurse swap 2 - recurse + then ;",
      ": gcd begin swap over mod dup 0 = until drop ;",
      ": gcds 0 60 1 do 60 1 do i j gcd + loop loop . ;",
      "variable seed : random seed @ 75 * 74 + 65537 mod dup seed ! ;",
      "variable flags 2000 allot : flag flags + ;",
      ": strike 0 over flag ! ; : multiples dup square begin strike over + dup 1999 swap < until drop drop ;",
      ": sieve 2000 2 do 1 i flag ! loop 45 2 do i flag @ if i multiples then loop ;",
      ": primes 0 2000 2 do i flag @ + loop . ;",
      "variable hist 16 allot : sample random 16 mod hist + 1 swap +! ;",
      ": collatz 0 swap begin dup 2 mod if 3 * 1 + else 2 / then swap 1 + swap dup 1 = until drop ;",
      ": longest 0 1500 2 do i collatz over over < if swap then drop loop . ;",
      "18 fib . gcds sieve primes longest",
      ": samples 3000 0 do sample loop 16 0 do hist i + @ . loop ; samples"};
  static const char *const Broken[] = {"drop", "1 0 /", "nonsense", "5000 @", ": deep 1 recurse ; deep"};
  static Forth forth;
  int errors = 0, failed = 0;
  for (size_t i = 0; i < sizeof Builtins / sizeof *Builtins; i++)
    forth.words[forth.wordCount++] = Builtins[i];
  for (size_t i = 0; i < sizeof Lines / sizeof *Lines; i++)
    failed += interpret(&forth, Lines[i]) != 0;
  for (size_t i = 0; i < sizeof Broken / sizeof *Broken; i++)
    errors = errors * 10 + interpret(&forth, Broken[i]);
  for (int round = 0; round < 4; round++)
    failed += interpret(&forth, "18 fib . gcds longest") != 0;
  printf("forth failed %d errors %d steps %llu output %08x\n", failed, errors, (unsigned long long)forth.steps,
         forth.output);
  return 0;
}
