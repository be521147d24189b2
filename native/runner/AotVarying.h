/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How a question of any length is put to models that are compiled for some lengths each: behind its end are zeros, up to the next of them.
 * A part of the shared object that mlcb_gym/export/aot.py makes. */
#ifndef MLCB_AOT_VARYING_H
#define MLCB_AOT_VARYING_H

#include "AotAbi.h"

#include <stdlib.h>
#include <string.h>

enum { MLCB_AOT_RANK = 8, MLCB_AOT_ALIGNMENT = 64 };

/* A model, and the length that it is compiled for. */
struct mlcb_aot_size {
  int64_t length;
  void (*model)(const void *const *inputs, float *output);
};

/* An input that the model reads, and that varies: 0 stands for a length that does. */
struct mlcb_aot_varying {
  size_t input, element_size, rank;
  int64_t shape[MLCB_AOT_RANK];
};

/* The bytes of what an index of the axes before this one leaves. */
static size_t mlcb_aot_bytes(const struct mlcb_aot_varying *v, size_t axis, int64_t length) {
  size_t bytes = v->element_size;
  for (; axis < v->rank; ++axis)
    bytes *= (size_t)(v->shape[axis] ? v->shape[axis] : length);
  return bytes;
}

static void mlcb_aot_spread(char *to, int64_t larger, const char *from, int64_t length, const struct mlcb_aot_varying *v, size_t axis) {
  if (axis == v->rank || mlcb_aot_bytes(v, axis + 1, length) == mlcb_aot_bytes(v, axis + 1, larger)) {
    memcpy(to, from, mlcb_aot_bytes(v, axis, length));
    return;
  }
  const size_t rows = (size_t)(v->shape[axis] ? v->shape[axis] : length);
  for (size_t row = 0; row < rows; ++row)
    mlcb_aot_spread(to + row * mlcb_aot_bytes(v, axis + 1, larger), larger, from + row * mlcb_aot_bytes(v, axis + 1, length), length, v, axis + 1);
}

static size_t mlcb_aot_room(const struct mlcb_aot_varying *v, int64_t length) {
  const size_t bytes = mlcb_aot_bytes(v, 0, length);
  return (bytes + MLCB_AOT_ALIGNMENT - 1) / MLCB_AOT_ALIGNMENT * MLCB_AOT_ALIGNMENT;
}

/* Asks the smallest model that is long enough; sizes ascend, and the last is for the declared maximum. `padded` is a copy of `inputs`. */
static void mlcb_aot_ask(const struct mlcb_aot_size *size, const struct mlcb_aot_varying *varying, size_t count, const void **padded, int64_t length,
                         float *output) {
  while (size->length < length)
    ++size;
  if (size->length == length) {
    size->model(padded, output);
    return;
  }
  size_t room = MLCB_AOT_ALIGNMENT;
  for (size_t i = 0; i < count; ++i)
    room += mlcb_aot_room(&varying[i], size->length);
  char *space = calloc(room, 1);
  if (!space)
    abort();
  char *to = space + MLCB_AOT_ALIGNMENT - (uintptr_t)space % MLCB_AOT_ALIGNMENT;
  for (size_t i = 0; i < count; to += mlcb_aot_room(&varying[i++], size->length)) {
    mlcb_aot_spread(to, size->length, padded[varying[i].input], length, &varying[i], 0);
    padded[varying[i].input] = to;
  }
  size->model(padded, output);
  free(space);
}

#endif
