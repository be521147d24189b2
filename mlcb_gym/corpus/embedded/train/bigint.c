// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Unsigned big integers: schoolbook and Karatsuba products, division, powers modulo, decimal output.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MaxLimbs = 1200, KaratsubaLimbs = 24 };

typedef struct {
  uint32_t limbs[MaxLimbs]; // least significant first
  int count;
} Big;

static void trim(Big *a) {
  while (a->count > 0 && a->limbs[a->count - 1] == 0)
    a->count--;
}

static Big fromSmall(uint32_t value) {
  Big result;
  result.limbs[0] = value;
  result.count = value != 0;
  return result;
}

static void copyBig(Big *to, const Big *from) {
  to->count = from->count;
  memcpy(to->limbs, from->limbs, (size_t)from->count * sizeof *from->limbs);
}

int bigCompare(const Big *a, const Big *b) {
  if (a->count != b->count)
    return a->count < b->count ? -1 : 1;
  for (int i = a->count - 1; i >= 0; i--)
    if (a->limbs[i] != b->limbs[i])
      return a->limbs[i] < b->limbs[i] ? -1 : 1;
  return 0;
}

static uint32_t addTo(uint32_t *to, int count, const uint32_t *from, int fromCount) {
  uint64_t carry = 0;
  for (int i = 0; i < count && (i < fromCount || carry); i++) {
    carry += (uint64_t)to[i] + (i < fromCount ? from[i] : 0);
    to[i] = (uint32_t)carry;
    carry >>= 32;
  }
  return (uint32_t)carry;
}

static void subtractFrom(uint32_t *to, int count, const uint32_t *from, int fromCount) {
  int64_t borrow = 0;
  for (int i = 0; i < count && (i < fromCount || borrow); i++) {
    borrow += (int64_t)to[i] - (i < fromCount ? from[i] : 0);
    to[i] = (uint32_t)borrow;
    borrow = borrow < 0 ? -1 : 0;
  }
}

void bigAdd(Big *a, const Big *b) {
  while (a->count < b->count)
    a->limbs[a->count++] = 0;
  a->limbs[a->count++] = 0;
  addTo(a->limbs, a->count, b->limbs, b->count);
  trim(a);
}

static void schoolbook(uint32_t *out, const uint32_t *a, int m, const uint32_t *b, int n) {
  memset(out, 0, (size_t)(m + n) * sizeof *out);
  for (int i = 0; i < m; i++) {
    uint64_t carry = 0;
    for (int j = 0; j < n; j++) {
      carry += (uint64_t)a[i] * b[j] + out[i + j];
      out[i + j] = (uint32_t)carry;
      carry >>= 32;
    }
    out[i + n] = (uint32_t)carry;
  }
}

// out has 2n limbs. (a1 + a0)(b1 + b0) needs one limb more than half in each factor.
static void karatsuba(uint32_t *out, const uint32_t *a, const uint32_t *b, int n) {
  if (n < KaratsubaLimbs) {
    schoolbook(out, a, n, b, n);
    return;
  }
  int low = n / 2, high = n - low, wide = high + 1;
  uint32_t sumA[MaxLimbs / 2 + 2], sumB[MaxLimbs / 2 + 2], middle[MaxLimbs + 4];
  memcpy(sumA, a + low, (size_t)high * sizeof *a);
  memcpy(sumB, b + low, (size_t)high * sizeof *b);
  sumA[high] = sumB[high] = 0;
  addTo(sumA, wide, a, low);
  addTo(sumB, wide, b, low);
  karatsuba(middle, sumA, sumB, wide);
  karatsuba(out, a, b, low);
  karatsuba(out + 2 * low, a + low, b + low, high);
  subtractFrom(middle, 2 * wide, out, 2 * low);
  subtractFrom(middle, 2 * wide, out + 2 * low, 2 * high);
  int room = 2 * n - low;
  addTo(out + low, room, middle, 2 * wide < room ? 2 * wide : room);
}

void bigMultiply(Big *out, const Big *a, const Big *b) {
  Big result;
  if (a->count == b->count && a->count >= KaratsubaLimbs)
    karatsuba(result.limbs, a->limbs, b->limbs, a->count);
  else
    schoolbook(result.limbs, a->limbs, a->count, b->limbs, b->count);
  result.count = a->count + b->count;
  trim(&result);
  copyBig(out, &result);
}

uint32_t bigDivideSmall(Big *a, uint32_t divisor) {
  uint64_t remainder = 0;
  for (int i = a->count - 1; i >= 0; i--) {
    remainder = remainder << 32 | a->limbs[i];
    a->limbs[i] = (uint32_t)(remainder / divisor);
    remainder %= divisor;
  }
  trim(a);
  return (uint32_t)remainder;
}

static void shiftInBit(Big *a, uint32_t bit) {
  for (int i = 0; i < a->count; i++) {
    uint32_t out = a->limbs[i] >> 31;
    a->limbs[i] = a->limbs[i] << 1 | bit;
    bit = out;
  }
  if (bit)
    a->limbs[a->count++] = bit;
}

void bigRemainder(Big *out, const Big *a, const Big *modulus) {
  Big rest = fromSmall(0);
  for (int i = a->count * 32 - 1; i >= 0; i--) {
    shiftInBit(&rest, a->limbs[i / 32] >> i % 32 & 1);
    if (bigCompare(&rest, modulus) >= 0) {
      subtractFrom(rest.limbs, rest.count, modulus->limbs, modulus->count);
      trim(&rest);
    }
  }
  copyBig(out, &rest);
}

void bigPowerModulo(Big *out, const Big *base, const Big *exponent, const Big *modulus) {
  Big result = fromSmall(1), square;
  copyBig(&square, base);
  for (int i = 0; i < exponent->count * 32; i++) {
    if (exponent->limbs[i / 32] >> i % 32 & 1) {
      bigMultiply(&result, &result, &square);
      bigRemainder(&result, &result, modulus);
    }
    bigMultiply(&square, &square, &square);
    bigRemainder(&square, &square, modulus);
  }
  copyBig(out, &result);
}

// Writes the decimal digits into `text`, which must have ten bytes for each limb and one more.
static char *toDecimal(const Big *a, char *text) {
  Big rest;
  char *end = text + a->count * 10, *at = end;
  copyBig(&rest, a);
  *at = 0;
  while (rest.count > 0) {
    uint32_t group = bigDivideSmall(&rest, 1000000000);
    for (int i = 0; i < 9 && (rest.count || group); i++, group /= 10)
      *--at = (char)('0' + group % 10);
  }
  return at;
}

static void report(const char *name, const Big *a) {
  static char text[MaxLimbs * 10 + 1];
  const char *digits = toDecimal(a, text);
  uint32_t hash = 0;
  for (const char *d = digits; *d; d++)
    hash = hash * 31 + (unsigned char)*d;
  printf("%s %zu digits %.12s hash %08x\n", name, strlen(digits), digits, hash);
}

int main(void) {
  Big factorial = fromSmall(1), a = fromSmall(0), b = fromSmall(1), power = fromSmall(3);
  for (uint32_t i = 2; i <= 3000; i++) {
    Big factor = fromSmall(i);
    bigMultiply(&factorial, &factorial, &factor);
  }
  report("3000!", &factorial);
  for (int i = 0; i < 40000; i += 2) {
    bigAdd(&a, &b);
    bigAdd(&b, &a);
  }
  report("fib(40001)", &b);
  for (int i = 0; i < 14; i++)
    bigMultiply(&power, &power, &power);
  report("3^16384", &power);
  // Fermat: 7^(p-1) = 1 for the prime p = 2^127 - 1.
  Big prime = {{~0u, ~0u, ~0u, 0x7fffffff}, 4}, less = prime, seven = fromSmall(7), one;
  less.limbs[0]--;
  bigPowerModulo(&one, &seven, &less, &prime);
  printf("fermat %d\n", one.count == 1 && one.limbs[0] == 1);
  return 0;
}
