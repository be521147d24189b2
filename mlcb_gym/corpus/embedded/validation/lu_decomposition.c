// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dense linear algebra: LU with pivoting, Cholesky, QR by rotations, Jacobi eigenvalues, CG.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 72 };

typedef struct {
  int rows, columns;
  double *data;
} Matrix;

static uint64_t state = 42;

static double nextUniform(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (double)(state >> 40) / (double)(1 << 24) - 0.5;
}

static double magnitude(double x) { return x < 0 ? -x : x; }

static double squareRoot(double x) {
  double root = x > 1 ? x : 1;
  for (int i = 0; i < 200; i++) {
    double next = 0.5 * (root + x / root);
    if (next >= root)
      break;
    root = next;
  }
  return root;
}

static Matrix newMatrix(int rows, int columns) {
  Matrix m = {rows, columns, calloc((size_t)(rows * columns), sizeof(double))};
  if (!m.data)
    abort();
  return m;
}

static double *at(Matrix m, int row, int column) { return &m.data[row * m.columns + column]; }

static Matrix copyOf(Matrix m) {
  Matrix copy = newMatrix(m.rows, m.columns);
  memcpy(copy.data, m.data, (size_t)(m.rows * m.columns) * sizeof(double));
  return copy;
}

static Matrix randomMatrix(int size) {
  Matrix m = newMatrix(size, size);
  for (int i = 0; i < size * size; i++)
    m.data[i] = nextUniform();
  return m;
}

static Matrix product(Matrix a, Matrix b, int transposeA) {
  int rows = transposeA ? a.columns : a.rows, inner = transposeA ? a.rows : a.columns;
  Matrix c = newMatrix(rows, b.columns);
  for (int i = 0; i < rows; i++)
    for (int k = 0; k < inner; k++) {
      double factor = transposeA ? *at(a, k, i) : *at(a, i, k);
      for (int j = 0; j < b.columns; j++)
        *at(c, i, j) += factor * *at(b, k, j);
    }
  return c;
}

static void swapRows(Matrix m, int a, int b) {
  for (int j = 0; j < m.columns && a != b; j++) {
    double t = *at(m, a, j);
    *at(m, a, j) = *at(m, b, j);
    *at(m, b, j) = t;
  }
}

// Factors in place; returns the sign of the permutation, or 0 for a singular matrix.
int luFactor(Matrix m, int *pivots) {
  int sign = 1;
  for (int k = 0; k < m.rows; k++) {
    int best = k;
    for (int i = k + 1; i < m.rows; i++)
      if (magnitude(*at(m, i, k)) > magnitude(*at(m, best, k)))
        best = i;
    pivots[k] = best;
    if (*at(m, best, k) == 0)
      return 0;
    swapRows(m, k, best);
    sign = best == k ? sign : -sign;
    for (int i = k + 1; i < m.rows; i++) {
      double factor = *at(m, i, k) /= *at(m, k, k);
      for (int j = k + 1; j < m.columns; j++)
        *at(m, i, j) -= factor * *at(m, k, j);
    }
  }
  return sign;
}

void luSolve(Matrix lu, const int *pivots, double *x) {
  for (int i = 0; i < lu.rows; i++) {
    double t = x[pivots[i]];
    x[pivots[i]] = x[i];
    x[i] = t;
  }
  for (int i = 0; i < lu.rows; i++)
    for (int j = 0; j < i; j++)
      x[i] -= *at(lu, i, j) * x[j];
  for (int i = lu.rows - 1; i >= 0; i--) {
    for (int j = i + 1; j < lu.rows; j++)
      x[i] -= *at(lu, i, j) * x[j];
    x[i] /= *at(lu, i, i);
  }
}

int choleskyFactor(Matrix m) {
  for (int j = 0; j < m.rows; j++)
    for (int i = j; i < m.rows; i++) {
      double sum = *at(m, i, j);
      for (int k = 0; k < j; k++)
        sum -= *at(m, i, k) * *at(m, j, k);
      if (i == j && sum <= 0)
        return 0;
      *at(m, i, j) = i == j ? squareRoot(sum) : sum / *at(m, j, j);
    }
  return 1;
}

// One sweep of Jacobi rotations; returns what is left off the diagonal.
double jacobiSweep(Matrix m) {
  double off = 0;
  for (int p = 0; p < m.rows; p++)
    for (int q = p + 1; q < m.rows; q++) {
      double apq = *at(m, p, q);
      off += apq * apq;
      if (magnitude(apq) < 1e-14)
        continue;
      double theta = (*at(m, q, q) - *at(m, p, p)) / (2 * apq);
      double t = 1 / (magnitude(theta) + squareRoot(theta * theta + 1));
      t = theta < 0 ? -t : t;
      double c = 1 / squareRoot(t * t + 1), s = t * c;
      for (int k = 0; k < m.rows; k++) {
        double kp = *at(m, k, p), kq = *at(m, k, q);
        *at(m, k, p) = c * kp - s * kq;
        *at(m, k, q) = s * kp + c * kq;
      }
      for (int k = 0; k < m.rows; k++) {
        double pk = *at(m, p, k), qk = *at(m, q, k);
        *at(m, p, k) = c * pk - s * qk;
        *at(m, q, k) = s * pk + c * qk;
      }
    }
  return off;
}

static double dot(const double *a, const double *b, int count) {
  double sum = 0;
  for (int i = 0; i < count; i++)
    sum += a[i] * b[i];
  return sum;
}

int conjugateGradient(Matrix m, const double *b, double *x, double tolerance) {
  double r[N], p[N], mp[N];
  memset(x, 0, sizeof r);
  memcpy(r, b, sizeof r);
  memcpy(p, b, sizeof p);
  double norm = dot(r, r, N);
  int steps = 0;
  for (; norm > tolerance && steps < 10 * N; steps++) {
    for (int i = 0; i < N; i++)
      mp[i] = dot(at(m, i, 0), p, N);
    double alpha = norm / dot(p, mp, N), last = norm;
    for (int i = 0; i < N; i++) {
      x[i] += alpha * p[i];
      r[i] -= alpha * mp[i];
    }
    norm = dot(r, r, N);
    for (int i = 0; i < N; i++)
      p[i] = r[i] + norm / last * p[i];
  }
  return steps;
}

static double residual(Matrix m, const double *x, const double *b) {
  double worst = 0;
  for (int i = 0; i < N; i++) {
    double error = magnitude(dot(at(m, i, 0), x, N) - b[i]);
    worst = error > worst ? error : worst;
  }
  return worst;
}

int main(void) {
  double b[N], x[N], trace = 0, values = 0, diagonal = 0, solved = 0;
  int pivots[N], good = 0, signs = 0;
  for (int round = 0; round < 8; round++) {
    Matrix a = randomMatrix(N), lu = copyOf(a), gram = product(a, a, 1);
    for (int i = 0; i < N; i++) {
      *at(gram, i, i) += 1;
      b[i] = x[i] = nextUniform();
      trace += *at(gram, i, i);
    }
    signs = 2 * signs + (luFactor(lu, pivots) > 0);
    luSolve(lu, pivots, x);
    good += residual(a, x, b) < 1e-9;
    conjugateGradient(gram, b, x, 1e-22);
    good += residual(gram, x, b) < 1e-9;
    solved += dot(x, b, N);
    Matrix factor = copyOf(gram);
    good += choleskyFactor(factor);
    diagonal += *at(factor, N - 1, N - 1);
    for (int sweep = 0; sweep < 12 && jacobiSweep(gram) > 1e-18; sweep++)
      ;
    for (int i = 0; i < N; i++)
      values += *at(gram, i, i);
    free(a.data);
    free(lu.data);
    free(gram.data);
    free(factor.data);
  }
  printf("linear good %d signs %d trace %.5f eigen %.5f solved %.5f diagonal %.5f\n", good, signs, trace, values,
         solved, diagonal);
  return 0;
}
