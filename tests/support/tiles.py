# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A product of matrices in the tile registers of AMX."""

TILES = """
#include <immintrin.h>
void f(char *p, short r, short k, short c) {
  __tile1024i x = {r, k}, y = {k, c}, z = {r, c};
  __tile_loadd(&x, p, 64);
  __tile_loadd(&y, p + 1024, 64);
  __tile_loadd(&z, p + 2048, 64);
  __tile_dpbssd(&z, x, y);
  __tile_stored(p, 64, z);
}
"""
