// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gravity three ways: leapfrog over all pairs, Runge-Kutta, and a Barnes-Hut quadtree in the plane.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { Planets = 5, Stars = 300, MaxCells = 4 * Stars, Steps = 9000 };

typedef struct {
  double x, y, z;
} Vector;

typedef struct {
  Vector position, velocity;
  double mass;
} Body;

typedef struct {
  double centreX, centreY, half; // the square
  double massX, massY, mass;     // weighted sums until finished, then the centre of mass
  int child[4], star;            // star: the only one here, or -1
} Cell;

typedef struct {
  Cell cells[MaxCells];
  int count;
} Quadtree;

static double squareRoot(double x) {
  if (x <= 0)
    return 0;
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  bits = (bits >> 1) + 0x1ff8000000000000u;
  double root;
  memcpy(&root, &bits, sizeof root);
  for (int i = 0; i < 5; i++)
    root = 0.5 * (root + x / root);
  return root;
}

static Vector plus(Vector a, Vector b) { return (Vector){a.x + b.x, a.y + b.y, a.z + b.z}; }
static Vector minus(Vector a, Vector b) { return (Vector){a.x - b.x, a.y - b.y, a.z - b.z}; }
static Vector scaled(Vector a, double k) { return (Vector){a.x * k, a.y * k, a.z * k}; }
static double dot(Vector a, Vector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

static void makePlanets(Body *bodies) {
  static const double Distance[Planets] = {0, 1, 1.9, 3.1, 5.2}, Mass[Planets] = {1, 3e-3, 1e-3, 2e-4, 5e-4};
  Vector momentum = {0, 0, 0};
  for (int i = 0; i < Planets; i++) {
    double speed = i ? squareRoot(1 / Distance[i]) : 0;
    bodies[i] = (Body){{Distance[i], 0, 0.05 * i}, {0, speed, 0.01 * speed * i}, Mass[i]};
    momentum = plus(momentum, scaled(bodies[i].velocity, Mass[i]));
  }
  bodies[0].velocity = scaled(momentum, -1);
}

static double energyOf(const Body *bodies, int count) {
  double energy = 0;
  for (int i = 0; i < count; i++) {
    energy += 0.5 * bodies[i].mass * dot(bodies[i].velocity, bodies[i].velocity);
    for (int j = i + 1; j < count; j++) {
      Vector d = minus(bodies[i].position, bodies[j].position);
      energy -= bodies[i].mass * bodies[j].mass / squareRoot(dot(d, d));
    }
  }
  return energy;
}

static void accelerations(const Body *bodies, int count, Vector *out) {
  memset(out, 0, (size_t)count * sizeof *out);
  for (int i = 0; i < count; i++)
    for (int j = i + 1; j < count; j++) {
      Vector d = minus(bodies[j].position, bodies[i].position);
      double square = dot(d, d), cube = square * squareRoot(square);
      out[i] = plus(out[i], scaled(d, bodies[j].mass / cube));
      out[j] = minus(out[j], scaled(d, bodies[i].mass / cube));
    }
}

void leapfrog(Body *bodies, int count, double dt) {
  Vector pull[Planets];
  for (int i = 0; i < count; i++)
    bodies[i].position = plus(bodies[i].position, scaled(bodies[i].velocity, dt / 2));
  accelerations(bodies, count, pull);
  for (int i = 0; i < count; i++) {
    bodies[i].velocity = plus(bodies[i].velocity, scaled(pull[i], dt));
    bodies[i].position = plus(bodies[i].position, scaled(bodies[i].velocity, dt / 2));
  }
}

void rungeKutta(Body *bodies, int count, double dt) {
  static const double Ahead[4] = {0, 0.5, 0.5, 1}, Weight[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
  Body start[Planets], stage[Planets] = {{{0, 0, 0}, {0, 0, 0}, 0}};
  Vector pull[Planets], speed[Planets];
  memcpy(start, bodies, (size_t)count * sizeof *bodies);
  memset(pull, 0, sizeof pull);
  memset(speed, 0, sizeof speed);
  for (int s = 0; s < 4; s++) {
    for (int i = 0; i < count; i++) {
      stage[i] = start[i];
      stage[i].position = plus(start[i].position, scaled(speed[i], Ahead[s] * dt));
      stage[i].velocity = plus(start[i].velocity, scaled(pull[i], Ahead[s] * dt));
    }
    accelerations(stage, count, pull);
    for (int i = 0; i < count; i++) {
      speed[i] = stage[i].velocity;
      bodies[i].position = plus(bodies[i].position, scaled(speed[i], Weight[s] * dt));
      bodies[i].velocity = plus(bodies[i].velocity, scaled(pull[i], Weight[s] * dt));
    }
  }
}

static int newCell(Quadtree *tree, double x, double y, double half) {
  tree->cells[tree->count] = (Cell){x, y, half, 0, 0, 0, {-1, -1, -1, -1}, -1};
  return tree->count++;
}

static int quadrantOf(const Cell *cell, Vector p) { return (p.x >= cell->centreX) + 2 * (p.y >= cell->centreY); }

static int childFor(Quadtree *tree, int cell, Vector p) {
  int quadrant = quadrantOf(&tree->cells[cell], p);
  if (tree->cells[cell].child[quadrant] < 0) {
    Cell c = tree->cells[cell];
    double quarter = c.half / 2;
    int child = newCell(tree, c.centreX + (quadrant & 1 ? quarter : -quarter),
                        c.centreY + (quadrant & 2 ? quarter : -quarter), quarter);
    tree->cells[cell].child[quadrant] = child;
  }
  return tree->cells[cell].child[quadrant];
}

static void addMass(Cell *cell, const Body *star) {
  cell->mass += star->mass;
  cell->massX += star->mass * star->position.x;
  cell->massY += star->mass * star->position.y;
}

static void insertStar(Quadtree *tree, const Body *stars, int star) {
  int at = 0;
  for (;;) {
    int empty = tree->cells[at].mass == 0, resident = tree->cells[at].star;
    addMass(&tree->cells[at], &stars[star]);
    if (empty || tree->cells[at].half < 1e-3) {
      tree->cells[at].star = empty ? star : resident;
      return;
    }
    if (resident >= 0) {
      int below = childFor(tree, at, stars[resident].position);
      addMass(&tree->cells[below], &stars[resident]);
      tree->cells[below].star = resident;
      tree->cells[at].star = -1;
    }
    if (tree->count + 8 > MaxCells)
      return;
    at = childFor(tree, at, stars[star].position);
  }
}

static Vector treePull(const Quadtree *tree, int at, Vector p, double opening) {
  const Cell *cell = &tree->cells[at];
  double dx = cell->massX / cell->mass - p.x, dy = cell->massY / cell->mass - p.y;
  double square = dx * dx + dy * dy + 0.01;
  if (cell->star >= 0 || 4 * cell->half * cell->half < opening * square) {
    double factor = cell->mass / (square * squareRoot(square));
    return (Vector){dx * factor, dy * factor, 0};
  }
  Vector sum = {0, 0, 0};
  for (int q = 0; q < 4; q++)
    if (cell->child[q] >= 0)
      sum = plus(sum, treePull(tree, cell->child[q], p, opening));
  return sum;
}

static void makeStars(Body *stars) {
  uint32_t seed = 77;
  for (int i = 0; i < Stars; i++) {
    double v[3];
    for (int k = 0; k < 3; k++) {
      seed = seed * 1664525u + 1013904223u;
      v[k] = (double)(seed >> 8) / (1 << 24);
    }
    stars[i] =
        (Body){{v[0] * 16 - 8, v[1] * 16 - 8, 0}, {0.3 * (v[1] - 0.5), 0.3 * (0.5 - v[0]), 0}, 0.01 + 0.01 * v[2]};
  }
}

static int galaxyStep(Body *stars, double dt) {
  static Quadtree tree;
  tree.count = 0;
  newCell(&tree, 0, 0, 64);
  for (int i = 0; i < Stars; i++)
    insertStar(&tree, stars, i);
  for (int i = 0; i < Stars; i++) {
    stars[i].velocity = plus(stars[i].velocity, scaled(treePull(&tree, 0, stars[i].position, 0.5), dt));
    stars[i].position = plus(stars[i].position, scaled(stars[i].velocity, dt));
  }
  return tree.count;
}

int main(void) {
  static void (*const Methods[])(Body *, int, double) = {leapfrog, rungeKutta};
  static Body planets[Planets], stars[Stars];
  for (int m = 0; m < 2; m++) {
    makePlanets(planets);
    double before = energyOf(planets, Planets);
    for (int step = 0; step < Steps; step++)
      Methods[m](planets, Planets, 0.01);
    printf("planets %.6f -> %.6f at %.4f %.4f\n", before, energyOf(planets, Planets), planets[1].position.x,
           planets[1].position.y);
  }
  makeStars(stars);
  int cells = 0;
  double spread = 0;
  for (int step = 0; step < 60; step++)
    cells += galaxyStep(stars, 0.05);
  for (int i = 0; i < Stars; i++)
    spread += dot(stars[i].position, stars[i].position);
  printf("galaxy cells %d spread %.4f\n", cells, spread);
  return 0;
}
