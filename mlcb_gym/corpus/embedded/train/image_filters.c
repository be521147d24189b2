// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pipeline of image filters: blur, edges, median, equalisation, dithering, flood fill, resize.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { Width = 320, Height = 240 };

typedef struct {
  uint8_t pixels[Height][Width];
} Image;

typedef struct {
  const char *name;
  void (*apply)(const Image *in, Image *out);
} Filter;

static int clampInt(int x, int low, int high) { return x < low ? low : x > high ? high : x; }
static uint8_t toPixel(int x) { return (uint8_t)clampInt(x, 0, 255); }

static uint8_t at(const Image *image, int x, int y) {
  return image->pixels[clampInt(y, 0, Height - 1)][clampInt(x, 0, Width - 1)];
}

static void drawScene(Image *image) {
  uint32_t seed = 11;
  for (int y = 0; y < Height; y++)
    for (int x = 0; x < Width; x++) {
      int dx = x - 60, dy = y - 50;
      int value = x + y / 2;
      if (dx * dx + dy * dy < 900)
        value = 220 - (dx * dx + dy * dy) / 10;
      if (x > 100 && x < 140 && y > 20 && y < 100)
        value = (x / 5 + y / 7) % 2 ? 40 : 200;
      seed = seed * 1664525u + 1013904223u;
      image->pixels[y][x] = toPixel(value + (int)(seed >> 28) - 8);
    }
}

static int convolve(const Image *in, int x, int y, const int kernel[3][3]) {
  int sum = 0;
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++)
      sum += kernel[dy + 1][dx + 1] * at(in, x + dx, y + dy);
  return sum;
}

static void sharpen(const Image *in, Image *out) {
  static const int Kernel[3][3] = {{0, -1, 0}, {-1, 8, -1}, {0, -1, 0}};
  for (int y = 0; y < Height; y++)
    for (int x = 0; x < Width; x++)
      out->pixels[y][x] = toPixel(convolve(in, x, y, Kernel) / 4);
}

static void edges(const Image *in, Image *out) {
  static const int Across[3][3] = {{-1, 0, 1}, {-2, 0, 2}, {-1, 0, 1}};
  static const int Down[3][3] = {{-1, -2, -1}, {0, 0, 0}, {1, 2, 1}};
  for (int y = 0; y < Height; y++)
    for (int x = 0; x < Width; x++)
      out->pixels[y][x] = toPixel(abs(convolve(in, x, y, Across)) + abs(convolve(in, x, y, Down)));
}

static void gaussian(const Image *in, Image *out) {
  static const float Weights[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};
  static float rows[Height][Width];
  for (int y = 0; y < Height; y++)
    for (int x = 0; x < Width; x++) {
      float sum = 0;
      for (int k = -2; k <= 2; k++)
        sum += Weights[k + 2] * (float)at(in, x + k, y);
      rows[y][x] = sum;
    }
  for (int y = 0; y < Height; y++)
    for (int x = 0; x < Width; x++) {
      float sum = 0.5f;
      for (int k = -2; k <= 2; k++)
        sum += Weights[k + 2] * rows[clampInt(y + k, 0, Height - 1)][x];
      out->pixels[y][x] = toPixel((int)sum);
    }
}

static void median(const Image *in, Image *out) {
  for (int y = 0; y < Height; y++)
    for (int x = 0; x < Width; x++) {
      uint8_t window[9];
      for (int i = 0; i < 9; i++) {
        uint8_t value = at(in, x + i % 3 - 1, y + i / 3 - 1);
        int slot = i;
        for (; slot > 0 && window[slot - 1] > value; slot--)
          window[slot] = window[slot - 1];
        window[slot] = value;
      }
      out->pixels[y][x] = window[4];
    }
}

static void equalise(const Image *in, Image *out) {
  unsigned histogram[256] = {0}, below = 0;
  uint8_t map[256];
  for (int i = 0; i < Width * Height; i++)
    histogram[in->pixels[i / Width][i % Width]]++;
  for (int v = 0; v < 256; v++) {
    map[v] = (uint8_t)(below * 255u / (Width * Height));
    below += histogram[v];
  }
  for (int y = 0; y < Height; y++)
    for (int x = 0; x < Width; x++)
      out->pixels[y][x] = map[in->pixels[y][x]];
}

// Floyd-Steinberg error diffusion to four grey levels.
static void dither(const Image *in, Image *out) {
  static int errors[2][Width + 2];
  memset(errors, 0, sizeof errors);
  for (int y = 0; y < Height; y++) {
    int *now = errors[y & 1], *next = errors[~y & 1];
    memset(next, 0, sizeof errors[0]);
    for (int x = 0; x < Width; x++) {
      int wanted = in->pixels[y][x] + now[x + 1] / 16;
      int level = clampInt((wanted + 42) / 85, 0, 3) * 85, error = wanted - level;
      out->pixels[y][x] = toPixel(level);
      now[x + 2] += error * 7;
      next[x] += error * 3;
      next[x + 1] += error * 5;
      next[x + 2] += error;
    }
  }
}

static void bilinear(const Image *in, Image *out) {
  for (int y = 0; y < Height; y++)
    for (int x = 0; x < Width; x++) {
      int u = 40 * 256 + x * 128, v = 30 * 256 + y * 128; // 24.8 fixed point, twice as large
      int fx = u & 255, fy = v & 255;
      int top = at(in, u >> 8, v >> 8) * (256 - fx) + at(in, (u >> 8) + 1, v >> 8) * fx;
      int low = at(in, u >> 8, (v >> 8) + 1) * (256 - fx) + at(in, (u >> 8) + 1, (v >> 8) + 1) * fx;
      out->pixels[y][x] = toPixel((top * (256 - fy) + low * fy) >> 16);
    }
}

// Labels regions of equal grey and returns how many have at least `least` pixels.
int countRegions(const Image *image, int least) {
  static uint8_t seen[Height * Width];
  static int stack[Height * Width * 4];
  static const int Steps[4][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};
  int regions = 0;
  memset(seen, 0, sizeof seen);
  for (int start = 0; start < Width * Height; start++) {
    int top = 0, size = 0, grey = image->pixels[start / Width][start % Width];
    stack[top++] = start;
    while (top > 0) {
      int cell = stack[--top], x = cell % Width, y = cell / Width;
      if (seen[cell] || image->pixels[y][x] != grey)
        continue;
      seen[cell] = 1;
      size++;
      for (int s = 0; s < 4; s++) {
        int nx = x + Steps[s][0], ny = y + Steps[s][1];
        if (nx >= 0 && nx < Width && ny >= 0 && ny < Height && !seen[ny * Width + nx])
          stack[top++] = ny * Width + nx;
      }
    }
    regions += size >= least;
  }
  return regions;
}

static uint32_t hashImage(const Image *image) {
  uint32_t hash = 2166136261u;
  for (int y = 0; y < Height; y++)
    for (int x = 0; x < Width; x++)
      hash = (hash ^ image->pixels[y][x]) * 16777619u;
  return hash;
}

int main(void) {
  static const Filter Filters[] = {{"gaussian", gaussian}, {"median", median},     {"sharpen", sharpen},
                                   {"equalise", equalise}, {"bilinear", bilinear}, {"edges", edges},
                                   {"dither", dither}};
  static Image images[2];
  uint32_t hash = 0;
  int regions = 0;
  for (int round = 0; round < 3; round++) {
    drawScene(&images[0]);
    for (size_t i = 0; i < sizeof Filters / sizeof *Filters; i++) {
      size_t which = (i * (size_t)(round * 2 + 1)) % (sizeof Filters / sizeof *Filters);
      Filters[which].apply(&images[i & 1], &images[~i & 1]);
      hash = hash * 31 + hashImage(&images[~i & 1]);
    }
    dither(&images[1], &images[0]);
    regions += countRegions(&images[0], 8);
  }
  printf("image regions %d hash %08x\n", regions, hash);
  return 0;
}
