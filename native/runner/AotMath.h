/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the C library computes one by one, in a form that compilers vectorize. A part of the models that mlcb_gym/export/aot.py compiles. */
#ifndef MLCB_AOT_MATH_H
#define MLCB_AOT_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* The natural logarithm of a positive normal number (Cephes, logf): 2^exponent times a mantissa between the roots of 1/2 and of 2. */
static inline float mlcb_aot_logf(float x) {
  int32_t bits;
  memcpy(&bits, &x, sizeof bits);
  const int32_t root_of_half = 0x3f3504f3;
  const int32_t exponent = (bits - root_of_half) >> 23;
  bits -= (int32_t)((uint32_t)exponent << 23);
  float f;
  memcpy(&f, &bits, sizeof f);
  f -= 1;
  float p = 7.0376836292e-2f;
  p = p * f - 1.1514610310e-1f;
  p = p * f + 1.1676998740e-1f;
  p = p * f - 1.2420140846e-1f;
  p = p * f + 1.4249322787e-1f;
  p = p * f - 1.6668057665e-1f;
  p = p * f + 2.0000714765e-1f;
  p = p * f - 2.4999993993e-1f;
  p = p * f + 3.3333331174e-1f;
  return f + (f * f * (f * p - 0.5f) + (float)exponent * 0.69314718056f);
}

/* asinhf within 1e-6 of its value: a series near 0, where the logarithm of almost 1 would be left with few digits. */
static inline float mlcb_aot_asinhf(float x) {
  const float a = fabsf(x), square = a * a;
  const float series = a * (1 + square * (-1 / 6.0f + square * (3 / 40.0f + square * (-5 / 112.0f + square * (35 / 1152.0f)))));
  const int is_large = a >= 1e4f; /* 1 is nothing beside its square */
  const float log = mlcb_aot_logf(is_large ? a : a + sqrtf(square + 1)) + (is_large ? 0.69314718056f : 0);
  const float result = a < 0.25f ? series : log;
  return a < INFINITY ? copysignf(result, x) : x;
}

#define asinhf mlcb_aot_asinhf

#endif
