// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CSV and INI readers as state machines, and the grouped, sorted report they make together.
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MaxFields = 8, MaxGroups = 64, MaxSettings = 24, NameSize = 24, Rows = 24000 };

typedef enum { StartOfField, InField, InQuotes, QuoteInQuotes } CsvState;

typedef struct {
  char storage[256];
  const char *fields[MaxFields];
  int count, malformed;
} Row;

typedef struct {
  char section[NameSize], key[NameSize], value[NameSize];
} Setting;

typedef struct {
  Setting settings[MaxSettings];
  int count, errors;
} Config;

typedef struct {
  char name[NameSize];
  int rows;
  int64_t cents, largest;
} Group;

typedef struct {
  Group groups[MaxGroups];
  int count, skipped;
} Report;

typedef struct {
  char *bytes;
  size_t used, size;
} Buffer;

static void print(Buffer *buffer, const char *format, ...) {
  for (;;) {
    va_list arguments;
    va_start(arguments, format);
    size_t room = buffer->size - buffer->used;
    int length = vsnprintf(buffer->bytes ? buffer->bytes + buffer->used : NULL, room, format, arguments);
    va_end(arguments);
    if ((size_t)length < room) {
      buffer->used += (size_t)length;
      return;
    }
    buffer->size = 2 * buffer->size + (size_t)length + 64;
    buffer->bytes = realloc(buffer->bytes, buffer->size);
    if (!buffer->bytes)
      abort();
  }
}

// Reads one record into `row`; returns where the next begins.
const char *readCsvRow(const char *at, Row *row) {
  CsvState state = StartOfField;
  size_t used = 0;
  row->count = row->malformed = 0;
  row->fields[0] = row->storage;
  for (;; at++) {
    char c = *at;
    int ends = c == 0 || (state != InQuotes && (c == ',' || c == '\n'));
    if (ends) {
      row->malformed |= state == InQuotes || row->count == MaxFields || used + 1 >= sizeof row->storage;
      if (row->malformed && (c == 0 || c == '\n'))
        return c ? at + 1 : at;
      row->storage[used++] = 0;
      row->count++;
      if (c != ',')
        return c ? at + 1 : at;
      if (row->count < MaxFields)
        row->fields[row->count] = row->storage + used;
      state = StartOfField;
      continue;
    }
    switch (state) {
    case StartOfField:
      state = c == '"' ? InQuotes : InField;
      if (c == '"')
        continue;
      break;
    case InField: row->malformed |= c == '"'; break;
    case InQuotes:
      if (c == '"') {
        state = QuoteInQuotes;
        continue;
      }
      break;
    case QuoteInQuotes:
      row->malformed |= c != '"';
      state = InQuotes;
      break;
    }
    if (used + 2 < sizeof row->storage)
      row->storage[used++] = c;
  }
}

static const char *skipBlanks(const char *at) {
  while (*at == ' ' || *at == '\t')
    at++;
  return at;
}

static void copyTrimmed(char *to, const char *from, const char *end) {
  from = skipBlanks(from);
  while (end > from && (end[-1] == ' ' || end[-1] == '\t'))
    end--;
  size_t length = end > from ? (size_t)(end - from) : 0;
  length = length < NameSize ? length : NameSize - 1;
  memcpy(to, from, length);
  to[length] = 0;
}

void readIni(const char *at, Config *config) {
  char section[NameSize] = "";
  memset(config, 0, sizeof *config);
  while (*at) {
    const char *end = at + strcspn(at, "\n"), *start = skipBlanks(at);
    const char *equals = memchr(start, '=', (size_t)(end - start));
    if (*start == '[' && end[-1] == ']') {
      copyTrimmed(section, start + 1, end - 1);
    } else if (equals && config->count < MaxSettings) {
      Setting *setting = &config->settings[config->count++];
      memcpy(setting->section, section, NameSize);
      copyTrimmed(setting->key, start, equals);
      copyTrimmed(setting->value, equals + 1, end);
    } else if (*start != ';' && start != end) {
      config->errors++;
    }
    at = *end ? end + 1 : end;
  }
}

const char *settingOf(const Config *config, const char *section, const char *key, const char *fallback) {
  for (int i = config->count - 1; i >= 0; i--)
    if (!strcmp(config->settings[i].section, section) && !strcmp(config->settings[i].key, key))
      return config->settings[i].value;
  return fallback;
}

// "-12.5" is -1250; anything else than a number with up to two decimals is refused.
static int parseCents(const char *text, int64_t *cents) {
  int negative = *text == '-', decimals = -1;
  *cents = 0;
  for (text += negative; *text; text++) {
    if (*text == '.' && decimals < 0) {
      decimals = 0;
      continue;
    }
    if (*text < '0' || *text > '9' || decimals == 2)
      return 0;
    *cents = *cents * 10 + (*text - '0');
    decimals += decimals >= 0;
  }
  for (int i = decimals < 0 ? 0 : decimals; i < 2; i++)
    *cents *= 10;
  *cents = negative ? -*cents : *cents;
  return 1;
}

static Group *groupNamed(Report *report, const char *name) {
  for (int i = 0; i < report->count; i++)
    if (strncmp(report->groups[i].name, name, NameSize - 1) == 0)
      return &report->groups[i];
  if (report->count == MaxGroups)
    return NULL;
  Group *group = &report->groups[report->count++];
  memset(group, 0, sizeof *group);
  strncpy(group->name, name, NameSize - 1);
  return group;
}

void addRow(Report *report, const Row *row, int groupBy, int amountIn) {
  int64_t cents;
  if (row->malformed || row->count <= groupBy || row->count <= amountIn || !parseCents(row->fields[amountIn], &cents)) {
    report->skipped++;
    return;
  }
  Group *group = groupNamed(report, row->fields[groupBy]);
  if (!group)
    return;
  group->rows++;
  group->cents += cents;
  if (cents > group->largest)
    group->largest = cents;
}

static int byName(const void *a, const void *b) { return strcmp(((const Group *)a)->name, ((const Group *)b)->name); }

static int byTotal(const void *a, const void *b) {
  int64_t x = ((const Group *)a)->cents, y = ((const Group *)b)->cents;
  return x != y ? (x < y) - (x > y) : byName(a, b);
}

static void writeTable(Buffer *out) {
  static const char *const Cities[] = {"Oslo", "\"Bergen, N\"", "Lima", "\"\"\"Q\"\" city\"", "Ube", "Ur"};
  uint32_t state = 5;
  for (int i = 0; i < Rows; i++) {
    state = state * 1664525u + 1013904223u;
    uint32_t r = state >> 8;
    print(out, "%d,%s,%s%u.%u,", i, Cities[r % 6], r % 11 ? "" : "-", r % 5000, r % 100);
    print(out, r % 97 ? "k%u,\"note\n%u\"\n" : "k%u,\"bad\"%u\n", r % 40, r % 1000);
  }
}

static uint32_t summarise(const char *table, const char *ini, Buffer *out) {
  static Config config;
  static Report report;
  static Row row;
  readIni(ini, &config);
  int groupBy = (int)strtol(settingOf(&config, "report", "group", "1"), NULL, 10);
  int amountIn = (int)strtol(settingOf(&config, "report", "amount", "2"), NULL, 10);
  report.count = report.skipped = 0;
  while (*table) {
    table = readCsvRow(table, &row);
    addRow(&report, &row, groupBy, amountIn);
  }
  int sortByTotal = !strcmp(settingOf(&config, "report", "sort", "name"), "total");
  qsort(report.groups, (size_t)report.count, sizeof(Group), sortByTotal ? byTotal : byName);
  out->used = 0;
  for (int i = 0; i < report.count; i++) {
    const Group *g = &report.groups[i];
    print(out, "%-12s %5d %10.2f %10.2f\n", g->name, g->rows, (double)g->cents / 100, (double)g->largest / 100);
  }
  print(out, "skipped %d errors %d\n", report.skipped, config.errors);
  uint32_t hash = 0;
  for (size_t i = 0; i < out->used; i++)
    hash = hash * 31 + (unsigned char)out->bytes[i];
  return hash;
}

int main(void) {
  static const char *const Inis[] = {"; cities\n[report]\n group = 1\n amount=2\n sort = total\n",
                                     "[report]\ngroup=3\nbroken line\n[other]\nsort=total\n",
                                     "[report]\ngroup=0\ngroup=1\namount=0\n"};
  Buffer table = {0}, out = {0};
  writeTable(&table);
  uint32_t hash = 0;
  for (int round = 0; round < 12; round++)
    hash = hash * 131 + summarise(table.bytes, Inis[round % 3], &out);
  printf("csv bytes %zu report %zu hash %08x\n", table.used, out.used, hash);
  free(table.bytes);
  free(out.bytes);
  return 0;
}
