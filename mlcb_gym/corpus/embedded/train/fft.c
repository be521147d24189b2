// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Iterative radix-2 FFT in doubles and in a prime field; convolution, filtering and a spectrum.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { Log = 12, Size = 1 << Log };
#define Modulus 998244353u

typedef struct {
  double re, im;
} Complex;

static const double Pi = 3.14159265358979323846;

static Complex add(Complex a, Complex b) { return (Complex){a.re + b.re, a.im + b.im}; }
static Complex subtract(Complex a, Complex b) { return (Complex){a.re - b.re, a.im - b.im}; }
static Complex multiply(Complex a, Complex b) {
  return (Complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
static double squaredNorm(Complex a) { return a.re * a.re + a.im * a.im; }

// Taylor series on |x| <= pi; twenty terms are exact to the last bits.
static Complex expi(double x) {
  Complex sum = {1, 0}, term = {1, 0};
  for (int n = 1; n < 24; n++) {
    term = multiply(term, (Complex){0, x / n});
    sum = add(sum, term);
  }
  return sum;
}

static unsigned reverseBits(unsigned x, int bits) {
  unsigned result = 0;
  for (int i = 0; i < bits; i++, x >>= 1)
    result = result << 1 | (x & 1);
  return result;
}

void fft(Complex *data, int log, int inverse) {
  int size = 1 << log;
  for (unsigned i = 0; i < (unsigned)size; i++) {
    unsigned j = reverseBits(i, log);
    if (i < j) {
      Complex swap = data[i];
      data[i] = data[j];
      data[j] = swap;
    }
  }
  for (int half = 1; half < size; half *= 2) {
    Complex step = expi((inverse ? Pi : -Pi) / half);
    for (int start = 0; start < size; start += 2 * half) {
      Complex w = {1, 0};
      for (int k = start; k < start + half; k++) {
        Complex t = multiply(w, data[k + half]);
        data[k + half] = subtract(data[k], t);
        data[k] = add(data[k], t);
        w = multiply(w, step);
      }
    }
  }
  for (int i = 0; inverse && i < size; i++) {
    data[i].re /= size;
    data[i].im /= size;
  }
}

static uint32_t multiplyMod(uint32_t a, uint32_t b) { return (uint32_t)((uint64_t)a * b % Modulus); }

static uint32_t powerMod(uint32_t base, uint32_t exponent) {
  uint32_t result = 1;
  for (; exponent; exponent >>= 1, base = multiplyMod(base, base))
    if (exponent & 1)
      result = multiplyMod(result, base);
  return result;
}

void numberTransform(uint32_t *data, int log, int inverse) {
  uint32_t size = 1u << log;
  for (uint32_t i = 0; i < size; i++) {
    uint32_t j = reverseBits(i, log);
    if (i < j) {
      uint32_t swap = data[i];
      data[i] = data[j];
      data[j] = swap;
    }
  }
  for (uint32_t half = 1; half < size; half *= 2) {
    uint32_t step = powerMod(3, (Modulus - 1) / (2 * half));
    if (inverse)
      step = powerMod(step, Modulus - 2);
    for (uint32_t start = 0; start < size; start += 2 * half) {
      uint32_t w = 1;
      for (uint32_t k = start; k < start + half; k++) {
        uint32_t t = multiplyMod(w, data[k + half]), u = data[k];
        data[k] = u + t < Modulus ? u + t : u + t - Modulus;
        data[k + half] = u >= t ? u - t : u + Modulus - t;
        w = multiplyMod(w, step);
      }
    }
  }
  if (inverse) {
    uint32_t scale = powerMod(size, Modulus - 2);
    for (uint32_t i = 0; i < size; i++)
      data[i] = multiplyMod(data[i], scale);
  }
}

static void makeSignal(Complex *signal, uint32_t state) {
  for (int i = 0; i < Size; i++) {
    state = state * 69069u + 1u;
    double noise = (double)(state >> 16) / 65536.0 - 0.5;
    double t = (double)(i % 64) / 64.0, saw = (double)(i % 10) / 10.0;
    signal[i] = (Complex){4 * t * (1 - t) + 0.5 * saw + 0.1 * noise, 0};
  }
}

static int lowPass(Complex *signal, double keep) {
  int dropped = 0;
  fft(signal, Log, 0);
  for (int i = 0; i < Size; i++)
    if (squaredNorm(signal[i]) < keep) {
      signal[i] = (Complex){0, 0};
      dropped++;
    }
  fft(signal, Log, 1);
  return dropped;
}

static uint32_t convolveAndCheck(uint32_t seed) {
  static uint32_t a[Size], b[Size], first[Size];
  uint32_t hash = 0, direct = 0;
  memset(a, 0, sizeof a);
  memset(b, 0, sizeof b);
  for (int i = 0; i < Size / 2; i++) {
    seed = seed * 1664525u + 1013904223u;
    a[i] = first[i] = seed % 1000;
    b[i] = (seed >> 16) % 1000;
  }
  for (int i = 0; i < Size / 2; i++)
    direct = (direct + multiplyMod(first[i], b[Size / 2 - 1 - i])) % Modulus;
  numberTransform(a, Log, 0);
  numberTransform(b, Log, 0);
  for (int i = 0; i < Size; i++)
    a[i] = multiplyMod(a[i], b[i]);
  numberTransform(a, Log, 1);
  for (int i = 0; i < Size; i++)
    hash = hash * 31 + a[i];
  return a[Size / 2 - 1] == direct ? hash : 0;
}

int main(void) {
  static Complex signal[Size], copy[Size];
  double error = 0, energy = 0;
  int dropped = 0;
  makeSignal(signal, 17);
  memcpy(copy, signal, sizeof copy);
  fft(copy, Log, 0);
  fft(copy, Log, 1);
  for (int i = 0; i < Size; i++)
    error += squaredNorm(subtract(signal[i], copy[i]));
  for (int round = 0; round < 48; round++) {
    if (round % 6 == 0)
      makeSignal(signal, (uint32_t)round);
    int level = round % 6 + 1;
    dropped += lowPass(signal, 20.0 * level * level);
  }
  for (int i = 0; i < Size; i++)
    energy += squaredNorm(signal[i]);
  uint32_t hash = 0;
  for (uint32_t seed = 1; seed <= 50; seed++)
    hash ^= convolveAndCheck(seed);
  printf("fft exact %d dropped %d energy %.4f convolution %08x\n", error < 1e-12, dropped, energy, hash);
  return 0;
}
