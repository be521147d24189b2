// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ChaCha20-Poly1305 authenticated encryption (RFC 8439) of a stream of records.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { KeySize = 32, NonceSize = 12, BlockSize = 64, TagSize = 16, RecordSize = 4000, Records = 600 };

typedef struct {
  uint32_t input[16];
  uint8_t stream[BlockSize];
  size_t used;
} ChaCha;

// 130-bit arithmetic in five limbs of 26 bits.
typedef struct {
  uint32_t r[5], sum[5], pad[4];
  uint8_t block[16];
  size_t used;
} Poly;

static uint32_t load32(const uint8_t *p) {
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void store32(uint8_t *p, uint32_t x) {
  for (int i = 0; i < 4; i++, x >>= 8)
    p[i] = (uint8_t)x;
}

static uint32_t rotateLeft(uint32_t x, int n) { return x << n | x >> (32 - n); }

static void quarterRound(uint32_t *s, int a, int b, int c, int d) {
  s[a] += s[b];
  s[d] = rotateLeft(s[d] ^ s[a], 16);
  s[c] += s[d];
  s[b] = rotateLeft(s[b] ^ s[c], 12);
  s[a] += s[b];
  s[d] = rotateLeft(s[d] ^ s[a], 8);
  s[c] += s[d];
  s[b] = rotateLeft(s[b] ^ s[c], 7);
}

static void chachaBlock(ChaCha *chacha) {
  uint32_t s[16];
  memcpy(s, chacha->input, sizeof s);
  for (int round = 0; round < 10; round++) {
    for (int i = 0; i < 4; i++)
      quarterRound(s, i, 4 + i, 8 + i, 12 + i);
    for (int i = 0; i < 4; i++)
      quarterRound(s, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4);
  }
  for (int i = 0; i < 16; i++)
    store32(chacha->stream + 4 * i, s[i] + chacha->input[i]);
  chacha->input[12]++;
  chacha->used = 0;
}

void chachaInit(ChaCha *chacha, const uint8_t *key, const uint8_t *nonce, uint32_t counter) {
  static const uint8_t Constant[16] = {'e', 'x', 'p', 'a', 'n', 'd', ' ', '3', '2', '-', 'b', 'y', 't', 'e', ' ', 'k'};
  for (int i = 0; i < 4; i++)
    chacha->input[i] = load32(Constant + 4 * i);
  for (int i = 0; i < 8; i++)
    chacha->input[4 + i] = load32(key + 4 * i);
  chacha->input[12] = counter;
  for (int i = 0; i < 3; i++)
    chacha->input[13 + i] = load32(nonce + 4 * i);
  chacha->used = BlockSize;
}

void chachaApply(ChaCha *chacha, uint8_t *data, size_t size) {
  for (size_t i = 0; i < size; i++) {
    if (chacha->used == BlockSize)
      chachaBlock(chacha);
    data[i] ^= chacha->stream[chacha->used++];
  }
}

static void splitLimbs(uint32_t limbs[5], const uint8_t *p, uint32_t top) {
  limbs[0] = load32(p) & 0x3ffffff;
  limbs[1] = load32(p + 3) >> 2 & 0x3ffffff;
  limbs[2] = load32(p + 6) >> 4 & 0x3ffffff;
  limbs[3] = load32(p + 9) >> 6 & 0x3ffffff;
  limbs[4] = load32(p + 12) >> 8 | top << 24;
}

void polyInit(Poly *poly, const uint8_t key[KeySize]) {
  uint8_t clamped[16];
  memset(poly, 0, sizeof *poly);
  memcpy(clamped, key, 16);
  for (int i = 3; i < 16; i += 4)
    clamped[i] &= 15;
  for (int i = 4; i < 16; i += 4)
    clamped[i] &= 252;
  splitLimbs(poly->r, clamped, 0);
  for (int i = 0; i < 4; i++)
    poly->pad[i] = load32(key + 16 + 4 * i);
}

static void carryLimbs(uint32_t h[5]) {
  uint32_t carry = 0;
  for (int i = 0; i < 5; i++) {
    h[i] += carry;
    carry = h[i] >> 26;
    h[i] &= 0x3ffffff;
  }
  h[0] += carry * 5;
}

static void polyBlock(Poly *poly, const uint8_t *block, uint32_t top) {
  uint32_t limbs[5];
  uint64_t product[5];
  splitLimbs(limbs, block, top);
  for (int i = 0; i < 5; i++)
    poly->sum[i] += limbs[i];
  for (int i = 0; i < 5; i++) {
    product[i] = 0;
    for (int j = 0; j < 5; j++) {
      uint64_t factor = j <= i ? poly->r[i - j] : (uint64_t)poly->r[5 + i - j] * 5;
      product[i] += poly->sum[j] * factor;
    }
  }
  uint64_t carry = 0;
  for (int i = 0; i < 5; i++) {
    product[i] += carry;
    carry = product[i] >> 26;
    poly->sum[i] = (uint32_t)product[i] & 0x3ffffff;
  }
  uint64_t low = poly->sum[0] + carry * 5;
  poly->sum[0] = (uint32_t)low & 0x3ffffff;
  poly->sum[1] += (uint32_t)(low >> 26);
}

void polyUpdate(Poly *poly, const uint8_t *data, size_t size) {
  for (size_t i = 0; i < size; i++) {
    poly->block[poly->used++] = data[i];
    if (poly->used == 16) {
      polyBlock(poly, poly->block, 1);
      poly->used = 0;
    }
  }
}

static void polyPad(Poly *poly) {
  static const uint8_t Zeros[16];
  polyUpdate(poly, Zeros, (16 - poly->used) % 16);
}

void polyFinish(Poly *poly, uint8_t tag[TagSize]) {
  uint32_t *h = poly->sum, less[5];
  carryLimbs(h);
  carryLimbs(h);
  memcpy(less, h, sizeof less);
  less[0] += 5;
  carryLimbs(less);
  int over = h[4] == 0x3ffffff && h[3] == 0x3ffffff && h[2] == 0x3ffffff && h[1] == 0x3ffffff && h[0] >= 0x3fffffb;
  if (over)
    memcpy(h, less, sizeof less);
  uint32_t words[4] = {h[0] | h[1] << 26, h[1] >> 6 | h[2] << 20, h[2] >> 12 | h[3] << 14, h[3] >> 18 | h[4] << 8};
  uint64_t carry = 0;
  for (int i = 0; i < 4; i++) {
    carry += (uint64_t)words[i] + poly->pad[i];
    store32(tag + 4 * i, (uint32_t)carry);
    carry >>= 32;
  }
}

static void computeTag(ChaCha *chacha, const uint8_t *extra, size_t extraSize, const uint8_t *cipher, size_t size,
                       uint8_t tag[TagSize]) {
  Poly poly;
  uint8_t lengths[16] = {0};
  chachaBlock(chacha);
  polyInit(&poly, chacha->stream);
  chacha->used = BlockSize;
  polyUpdate(&poly, extra, extraSize);
  polyPad(&poly);
  polyUpdate(&poly, cipher, size);
  polyPad(&poly);
  store32(lengths, (uint32_t)extraSize);
  store32(lengths + 8, (uint32_t)size);
  polyUpdate(&poly, lengths, sizeof lengths);
  polyFinish(&poly, tag);
}

void seal(const uint8_t *key, const uint8_t *nonce, const uint8_t *extra, size_t extraSize, uint8_t *data, size_t size,
          uint8_t tag[TagSize]) {
  ChaCha chacha, authenticator;
  chachaInit(&chacha, key, nonce, 1);
  chachaApply(&chacha, data, size);
  chachaInit(&authenticator, key, nonce, 0);
  computeTag(&authenticator, extra, extraSize, data, size, tag);
}

int unseal(const uint8_t *key, const uint8_t *nonce, const uint8_t *extra, size_t extraSize, uint8_t *data, size_t size,
           const uint8_t tag[TagSize]) {
  ChaCha chacha;
  uint8_t expected[TagSize], difference = 0;
  chachaInit(&chacha, key, nonce, 0);
  computeTag(&chacha, extra, extraSize, data, size, expected);
  for (int i = 0; i < TagSize; i++)
    difference |= expected[i] ^ tag[i];
  if (difference)
    return 0;
  chachaApply(&chacha, data, size);
  return 1;
}

static void printTag(const char *name, const uint8_t *tag) {
  printf("%s ", name);
  for (int i = 0; i < TagSize; i++)
    printf("%02x", tag[i]);
  printf("\n");
}

static void knownAnswer(void) {
  static const char Message[] = "Ladies and Gentlemen of the class of '99: If I could offer you only "
                                "one tip for the future, sunscreen would be it.";
  static const uint8_t Nonce[NonceSize] = {7, 0, 0, 0, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47};
  static const uint8_t Extra[] = {0x50, 0x51, 0x52, 0x53, 0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7};
  uint8_t key[KeySize], data[sizeof Message - 1], tag[TagSize];
  for (int i = 0; i < KeySize; i++)
    key[i] = (uint8_t)(0x80 + i);
  memcpy(data, Message, sizeof data);
  seal(key, Nonce, Extra, sizeof Extra, data, sizeof data, tag);
  printTag("rfc", tag);
}

int main(void) {
  static uint8_t data[RecordSize], copy[RecordSize];
  uint8_t key[KeySize] = {1, 2, 3}, nonce[NonceSize] = {0}, tag[TagSize] = {0};
  int opened = 0, refused = 0;
  knownAnswer();
  for (int record = 0; record < Records; record++) {
    size_t size = (size_t)(RecordSize - record * 13 % 1000);
    nonce[0] = (uint8_t)record;
    memcpy(copy, data, size);
    seal(key, nonce, key, (size_t)(record % 20), data, size, tag);
    if (record % 3 == 0) {
      tag[record % TagSize] ^= 1;
      refused += !unseal(key, nonce, key, (size_t)(record % 20), data, size, tag);
    } else {
      opened += unseal(key, nonce, key, (size_t)(record % 20), data, size, tag) && memcmp(copy, data, size) == 0;
    }
    memcpy(key, tag, TagSize);
  }
  printf("opened %d refused %d ", opened, refused);
  printTag("tag", tag);
  return 0;
}
