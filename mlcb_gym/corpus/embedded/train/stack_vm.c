// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An assembler and a stack machine with calls, locals and memory, running small programs.
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MaxCode = 512, MaxLabels = 32, StackSize = 4096, MemorySize = 20000 };

typedef enum {
  OpPush,
  OpAdd,
  OpSub,
  OpMul,
  OpDiv,
  OpMod,
  OpLess,
  OpEqual,
  OpNot,
  OpDup,
  OpSwap,
  OpDrop,
  OpGet,
  OpSet,
  OpLoad,
  OpStore,
  OpJump,
  OpJumpIf,
  OpCall,
  OpReturn,
  OpPrint,
  OpHalt
} Opcode;

// In the order of Opcode.
static const char *const Names[] = {"push", "add",    "sub",  "mul",    "div",   "mod", "less", "equal",
                                    "not",  "dup",    "swap", "drop",   "get",   "set", "load", "store",
                                    "jump", "jumpif", "call", "return", "print", "halt"};

typedef struct {
  Opcode op;
  int32_t argument;
} Inst;

typedef struct {
  char name[16];
  int32_t at;
} Label;

typedef struct {
  Inst code[MaxCode];
  Label labels[MaxLabels];
  int length, labelCount;
} Program;

typedef struct {
  int32_t stack[StackSize], memory[MemorySize];
  int sp, frame, pc;
  uint64_t steps;
  uint32_t printed;
} Machine;

static void die(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  printf("\n");
  exit(1);
}

static int isSpace(char c) { return c == ' ' || c == '\n'; }

static const char *nextWord(const char *at, char word[16]) {
  int length = 0;
  while (isSpace(*at))
    at++;
  while (*at && !isSpace(*at) && length < 15)
    word[length++] = *at++;
  word[length] = 0;
  return at;
}

static int32_t labelAt(const Program *program, const char *name) {
  for (int i = 0; i < program->labelCount; i++)
    if (strcmp(program->labels[i].name, name) == 0)
      return program->labels[i].at;
  return -1;
}

static Opcode opcodeNamed(const char *word) {
  for (size_t i = 0; i < sizeof Names / sizeof *Names; i++)
    if (strcmp(Names[i], word) == 0)
      return (Opcode)i;
  die("unknown instruction '%s'", word);
  return OpHalt;
}

static int takesArgument(Opcode op) {
  switch (op) {
  case OpPush:
  case OpGet:
  case OpSet:
  case OpJump:
  case OpJumpIf:
  case OpCall:
  case OpReturn: return 1;
  default: return 0;
  }
}

static int32_t operandValue(const Program *program, const char *word, int final) {
  char *end;
  long value = strtol(word, &end, 10);
  if (*end == 0)
    return (int32_t)value;
  int32_t at = labelAt(program, word);
  if (at < 0 && final)
    die("unknown label '%s'", word);
  return at;
}

static void addLabel(Program *program, const char *word, size_t length) {
  if (program->labelCount == MaxLabels)
    die("too many labels at %d", program->length);
  Label *label = &program->labels[program->labelCount++];
  memcpy(label->name, word, length);
  label->name[length] = 0;
  label->at = program->length;
}

// Two passes: the first finds the labels, the second resolves them.
void assemble(Program *program, const char *source) {
  char word[16];
  program->labelCount = 0;
  for (int pass = 0; pass < 2; pass++) {
    const char *at = nextWord(source, word);
    program->length = 0;
    for (; word[0]; at = nextWord(at, word)) {
      size_t length = strlen(word);
      if (word[length - 1] == ':') {
        if (pass == 0)
          addLabel(program, word, length - 1);
        continue;
      }
      Inst *inst = &program->code[program->length++];
      inst->op = opcodeNamed(word);
      inst->argument = 0;
      if (takesArgument(inst->op)) {
        at = nextWord(at, word);
        inst->argument = operandValue(program, word, pass);
      }
    }
  }
}

static int32_t wrap(uint32_t value) { return (int32_t)(value & 0x7fffffff); }

static int32_t binary(Opcode op, int32_t a, int32_t b) {
  switch (op) {
  case OpAdd: return wrap((uint32_t)a + (uint32_t)b);
  case OpSub: return a - b;
  case OpMul: return wrap((uint32_t)a * (uint32_t)b);
  case OpDiv: return b ? a / b : 0;
  case OpMod: return b ? a % b : 0;
  case OpLess: return a < b;
  default: return a == b;
  }
}

static int32_t *memoryAt(Machine *m, int32_t address) {
  if (address < 0 || address >= MemorySize)
    die("address %d out of memory at %d", address, m->pc);
  return &m->memory[address];
}

static void enterCall(Machine *m, int32_t target) {
  if (m->sp + 64 > StackSize)
    die("stack overflow at %d", m->pc);
  m->stack[m->sp++] = m->pc;
  m->stack[m->sp++] = m->frame;
  m->frame = m->sp;
  m->pc = target;
}

// Pops `count` arguments from below the frame and leaves the result there.
static void leaveCall(Machine *m, int32_t count) {
  int32_t result = m->stack[m->sp - 1];
  m->sp = m->frame - 2;
  m->pc = m->stack[m->sp];
  m->frame = m->stack[m->sp + 1];
  m->sp -= count;
  m->stack[m->sp++] = result;
}

void run(Machine *m, const Program *program) {
  int32_t *s = m->stack, swap;
  m->sp = m->frame = m->pc = 0;
  for (;; m->steps++) {
    const Inst *inst = &program->code[m->pc++];
    switch (inst->op) {
    case OpPush: s[m->sp++] = inst->argument; break;
    case OpAdd:
    case OpSub:
    case OpMul:
    case OpDiv:
    case OpMod:
    case OpLess:
    case OpEqual:
      m->sp--;
      s[m->sp - 1] = binary(inst->op, s[m->sp - 1], s[m->sp]);
      break;
    case OpNot: s[m->sp - 1] = !s[m->sp - 1]; break;
    case OpDup:
      s[m->sp] = s[m->sp - 1];
      m->sp++;
      break;
    case OpSwap:
      swap = s[m->sp - 1];
      s[m->sp - 1] = s[m->sp - 2];
      s[m->sp - 2] = swap;
      break;
    case OpDrop: m->sp--; break;
    case OpGet: s[m->sp++] = s[m->frame + inst->argument]; break;
    case OpSet: s[m->frame + inst->argument] = s[--m->sp]; break;
    case OpLoad: s[m->sp - 1] = *memoryAt(m, s[m->sp - 1]); break;
    case OpStore:
      m->sp -= 2;
      *memoryAt(m, s[m->sp + 1]) = s[m->sp];
      break;
    case OpJump: m->pc = inst->argument; break;
    case OpJumpIf:
      if (s[--m->sp])
        m->pc = inst->argument;
      break;
    case OpCall: enterCall(m, inst->argument); break;
    case OpReturn: leaveCall(m, inst->argument); break;
    case OpPrint: m->printed = m->printed * 31 + (uint32_t)s[--m->sp]; break;
    case OpHalt: return;
    }
  }
}

static const char Fibonacci[] =
    "push 21 call fib print halt "
    "fib: get -3 push 2 less jumpif small get -3 push 1 sub call fib get -3 push 2 sub call fib add return 1 "
    "small: get -3 return 1";

static const char Sieve[] = "push 0 push 2 " // local 0: count, local 1: candidate
                            "next: get 1 push 20000 less not jumpif done get 1 load jumpif skip "
                            "get 0 push 1 add set 0 get 1 dup add " // the multiple stays on the stack
                            "mark: dup push 20000 less not jumpif marked dup push 1 swap store get 1 add jump mark "
                            "marked: drop "
                            "skip: get 1 push 1 add set 1 jump next "
                            "done: get 0 print halt";

static const char Collatz[] =
    "push 1 push 0 " // local 0: start, local 1: sum of lengths
    "outer: get 0 push 1500 less not jumpif end get 0 call steps get 1 add set 1 get 0 push 1 add set 0 jump outer "
    "end: get 1 print halt "
    "steps: push 0 get -3 "
    "loop: dup push 1 equal jumpif out dup push 2 mod jumpif odd push 2 div jump count "
    "odd: push 3 mul push 1 add "
    "count: get 0 push 1 add set 0 jump loop "
    "out: drop get 0 return 1";

int main(void) {
  static const char *const Sources[] = {Fibonacci, Sieve, Collatz};
  static Program program;
  static Machine machine;
  for (int round = 0; round < 8; round++)
    for (size_t i = 0; i < sizeof Sources / sizeof *Sources; i++) {
      assemble(&program, Sources[i]);
      memset(machine.memory, 0, sizeof machine.memory);
      run(&machine, &program);
    }
  printf("vm steps %llu printed %08x\n", (unsigned long long)machine.steps, machine.printed);
  return 0;
}
