// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs loop kernels: `program [GROUPS]` prints a line for each, its name and a checksum, and with GROUPS what a run takes in the best of so many groups of them.
// What defines the kernels and KERNELS, a list of ENTRY(name, x, y, z), is included.
#define _POSIX_C_SOURCE 199309L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef N
#define N 4096 // elements of an array, and iterations of most loops
#endif
#define M 64  // rows and columns of a matrix
#define PAD 16 // elements after the last one, for offsets

#define ARRAYS(ARRAY)                                                                                                  \
  ARRAY(float, a) ARRAY(float, b) ARRAY(float, c) ARRAY(float, d) ARRAY(float, e)                                      \
  ARRAY(double, u) ARRAY(double, v) ARRAY(double, w)                                                                   \
  ARRAY(uint32_t, p) ARRAY(uint32_t, q) ARRAY(uint32_t, r)                                                             \
  ARRAY(uint8_t, s) ARRAY(uint8_t, t)
#define DECLARE(TYPE, NAME) TYPE NAME[N + PAD];
ARRAYS(DECLARE)
float aa[M][M], bb[M][M], cc[M][M];
int ix[N], once[N]; // indices into an array: any, and each one once

typedef float Kernel(int n, float *x, float *y, float *z);

#include KERNELS_FILE

// Not optimized, so that whoever is asked about loops, or counts what they cost, is so about the kernels' alone.
#define DRIVER __attribute__((noinline, optnone))

static uint32_t state;
DRIVER static uint32_t draw(void) {
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

// From 0 to 255 where the type is an integer's, to 2 where it is not.
DRIVER static void fill(void) {
  state = 12345;
#define FILL(TYPE, NAME)                                                                                               \
  for (int i = 0; i < N + PAD; i++)                                                                                    \
    NAME[i] = (TYPE)(draw() % 256) / (TYPE)((TYPE)0.5 == 0 ? 1 : 128);
  ARRAYS(FILL)
  for (int i = 0; i < M * M; i++) {
    (&aa[0][0])[i] = (float)(draw() % 256) / 128;
    (&bb[0][0])[i] = (float)(draw() % 256) / 128;
    (&cc[0][0])[i] = (float)(draw() % 256) / 128;
  }
  for (int i = 0; i < N; i++) {
    ix[i] = (int)(draw() % N);
    once[i] = (int)((uint32_t)i * 7u % N); // N is no multiple of 7
  }
}

#define SAVED(TYPE, NAME) static TYPE saved_##NAME[N + PAD];
ARRAYS(SAVED)
static float saved_aa[M][M], saved_bb[M][M], saved_cc[M][M];

DRIVER static void save(void) {
#define SAVE(TYPE, NAME) memcpy(saved_##NAME, NAME, sizeof NAME);
  ARRAYS(SAVE)
  memcpy(saved_aa, aa, sizeof aa);
  memcpy(saved_bb, bb, sizeof bb);
  memcpy(saved_cc, cc, sizeof cc);
}

DRIVER static void restore(void) {
#define RESTORE(TYPE, NAME) memcpy(NAME, saved_##NAME, sizeof NAME);
  ARRAYS(RESTORE)
  memcpy(aa, saved_aa, sizeof aa);
  memcpy(bb, saved_bb, sizeof bb);
  memcpy(cc, saved_cc, sizeof cc);
}

DRIVER static uint64_t hash(uint64_t seed, const void *bytes, size_t length) {
  for (size_t i = 0; i < length; i++)
    seed = (seed ^ ((const uint8_t *)bytes)[i]) * 1099511628211u;
  return seed;
}

DRIVER static uint64_t checksum(float result) {
  uint64_t sum = hash(14695981039346656037u, &result, sizeof result);
#define HASH(TYPE, NAME) sum = hash(sum, NAME, sizeof NAME);
  ARRAYS(HASH)
  sum = hash(sum, aa, sizeof aa);
  sum = hash(sum, bb, sizeof bb);
  return hash(sum, cc, sizeof cc);
}

DRIVER static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static const struct {
  const char *name;
  Kernel *run;
  float *x, *y, *z;
} table[] = {
#define ENTRY(NAME, X, Y, Z) {#NAME, NAME, X, Y, Z},
    KERNELS(ENTRY)};

// What a run takes in the best of so many groups of runs, each run on what the arrays were filled with: a clock ticks too slowly for one.
#define GROUP 8
DRIVER static double least_seconds(size_t k, int groups) {
  Kernel *volatile run = table[k].run; // nothing is known of how it is called
  double least = 1e9;
  fill();
  save();
  for (int i = 0; i < groups; i++) {
    double seconds = 0;
    for (int j = 0; j < GROUP; j++) {
      restore();
      double start = now();
      run(N, table[k].x, table[k].y, table[k].z);
      seconds += now() - start;
    }
    least = seconds < least ? seconds : least;
  }
  return least / GROUP;
}

// What counts where somebody times this program: the kernels alone.
DRIVER double mlcb_seconds(void) {
  double total = 0;
  for (size_t k = 0; k < sizeof table / sizeof *table; k++)
    total += least_seconds(k, 10);
  return total;
}

DRIVER int main(int argc, char **argv) {
  int groups = argc > 1 ? atoi(argv[1]) : 0;
  for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
    Kernel *volatile run = table[k].run;
    fill();
    printf("%s %016llx", table[k].name, (unsigned long long)checksum(run(N, table[k].x, table[k].y, table[k].z)));
    if (groups > 0)
      printf(" %.9f", least_seconds(k, groups));
    putchar('\n');
  }
}
