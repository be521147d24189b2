// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A small Lisp: reader, environments, closures, tail calls, mark-and-sweep heap, errors by longjmp.
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HeapSize = 60000, MaxSymbols = 128, RootsSize = 8192 };

typedef enum { TagNil, TagNumber, TagSymbol, TagPair, TagPrimitive, TagClosure } Tag;

typedef struct Cell Cell;
typedef Cell *(*Primitive)(Cell *arguments);

struct Cell {
  uint8_t tag, marked;
  Cell *head, *tail; // a closure: head = (parameters . body), tail = environment
  union {
    int64_t number;
    const char *symbol;
    Primitive primitive;
  } as;
};

static Cell heap[HeapSize], *freeList, nilCell, *const nil = &nilCell;
static Cell *symbols[MaxSymbols], *roots[RootsSize], *global;
static int symbolCount, rootCount, collections;
static jmp_buf onError;
static char names[MaxSymbols][12];

static void fail(int code) { longjmp(onError, code); }

static void mark(Cell *cell) {
  while (!cell->marked) {
    cell->marked = 1;
    if (cell->tag != TagPair && cell->tag != TagClosure)
      return;
    mark(cell->head);
    cell = cell->tail;
  }
}

static void collect(void) {
  collections++;
  for (int i = 0; i < rootCount; i++)
    mark(roots[i]);
  for (int i = 0; i < symbolCount; i++)
    mark(symbols[i]);
  mark(global);
  freeList = NULL;
  for (int i = 0; i < HeapSize; i++) {
    if (!heap[i].marked) {
      heap[i].tag = TagPair;
      heap[i].head = nil;
      heap[i].tail = freeList;
      freeList = &heap[i];
    }
    heap[i].marked = 0;
  }
  nil->marked = 0;
}

static Cell *protect(Cell *cell) {
  if (rootCount == RootsSize)
    fail(1);
  return roots[rootCount++] = cell;
}

static Cell *newCell(Tag tag) {
  if (!freeList)
    collect();
  if (!freeList)
    fail(2);
  Cell *cell = freeList;
  freeList = cell->tail;
  cell->tag = (uint8_t)tag;
  cell->head = cell->tail = nil;
  return cell;
}

static Cell *newTagged(Tag tag, Cell *head, Cell *tail) {
  int base = rootCount;
  protect(head);
  protect(tail);
  Cell *cell = newCell(tag);
  cell->head = head;
  cell->tail = tail;
  rootCount = base;
  return cell;
}

static Cell *cons(Cell *head, Cell *tail) { return newTagged(TagPair, head, tail); }

static Cell *number(int64_t value) {
  Cell *cell = newCell(TagNumber);
  cell->as.number = value;
  return cell;
}

static Cell *intern(const char *name, size_t length) {
  for (int i = 0; i < symbolCount; i++)
    if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
      return symbols[i];
  if (symbolCount == MaxSymbols || length >= sizeof names[0])
    fail(3);
  Cell *cell = newCell(TagSymbol);
  memcpy(names[symbolCount], name, length);
  cell->as.symbol = names[symbolCount];
  return symbols[symbolCount++] = cell;
}

static Cell *pairOf(Cell *cell) {
  if (cell->tag != TagPair)
    fail(4);
  return cell;
}

static Cell *head(Cell *cell) { return pairOf(cell)->head; }
static Cell *tail(Cell *cell) { return pairOf(cell)->tail; }

static const char *source;

static Cell *readForm(void);

static Cell *readList(void) {
  while (*source == ' ')
    source++;
  if (*source == ')') {
    source++;
    return nil;
  }
  Cell *first = protect(readForm()), *rest = readList();
  rootCount--;
  return cons(first, rest);
}

static Cell *readForm(void) {
  while (*source == ' ')
    source++;
  if (*source == '(') {
    source++;
    return readList();
  }
  if (*source == 0)
    fail(5);
  const char *start = source;
  while (*source && !strchr(" ()", *source))
    source++;
  if (*start >= '0' && *start <= '9')
    return number(strtoll(start, NULL, 10));
  return intern(start, (size_t)(source - start));
}

static Cell *bind(Cell *environment, Cell *name, Cell *value) {
  Cell *binding = protect(cons(name, value)), *result = cons(binding, environment);
  rootCount--;
  return result;
}

static Cell *findBinding(Cell *environment, Cell *name) {
  for (Cell *at = environment; at != nil; at = at->tail)
    if (at->head->head == name)
      return at->head;
  return nil;
}

static Cell *lookup(Cell *environment, Cell *name) {
  Cell *binding = findBinding(environment, name);
  if (binding == nil)
    binding = findBinding(global, name);
  if (binding == nil)
    fail(6);
  return binding->tail;
}

static Cell *eval(Cell *form, Cell *environment);

static Cell *evalList(Cell *forms, Cell *environment) {
  if (forms == nil)
    return nil;
  Cell *first = protect(eval(head(forms), environment)), *rest = evalList(tail(forms), environment);
  rootCount--;
  return cons(first, rest);
}

static int isNamed(Cell *cell, const char *name) {
  return cell->tag == TagSymbol && strcmp(cell->as.symbol, name) == 0;
}

static Cell *define(Cell *form, Cell *environment) {
  Cell *value = protect(eval(head(tail(tail(form))), environment));
  global = bind(global, head(tail(form)), value);
  rootCount--;
  return value;
}

static Cell *bindArguments(Cell *closure, Cell *arguments) {
  Cell *environment = closure->tail;
  int base = rootCount;
  protect(arguments);
  for (Cell *p = head(closure->head); p != nil; p = tail(p), arguments = tail(arguments))
    environment = protect(bind(environment, head(p), head(arguments)));
  rootCount = base;
  return environment;
}

static Cell *eval(Cell *form, Cell *environment) {
  int base = rootCount;
  for (;;) {
    rootCount = base;
    protect(form);
    protect(environment);
    Cell *result = NULL;
    if (form->tag == TagSymbol)
      result = lookup(environment, form);
    else if (form->tag != TagPair)
      result = form;
    else if (isNamed(head(form), "quote"))
      result = head(tail(form));
    else if (isNamed(head(form), "lambda"))
      result = newTagged(TagClosure, tail(form), environment);
    else if (isNamed(head(form), "define"))
      result = define(form, environment);
    if (result) {
      rootCount = base;
      return result;
    }
    if (isNamed(head(form), "if")) {
      Cell *branches = tail(tail(form));
      form = eval(head(tail(form)), environment) != nil ? head(branches) : head(tail(branches));
      continue;
    }
    Cell *function = protect(eval(head(form), environment));
    Cell *arguments = protect(evalList(tail(form), environment));
    if (function->tag == TagPrimitive) {
      result = function->as.primitive(arguments);
      rootCount = base;
      return result;
    }
    if (function->tag != TagClosure)
      fail(7);
    environment = bindArguments(function, arguments);
    form = head(tail(function->head));
  }
}

static int64_t argument(Cell *arguments, int index) {
  Cell *cell = head(index ? tail(arguments) : arguments);
  if (cell->tag != TagNumber)
    fail(8);
  return cell->as.number;
}

static Cell *truth(int value) { return value ? symbols[0] : nil; }
static Cell *primAdd(Cell *a) { return number(argument(a, 0) + argument(a, 1)); }
static Cell *primSubtract(Cell *a) { return number(argument(a, 0) - argument(a, 1)); }
static Cell *primMultiply(Cell *a) { return number(argument(a, 0) * argument(a, 1) % 1000003); }
static Cell *primLess(Cell *a) { return truth(argument(a, 0) < argument(a, 1)); }
static Cell *primCons(Cell *a) { return cons(head(a), head(tail(a))); }
static Cell *primHead(Cell *a) { return head(head(a)); }
static Cell *primTail(Cell *a) { return tail(head(a)); }
static Cell *primIsNil(Cell *a) { return truth(head(a) == nil); }

static const struct {
  const char *name;
  Primitive primitive;
} Primitives[] = {{"+", primAdd},     {"-", primSubtract}, {"*", primMultiply}, {"<", primLess},
                  {"cons", primCons}, {"head", primHead},  {"tail", primTail},  {"nil?", primIsNil}};

static void start(void) {
  global = nil;
  collect();
  Cell *t = intern("t", 1), *empty = intern("nil", 3);
  global = bind(nil, t, t);
  global = bind(global, empty, nil);
  for (size_t i = 0; i < sizeof Primitives / sizeof *Primitives; i++) {
    Cell *cell = protect(newCell(TagPrimitive));
    cell->as.primitive = Primitives[i].primitive;
    global = bind(global, intern(Primitives[i].name, strlen(Primitives[i].name)), cell);
    rootCount--;
  }
}

static void runLine(const char *line) {
  rootCount = 0;
  int code = setjmp(onError);
  if (code) {
    printf("error %d; ", code);
    return;
  }
  source = line;
  Cell *value = eval(protect(readForm()), nil);
  if (value->tag == TagNumber)
    printf("%lld; ", (long long)value->as.number);
}

int main(void) {
  static const char *const Lines[] = {
      "(define fib (lambda (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))))",
      "(define range (lambda (n l) (if (< n 1) l (range (- n 1) (cons n l)))))",
      "(define map (lambda (f l) (if (nil? l) nil (cons (f (head l)) (map f (tail l))))))",
      "(define fold (lambda (f a l) (if (nil? l) a (fold f (f a (head l)) (tail l)))))",
      "(define put (lambda (x l) (if (nil? l) (cons x nil) (if (< x (head l)) (cons x l) (keep x l)))))",
      "(define keep (lambda (x l) (cons (head l) (put x (tail l)))))",
      "(define mix (lambda (k) (lambda (x) (* (+ x k) (+ x 7)))))",
      "(fib 20)",
      "(fold + 0 (map (mix 12345) (range 300 nil)))",
      "(define sort (lambda (l) (fold (lambda (r x) (put x r)) nil l)))",
      "(fold (lambda (a x) (+ (* a 31) x)) 0 (sort (map (mix 999) (range 60 nil))))",
      "(fold + 0 (range 20000 nil))",
      "(+ 1 (head nil))",
      "(unknown 1)",
      "(define loop (lambda (n) (+ 1 (loop n))))",
      "(loop 1)",
      "((lambda (x) (* x x)) (quote a))",
      "(cons 1"};
  start();
  for (size_t i = 0; i < sizeof Lines / sizeof *Lines; i++)
    runLine(Lines[i]);
  printf("collections %d\n", collections);
  return 0;
}
