// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Recursive-descent JSON: parse into an arena, query, print back, survive errors.
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum { JsonNull, JsonBool, JsonNumber, JsonString, JsonArray, JsonObject } JsonKind;

typedef struct JsonValue {
  JsonKind kind;
  const char *key; // set when the parent is an object
  struct JsonValue *next, *first, *last;
  size_t count;
  double number;
  const char *text;
} JsonValue;

typedef struct Chunk {
  struct Chunk *next;
  size_t used, size;
  _Alignas(16) unsigned char bytes[];
} Chunk;

typedef struct {
  const char *at;
  Chunk *chunks;
  int depth;
  jmp_buf failed;
} Parser;

typedef struct {
  char *bytes;
  size_t used, size;
} Text;

static void *arenaAlloc(Parser *p, size_t size) {
  size = (size + 15) & ~(size_t)15;
  if (!p->chunks || p->chunks->size - p->chunks->used < size) {
    size_t room = size > 65536 ? size : 65536;
    Chunk *chunk = malloc(sizeof(Chunk) + room);
    if (!chunk)
      abort();
    chunk->next = p->chunks;
    chunk->used = 0;
    chunk->size = room;
    p->chunks = chunk;
  }
  void *result = p->chunks->bytes + p->chunks->used;
  p->chunks->used += size;
  return result;
}

static void arenaFree(Parser *p) {
  while (p->chunks) {
    Chunk *next = p->chunks->next;
    free(p->chunks);
    p->chunks = next;
  }
}

static void fail(Parser *p, int code) { longjmp(p->failed, code); }

static void skipSpace(Parser *p) {
  while (*p->at == ' ' || *p->at == '\n' || *p->at == '\t' || *p->at == '\r')
    p->at++;
}

static void expect(Parser *p, const char *word) {
  size_t length = strlen(word);
  if (strncmp(p->at, word, length) != 0)
    fail(p, 1);
  p->at += length;
}

static int isDigit(char c) { return c >= '0' && c <= '9'; }

static double parseNumber(Parser *p) {
  double value = 0, scale = 1, sign = 1;
  if (*p->at == '-') {
    sign = -1;
    p->at++;
  }
  if (!isDigit(*p->at))
    fail(p, 2);
  while (isDigit(*p->at))
    value = value * 10 + (*p->at++ - '0');
  if (*p->at == '.') {
    p->at++;
    while (isDigit(*p->at)) {
      value = value * 10 + (*p->at++ - '0');
      scale *= 10;
    }
  }
  return sign * value / scale;
}

static const char *parseString(Parser *p) {
  expect(p, "\"");
  const char *end = p->at;
  while (*end && *end != '"')
    end += end[0] == '\\' && end[1] ? 2 : 1;
  char *result = arenaAlloc(p, (size_t)(end - p->at) + 1), *out = result;
  while (*p->at && *p->at != '"') {
    char c = *p->at++;
    if (c != '\\') {
      *out++ = c;
      continue;
    }
    switch (c = *p->at++) {
    case 'n': *out++ = '\n'; break;
    case 't': *out++ = '\t'; break;
    case '"':
    case '\\':
    case '/': *out++ = c; break;
    default: fail(p, 4);
    }
  }
  *out = 0;
  expect(p, "\"");
  return result;
}

static JsonValue *parseValue(Parser *p);

static void parseItems(Parser *p, JsonValue *parent, char close) {
  p->at++;
  if (++p->depth > 64)
    fail(p, 5);
  skipSpace(p);
  while (*p->at != close) {
    const char *key = NULL;
    if (parent->kind == JsonObject) {
      skipSpace(p);
      key = parseString(p);
      skipSpace(p);
      expect(p, ":");
    }
    JsonValue *item = parseValue(p);
    item->key = key;
    if (parent->last)
      parent->last->next = item;
    else
      parent->first = item;
    parent->last = item;
    parent->count++;
    skipSpace(p);
    if (*p->at != close)
      expect(p, ",");
  }
  p->at++;
  p->depth--;
}

static void parseWord(Parser *p, JsonValue *value, const char *word, JsonKind kind) {
  expect(p, word);
  value->kind = kind;
  value->number = *word == 't';
}

static JsonValue *parseValue(Parser *p) {
  JsonValue *value = arenaAlloc(p, sizeof *value);
  memset(value, 0, sizeof *value);
  skipSpace(p);
  switch (*p->at) {
  case 'n': parseWord(p, value, "null", JsonNull); break;
  case 't': parseWord(p, value, "true", JsonBool); break;
  case 'f': parseWord(p, value, "false", JsonBool); break;
  case '"': value->kind = JsonString; break;
  case '[': value->kind = JsonArray; break;
  case '{': value->kind = JsonObject; break;
  default: value->kind = JsonNumber;
  }
  if (value->kind == JsonNumber)
    value->number = parseNumber(p);
  else if (value->kind == JsonString)
    value->text = parseString(p);
  else if (value->kind >= JsonArray)
    parseItems(p, value, value->kind == JsonArray ? ']' : '}');
  return value;
}

JsonValue *jsonMember(JsonValue *object, const char *key) {
  for (JsonValue *item = object->first; item; item = item->next)
    if (strcmp(item->key, key) == 0)
      return item;
  return NULL;
}

static void append(Text *text, const char *bytes, size_t length) {
  if (text->used + length + 1 > text->size) {
    text->size = 2 * (text->used + length + 1);
    text->bytes = realloc(text->bytes, text->size);
    if (!text->bytes)
      abort();
  }
  memcpy(text->bytes + text->used, bytes, length);
  text->used += length;
  text->bytes[text->used] = 0;
}

static void appendString(Text *text, const char *string) {
  append(text, "\"", 1);
  for (; *string; string++) {
    if (*string == '\n')
      append(text, "\\n", 2);
    else if (*string == '"' || *string == '\\')
      append(text, *string == '"' ? "\\\"" : "\\\\", 2);
    else
      append(text, string, 1);
  }
  append(text, "\"", 1);
}

void jsonPrint(Text *text, const JsonValue *value) {
  char number[32];
  switch (value->kind) {
  case JsonNull: append(text, "null", 4); return;
  case JsonBool: append(text, value->number ? "true" : "false", value->number ? 4 : 5); return;
  case JsonNumber: append(text, number, (size_t)snprintf(number, sizeof number, "%.2f", value->number)); return;
  case JsonString: appendString(text, value->text); return;
  default: break;
  }
  append(text, value->kind == JsonArray ? "[" : "{", 1);
  for (const JsonValue *item = value->first; item; item = item->next) {
    if (item->key) {
      appendString(text, item->key);
      append(text, ":", 1);
    }
    jsonPrint(text, item);
    if (item->next)
      append(text, ",", 1);
  }
  append(text, value->kind == JsonArray ? "]" : "}", 1);
}

static void writeDocument(Text *text, int records) {
  char line[256];
  uint32_t seed = 7;
  append(text, "{ \"records\": [", 14);
  for (int i = 0; i < records; i++) {
    seed = seed * 1664525u + 1013904223u;
    int length = snprintf(line, sizeof line,
                          "%s\n  {\"id\": %d, \"price\": %u.%02u, \"name\": \"item+ \\\"%u\\\"\\n\", "
                          "\"tags\": [true, false, null, [%u, -%u.5]], \"on\": %s}",
                          i ? "," : "", i, seed >> 20, seed % 100, seed >> 24, seed >> 28, seed >> 26,
                          seed & 4096 ? "true" : "false");
    append(text, line, (size_t)length);
  }
  append(text, "]}", 2);
}

static int tryParse(const char *source, JsonValue **result, Parser *p) {
  memset(p, 0, sizeof *p);
  p->at = source;
  int code = setjmp(p->failed);
  if (code == 0)
    *result = parseValue(p);
  return code;
}

int main(void) {
  static const char *const Broken[] = {"[1,, 2]", "{\"a\" 1}", "\"\\x\"", "[tru]", "-"};
  Text source = {0}, printed = {0};
  Parser parser;
  JsonValue *root = NULL;
  unsigned errors = 0;
  for (size_t i = 0; i < sizeof Broken / sizeof *Broken; i++) {
    errors = errors * 10 + (unsigned)tryParse(Broken[i], &root, &parser);
    arenaFree(&parser);
  }
  writeDocument(&source, 12000);
  double total = 0;
  uint32_t hash = 2166136261u;
  for (int round = 0; round < 3; round++) {
    if (tryParse(source.bytes, &root, &parser) != 0)
      return 1;
    for (JsonValue *r = jsonMember(root, "records")->first; r; r = r->next)
      if (jsonMember(r, "on")->number != 0)
        total += jsonMember(r, "price")->number * (double)jsonMember(r, "tags")->count;
    printed.used = 0;
    jsonPrint(&printed, root);
    for (size_t i = 0; i < printed.used; i++)
      hash = (hash ^ (unsigned char)printed.bytes[i]) * 16777619u;
    arenaFree(&parser);
    Text swap = source;
    source = printed;
    printed = swap;
  }
  printf("json errors %u total %.2f hash %08x\n", errors, total, hash);
  free(source.bytes);
  free(printed.bytes);
  return 0;
}
