// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Exact search: sudoku by constraint propagation, N queens by bit masks, knight's tours by degree.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { Cells = 81, AllDigits = 0x1ff, BoardSize = 24 };

typedef struct {
  uint16_t options[Cells]; // bit d set: digit d + 1 is still possible
} Grid;

static uint8_t peers[Cells][20];
static unsigned long searchNodes;

static int bitCount(unsigned x) {
  int count = 0;
  for (; x; x &= x - 1)
    count++;
  return count;
}

static int sameUnit(int a, int b) {
  int rowA = a / 9, rowB = b / 9, columnA = a % 9, columnB = b % 9;
  return rowA == rowB || columnA == columnB || (rowA / 3 == rowB / 3 && columnA / 3 == columnB / 3);
}

static void findPeers(void) {
  for (int a = 0; a < Cells; a++) {
    int count = 0;
    for (int b = 0; b < Cells; b++)
      if (a != b && sameUnit(a, b))
        peers[a][count++] = (uint8_t)b;
  }
}

static int assign(Grid *grid, int cell, uint16_t digit);

static int eliminate(Grid *grid, int cell, uint16_t digit) {
  uint16_t *options = &grid->options[cell];
  if (!(*options & digit))
    return 1;
  *options &= (uint16_t)~digit;
  if (*options == 0)
    return 0;
  if ((*options & (*options - 1)) != 0)
    return 1;
  return assign(grid, cell, *options);
}

static int assign(Grid *grid, int cell, uint16_t digit) {
  grid->options[cell] = digit;
  for (int i = 0; i < 20; i++)
    if (!eliminate(grid, peers[cell][i], digit))
      return 0;
  return 1;
}

static int mostConstrained(const Grid *grid) {
  int best = -1, fewest = 10;
  for (int cell = 0; cell < Cells; cell++) {
    int count = bitCount(grid->options[cell]);
    if (count > 1 && count < fewest) {
      fewest = count;
      best = cell;
    }
  }
  return best;
}

// Counts solutions up to `limit`; the last one found stays in `solution`.
static int solve(const Grid *grid, Grid *solution, int limit) {
  searchNodes++;
  int cell = mostConstrained(grid), found = 0;
  if (cell < 0) {
    *solution = *grid;
    return 1;
  }
  for (uint16_t digit = 1; digit < AllDigits && found < limit; digit = (uint16_t)(digit << 1)) {
    Grid next = *grid;
    if ((grid->options[cell] & digit) && assign(&next, cell, digit))
      found += solve(&next, solution, limit - found);
  }
  return found;
}

int solveSudoku(const char *givens, Grid *solution, int limit) {
  Grid grid;
  for (int i = 0; i < Cells; i++)
    grid.options[i] = AllDigits;
  for (int i = 0; i < Cells; i++)
    if (givens[i] != '.' && !assign(&grid, i, (uint16_t)(1 << (givens[i] - '1'))))
      return 0;
  return solve(&grid, solution, limit);
}

static int isSolved(const Grid *grid) {
  for (int cell = 0; cell < Cells; cell++)
    for (int i = 0; i < 20; i++)
      if (bitCount(grid->options[cell]) != 1 || grid->options[cell] == grid->options[peers[cell][i]])
        return 0;
  return 1;
}

static uint32_t hashGrid(const Grid *grid) {
  uint32_t hash = 0;
  for (int i = 0; i < Cells; i++)
    hash = hash * 31 + grid->options[i];
  return hash;
}

unsigned countQueens(unsigned all, unsigned columns, unsigned left, unsigned right) {
  if (columns == all)
    return 1;
  unsigned count = 0;
  for (unsigned open = all & ~(columns | left | right); open; open &= open - 1) {
    unsigned bit = open & (0u - open);
    count += countQueens(all, columns | bit, (left | bit) << 1, (right | bit) >> 1);
  }
  return count;
}

static const int8_t Jumps[8][2] = {{1, 2}, {2, 1}, {2, -1}, {1, -2}, {-1, -2}, {-2, -1}, {-2, 1}, {-1, 2}};

static int isOpen(int board[BoardSize][BoardSize], int x, int y) {
  return x >= 0 && x < BoardSize && y >= 0 && y < BoardSize && board[y][x] == 0;
}

static int openNeighbours(int board[BoardSize][BoardSize], int x, int y) {
  int count = 0;
  for (int j = 0; j < 8; j++)
    count += isOpen(board, x + Jumps[j][0], y + Jumps[j][1]);
  return count;
}

// Warnsdorff's rule: go where the fewest ways lead on. Returns how many squares were reached.
int knightsTour(int board[BoardSize][BoardSize], int x, int y) {
  memset(board, 0, sizeof(int) * BoardSize * BoardSize);
  int step = 1;
  for (;; step++) {
    board[y][x] = step;
    int best = -1, fewest = 9;
    for (int j = 0; j < 8; j++) {
      int nextX = x + Jumps[j][0], nextY = y + Jumps[j][1];
      if (!isOpen(board, nextX, nextY))
        continue;
      int ways = openNeighbours(board, nextX, nextY);
      if (ways < fewest) {
        fewest = ways;
        best = j;
      }
    }
    if (best < 0)
      return step;
    x += Jumps[best][0];
    y += Jumps[best][1];
  }
}

int main(void) {
  static const char *const Puzzles[] = {
      "4.....8.5.3..........7......2.....6.....8.4......1.......6.3.7.5..2.....1.4......",
      "52...6.........7.13...........4..8..6......5...........418.........3..2...87.....",
      "..............3.85..1.2.......5.7.....4...1...9.......5......73..2.1........4...9",
      "..3.2.6..9..3.5..1..18.64....81.29..7.......8..67.82....26.95..8..2.3..9..5.1.3..",
      "1...............2................3................4................5............."};
  static int board[BoardSize][BoardSize];
  findPeers();
  uint32_t hash = 0;
  int solutions = 0, solved = 0, reached = 0;
  for (size_t i = 0; i < sizeof Puzzles / sizeof *Puzzles; i++) {
    Grid solution;
    solutions += solveSudoku(Puzzles[i], &solution, i == 4 ? 30000 : i == 2 ? 1 : 2);
    solved += isSolved(&solution);
    hash = hash * 31 + hashGrid(&solution);
  }
  printf("sudoku solutions %d solved %d nodes %lu hash %08x\n", solutions, solved, searchNodes, hash);
  for (int start = 0; start < BoardSize; start++)
    reached += knightsTour(board, start, start / 2);
  printf("queens %u knight %d\n", countQueens((1u << 12) - 1, 0, 0, 0), reached);
  return 0;
}
