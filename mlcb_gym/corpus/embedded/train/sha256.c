// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SHA-256 (FIPS 180-4), HMAC over it, and a Merkle tree of message digests.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { BlockSize = 64, DigestSize = 32, Leaves = 256, LeafSize = 1500 };

typedef struct {
  uint32_t state[8];
  uint64_t length;
  uint8_t block[BlockSize];
  size_t used;
} Sha256;

static const uint32_t RoundConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotateRight(uint32_t x, int n) { return x >> n | x << (32 - n); }

static uint32_t loadBig(const uint8_t *p) {
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void storeBig(uint8_t *p, uint32_t x) {
  for (int i = 3; i >= 0; i--, x >>= 8)
    p[i] = (uint8_t)x;
}

static void expandMessage(uint32_t w[64], const uint8_t *block) {
  for (int i = 0; i < 16; i++)
    w[i] = loadBig(block + 4 * i);
  for (int i = 16; i < 64; i++) {
    uint32_t a = w[i - 15], b = w[i - 2];
    uint32_t s0 = rotateRight(a, 7) ^ rotateRight(a, 18) ^ a >> 3;
    uint32_t s1 = rotateRight(b, 17) ^ rotateRight(b, 19) ^ b >> 10;
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
}

static void compress(uint32_t state[8], const uint8_t *block) {
  uint32_t w[64], s[8];
  expandMessage(w, block);
  memcpy(s, state, sizeof s);
  for (int i = 0; i < 64; i++) {
    uint32_t sum1 = rotateRight(s[4], 6) ^ rotateRight(s[4], 11) ^ rotateRight(s[4], 25);
    uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
    uint32_t t1 = s[7] + sum1 + choice + RoundConstants[i] + w[i];
    uint32_t sum0 = rotateRight(s[0], 2) ^ rotateRight(s[0], 13) ^ rotateRight(s[0], 22);
    uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
    for (int k = 7; k > 0; k--)
      s[k] = s[k - 1];
    s[4] += t1;
    s[0] = t1 + sum0 + majority;
  }
  for (int i = 0; i < 8; i++)
    state[i] += s[i];
}

void shaInit(Sha256 *sha) {
  static const uint32_t Start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  memcpy(sha->state, Start, sizeof Start);
  sha->length = 0;
  sha->used = 0;
}

void shaUpdate(Sha256 *sha, const uint8_t *data, size_t size) {
  sha->length += size;
  while (size > 0) {
    size_t room = BlockSize - sha->used, take = size < room ? size : room;
    memcpy(sha->block + sha->used, data, take);
    sha->used += take;
    data += take;
    size -= take;
    if (sha->used == BlockSize) {
      compress(sha->state, sha->block);
      sha->used = 0;
    }
  }
}

void shaFinish(Sha256 *sha, uint8_t digest[DigestSize]) {
  static const uint8_t Zeros[BlockSize], One = 0x80;
  uint8_t length[8];
  storeBig(length, (uint32_t)(sha->length >> 29));
  storeBig(length + 4, (uint32_t)(sha->length << 3));
  shaUpdate(sha, &One, 1);
  shaUpdate(sha, Zeros, (BlockSize + 56 - sha->used) % BlockSize);
  shaUpdate(sha, length, 8);
  for (int i = 0; i < 8; i++)
    storeBig(digest + 4 * i, sha->state[i]);
}

static void shaOnce(const uint8_t *data, size_t size, uint8_t digest[DigestSize]) {
  Sha256 sha;
  shaInit(&sha);
  shaUpdate(&sha, data, size);
  shaFinish(&sha, digest);
}

void hmacSha256(const uint8_t *key, size_t keySize, const uint8_t *data, size_t size, uint8_t digest[DigestSize]) {
  uint8_t inner[BlockSize] = {0}, outer[BlockSize];
  if (keySize > BlockSize)
    shaOnce(key, keySize, inner);
  else
    memcpy(inner, key, keySize);
  for (int i = 0; i < BlockSize; i++) {
    outer[i] = inner[i] ^ 0x5c;
    inner[i] ^= 0x36;
  }
  Sha256 sha;
  shaInit(&sha);
  shaUpdate(&sha, inner, BlockSize);
  shaUpdate(&sha, data, size);
  shaFinish(&sha, digest);
  shaInit(&sha);
  shaUpdate(&sha, outer, BlockSize);
  shaUpdate(&sha, digest, DigestSize);
  shaFinish(&sha, digest);
}

static void merkleRoot(uint8_t nodes[][DigestSize], int count) {
  while (count > 1) {
    for (int i = 0; i < count / 2; i++) {
      uint8_t pair[2 * DigestSize];
      memcpy(pair, nodes[2 * i], sizeof pair);
      shaOnce(pair, sizeof pair, nodes[i]);
    }
    count /= 2;
  }
}

static void printDigest(const char *name, const uint8_t *digest) {
  printf("%s ", name);
  for (int i = 0; i < 8; i++)
    printf("%02x", digest[i]);
  printf("\n");
}

int main(void) {
  static uint8_t nodes[Leaves][DigestSize], leaf[LeafSize];
  uint8_t digest[DigestSize];
  shaOnce((const uint8_t *)"abc", 3, digest);
  printDigest("abc", digest);
  for (int i = 0; i < Leaves; i++) {
    for (int k = 0; k < LeafSize; k++)
      leaf[k] = (uint8_t)(i * 31 + k * 7 + (k >> 3));
    shaOnce(leaf, (size_t)(LeafSize - i % 64), nodes[i]);
  }
  merkleRoot(nodes, Leaves);
  printDigest("merkle", nodes[0]);
  for (int i = 0; i < 2000; i++)
    hmacSha256(nodes[0], (size_t)(i % 90), leaf, LeafSize, nodes[0]);
  printDigest("hmac", nodes[0]);
  return 0;
}
