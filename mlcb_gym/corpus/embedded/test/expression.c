// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arithmetic expressions: precedence parsing, folding, symbolic derivatives, printing, evaluation.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MaxNodes = 20000, Variables = 3, TextSize = 8192 };

typedef enum { KindNumber, KindVariable, KindAdd, KindSubtract, KindMultiply, KindDivide, KindPower, KindNegate } Kind;

typedef struct {
  Kind kind;
  double number; // KindNumber
  int left, right;
} Node;

typedef struct {
  const char *at;
  int errors;
} Parser;

typedef struct {
  char bytes[TextSize];
  size_t used;
} Text;

static Node nodes[MaxNodes];
static int nodeCount;

static int newNode(Kind kind, double number, int left, int right) {
  if (nodeCount == MaxNodes)
    return 0;
  nodes[nodeCount] = (Node){kind, number, left, right};
  return nodeCount++;
}

static int constant(double value) { return newNode(KindNumber, value, 0, 0); }
static int isConstant(int node, double value) { return nodes[node].kind == KindNumber && nodes[node].number == value; }

static double power(double base, double exponent) {
  int count = (int)(exponent < 0 ? -exponent : exponent);
  double result = 1;
  for (; count > 0; count >>= 1, base *= base)
    if (count & 1)
      result *= base;
  return exponent < 0 ? 1 / result : result;
}

static double apply(Kind kind, double a, double b) {
  switch (kind) {
  case KindAdd: return a + b;
  case KindSubtract: return a - b;
  case KindMultiply: return a * b;
  case KindDivide: return b == 0 ? 0 : a / b;
  case KindPower: return power(a, b);
  case KindNegate: return -a;
  default: return 0;
  }
}

// Builds a node, folding constants and the neutral elements.
static int make(Kind kind, int left, int right) {
  if (nodes[left].kind == KindNumber && nodes[right].kind == KindNumber)
    return constant(apply(kind, nodes[left].number, nodes[right].number));
  switch (kind) {
  case KindAdd:
    if (isConstant(left, 0))
      return right;
    return isConstant(right, 0) ? left : newNode(kind, 0, left, right);
  case KindSubtract: return isConstant(right, 0) ? left : newNode(kind, 0, left, right);
  case KindMultiply:
    if (isConstant(left, 0) || isConstant(right, 0))
      return constant(0);
    if (isConstant(left, 1))
      return right;
    return isConstant(right, 1) ? left : newNode(kind, 0, left, right);
  case KindDivide:
  case KindPower: return isConstant(right, 1) ? left : newNode(kind, 0, left, right);
  default: return newNode(kind, 0, left, right);
  }
}

static int peek(Parser *parser) {
  while (*parser->at == ' ')
    parser->at++;
  return *parser->at;
}

static int parseBinary(Parser *parser, int least);

static int parsePrimary(Parser *parser) {
  int c = peek(parser);
  if (c == '(') {
    parser->at++;
    int inner = parseBinary(parser, 1);
    parser->errors += peek(parser) != ')';
    parser->at += *parser->at == ')';
    return inner;
  }
  if (c == '-') {
    parser->at++;
    int inner = parseBinary(parser, 3);
    return make(KindNegate, inner, inner);
  }
  if (c >= 'x' && c <= 'z') {
    parser->at++;
    return newNode(KindVariable, 0, c - 'x', 0);
  }
  if (c < '0' || c > '9') {
    parser->errors++;
    parser->at += c != 0;
    return constant(0);
  }
  double value = 0, scale = 0;
  for (; (c = *parser->at) == '.' || (c >= '0' && c <= '9'); parser->at++) {
    if (c == '.') {
      scale = 1;
      continue;
    }
    value = value * 10 + (c - '0');
    scale *= 10;
  }
  return constant(scale > 0 ? value / scale : value);
}

static int precedence(int c, Kind *kind) {
  switch (c) {
  case '+': *kind = KindAdd; return 1;
  case '-': *kind = KindSubtract; return 1;
  case '*': *kind = KindMultiply; return 2;
  case '/': *kind = KindDivide; return 2;
  case '^': *kind = KindPower; return 4;
  default: return 0;
  }
}

static int parseBinary(Parser *parser, int least) {
  int left = parsePrimary(parser);
  for (;;) {
    Kind kind = KindNumber;
    int level = precedence(peek(parser), &kind);
    if (level < least || level == 0)
      return left;
    parser->at++;
    int right = parseBinary(parser, kind == KindPower ? level : level + 1);
    left = make(kind, left, right);
  }
}

int parseExpression(const char *text, int *errors) {
  Parser parser = {text, 0};
  int root = parseBinary(&parser, 1);
  *errors += parser.errors + (peek(&parser) != 0);
  return root;
}

double evaluate(int node, const double *values) {
  const Node *n = &nodes[node];
  switch (n->kind) {
  case KindNumber: return n->number;
  case KindVariable: return values[n->left];
  case KindNegate: return -evaluate(n->left, values);
  default: return apply(n->kind, evaluate(n->left, values), evaluate(n->right, values));
  }
}

// Powers are taken to be constant.
int derive(int node, int variable) {
  const Node n = nodes[node];
  switch (n.kind) {
  case KindNumber: return constant(0);
  case KindVariable: return constant(n.left == variable);
  case KindNegate: {
    int inner = derive(n.left, variable);
    return make(KindNegate, inner, inner);
  }
  case KindPower: {
    int exponent = n.right, less = make(KindSubtract, exponent, constant(1));
    int outer = make(KindMultiply, exponent, make(KindPower, n.left, less));
    return make(KindMultiply, outer, derive(n.left, variable));
  }
  default: break;
  }
  int left = derive(n.left, variable), right = derive(n.right, variable);
  if (n.kind == KindAdd || n.kind == KindSubtract)
    return make(n.kind, left, right);
  left = make(KindMultiply, left, n.right);
  right = make(KindMultiply, n.left, right);
  if (n.kind == KindMultiply)
    return make(KindAdd, left, right);
  int square = make(KindMultiply, n.right, n.right);
  return make(KindDivide, make(KindSubtract, left, right), square);
}

static void put(Text *text, const char *string) {
  size_t length = strlen(string);
  if (text->used + length < TextSize) {
    memcpy(text->bytes + text->used, string, length + 1);
    text->used += length;
  }
}

void printExpression(Text *text, int node) {
  static const char *const Operators[] = {"", "", " + ", " - ", "*", "/", "^", "-"};
  const Node *n = &nodes[node];
  char number[32];
  switch (n->kind) {
  case KindNumber:
    snprintf(number, sizeof number, n->number < 0 ? "(%.3f)" : "%.3f", n->number);
    put(text, number);
    return;
  case KindVariable: put(text, n->left == 0 ? "x" : n->left == 1 ? "y" : "z"); return;
  default: break;
  }
  put(text, "(");
  if (n->kind != KindNegate)
    printExpression(text, n->left);
  put(text, Operators[n->kind]);
  printExpression(text, n->kind == KindNegate ? n->left : n->right);
  put(text, ")");
}

static double sampleSum(int root, int samples) {
  double sum = 0;
  for (int i = 0; i < samples; i++) {
    double values[Variables] = {0.25 + i % 17 * 0.125, 2.5 - i % 5 * 0.25, 1 + i % 3};
    sum += evaluate(root, values);
  }
  return sum;
}

int main(void) {
  static const char *const Sources[] = {"1 + 2*3 - 4/8 + 2^3^2",        "x^3 - 2*x^2 + x*y - 7",
                                        "(x + y)*(x - y)/(1 + z^2)",    "-x^2 + 0*y + 1*z",
                                        "((x+1)^4 / (y+2)^2) * -(z-3)", "x*(y*(z+x)+1)^3 - 12.75/(x+4)"};
  static const char *const Broken[] = {"1 + ", "(x", "2 $ 3", "x y"};
  static Text text;
  double total = 0;
  uint32_t hash = 0;
  int errors = 0, wrong = 0;
  for (size_t i = 0; i < sizeof Broken / sizeof *Broken; i++)
    parseExpression(Broken[i], &wrong);
  for (int round = 0; round < 240; round++)
    for (size_t i = 0; i < sizeof Sources / sizeof *Sources; i++) {
      nodeCount = 0;
      int root = parseExpression(Sources[i], &errors);
      total += sampleSum(root, 40) * 0.001;
      for (int order = 0; order < 3; order++) {
        root = derive(root, (order + round) % Variables);
        text.used = 0;
        printExpression(&text, root);
        int again = parseExpression(text.bytes, &errors);
        total += (sampleSum(root, 40) + sampleSum(again, 5)) * 0.001;
        for (size_t k = 0; k < text.used; k++)
          hash = hash * 31 + (unsigned char)text.bytes[k];
      }
    }
  printf("expression wrong %d errors %d total %.3f hash %08x\n", wrong, errors, total, hash);
  return 0;
}
