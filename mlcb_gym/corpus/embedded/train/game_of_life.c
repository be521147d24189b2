// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cellular automata: Life bytewise and bit-parallel, an elementary rule, Langton's ant, cycle search.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { Size = 64, Generations = 200, RowSize = 256 };

typedef struct {
  uint8_t cells[Size][Size];
} Board;

typedef struct {
  uint64_t rows[Size];
} Bitboard;

typedef struct {
  int x, y, heading;
} Ant;

typedef int (*Rule)(int alive, int neighbours);

static int conway(int alive, int neighbours) { return neighbours == 3 || (alive && neighbours == 2); }
static int highLife(int alive, int neighbours) { return conway(alive, neighbours) || (!alive && neighbours == 6); }
static int dayAndNight(int alive, int neighbours) {
  switch (neighbours) {
  case 3:
  case 6:
  case 7:
  case 8: return 1;
  case 4: return alive;
  default: return 0;
  }
}

static void seedBoard(Board *board, uint32_t seed, int density) {
  for (int y = 0; y < Size; y++)
    for (int x = 0; x < Size; x++) {
      seed = seed * 1664525u + 1013904223u;
      board->cells[y][x] = (int)(seed >> 24) < density;
    }
}

static int neighboursOf(const Board *board, int x, int y) {
  int count = 0;
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++)
      if (dx || dy)
        count += board->cells[(y + dy + Size) % Size][(x + dx + Size) % Size];
  return count;
}

void stepBoard(const Board *now, Board *next, Rule rule) {
  for (int y = 0; y < Size; y++)
    for (int x = 0; x < Size; x++)
      next->cells[y][x] = (uint8_t)rule(now->cells[y][x], neighboursOf(now, x, y));
}

static void packBoard(const Board *board, Bitboard *bits) {
  for (int y = 0; y < Size; y++) {
    bits->rows[y] = 0;
    for (int x = 0; x < Size; x++)
      bits->rows[y] |= (uint64_t)board->cells[y][x] << x;
  }
}

static uint64_t turnLeft(uint64_t row) { return row << 1 | row >> 63; }
static uint64_t turnRight(uint64_t row) { return row >> 1 | row << 63; }

// Adds a bit to 64 counters at once; the counters saturate at seven.
static void count(uint64_t sum[3], uint64_t bit) {
  uint64_t carry = sum[0] & bit;
  sum[0] ^= bit;
  uint64_t carryHigh = sum[1] & carry;
  sum[1] ^= carry;
  sum[2] |= carryHigh;
}

// Conway's rule on a torus, a row of 64 cells at a time.
void stepBits(const Bitboard *now, Bitboard *next) {
  for (int y = 0; y < Size; y++) {
    uint64_t up = now->rows[(y + Size - 1) % Size], row = now->rows[y], down = now->rows[(y + 1) % Size];
    uint64_t sum[3] = {0, 0, 0};
    count(sum, up);
    count(sum, turnLeft(up));
    count(sum, turnRight(up));
    count(sum, turnLeft(row));
    count(sum, turnRight(row));
    count(sum, down);
    count(sum, turnLeft(down));
    count(sum, turnRight(down));
    next->rows[y] = ~sum[2] & sum[1] & (sum[0] | row);
  }
}

static int population(const Board *board) {
  int total = 0;
  for (int y = 0; y < Size; y++)
    for (int x = 0; x < Size; x++)
      total += board->cells[y][x];
  return total;
}

static uint64_t hashBits(const Bitboard *bits) {
  uint64_t hash = 14695981039346656037u;
  for (int y = 0; y < Size; y++)
    hash = (hash ^ bits->rows[y]) * 1099511628211u;
  return hash;
}

// Brent's algorithm: the period into which the board falls, or 0 when none shows up.
int findPeriod(const Board *start, int limit) {
  Bitboard slow, fast, next;
  packBoard(start, &slow);
  fast = slow;
  int power = 1, length = 0;
  for (int i = 0; i < limit; i++) {
    if (length == power) {
      slow = fast;
      power *= 2;
      length = 0;
    }
    stepBits(&fast, &next);
    fast = next;
    length++;
    if (memcmp(&slow, &fast, sizeof slow) == 0)
      return length;
  }
  return 0;
}

static uint32_t elementary(int rule, int steps) {
  uint8_t rows[2][RowSize] = {{0}};
  uint32_t hash = 0;
  rows[0][RowSize / 2] = 1;
  for (int step = 0; step < steps; step++) {
    const uint8_t *now = rows[step & 1];
    uint8_t *next = rows[~step & 1];
    for (int i = 0; i < RowSize; i++) {
      int pattern = now[(i + RowSize - 1) % RowSize] << 2 | now[i] << 1 | now[(i + 1) % RowSize];
      next[i] = rule >> pattern & 1;
    }
    hash = hash * 2 + next[RowSize / 2] + (hash >> 31);
  }
  return hash;
}

static void walkAnt(Board *board, Ant *ant, int steps) {
  static const int Steps[4][2] = {{0, -1}, {1, 0}, {0, 1}, {-1, 0}};
  for (int i = 0; i < steps; i++) {
    uint8_t *cell = &board->cells[ant->y][ant->x];
    ant->heading = (ant->heading + (*cell ? 3 : 1)) & 3;
    *cell ^= 1;
    ant->x = (ant->x + Steps[ant->heading][0] + Size) % Size;
    ant->y = (ant->y + Steps[ant->heading][1] + Size) % Size;
  }
}

int main(void) {
  static const Rule Rules[] = {conway, highLife, dayAndNight};
  static Board boards[2], start;
  Bitboard bits, next, packed;
  int differing = 0, total = 0, periods = 0;
  for (size_t r = 0; r < sizeof Rules / sizeof *Rules; r++) {
    seedBoard(&boards[0], (uint32_t)r + 1, 90);
    packBoard(&boards[0], &bits);
    for (int g = 0; g < Generations; g++) {
      stepBoard(&boards[g & 1], &boards[~g & 1], Rules[r]);
      stepBits(&bits, &next);
      bits = next;
    }
    packBoard(&boards[Generations & 1], &packed);
    differing += Rules[r] == conway && memcmp(&bits, &packed, sizeof bits) != 0;
    total += population(&boards[Generations & 1]);
  }
  for (uint32_t seed = 0; seed < 8; seed++) {
    seedBoard(&start, seed, 60);
    periods = periods * 3 + findPeriod(&start, 4000);
  }
  Ant ant = {Size / 2, Size / 2, 0};
  walkAnt(&start, &ant, 500000);
  uint32_t rows = elementary(30, 2000) ^ elementary(110, 2000) ^ elementary(90, 2000);
  printf("life total %d differing %d periods %d hash %016llx\n", total, differing, periods,
         (unsigned long long)hashBits(&bits));
  printf("ant %d %d population %d rows %08x\n", ant.x, ant.y, population(&start), rows);
  return 0;
}
