// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// AES-128 and AES-256 (FIPS 197) with tables computed at start, in ECB, CBC, CTR and CMAC modes.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { BlockSize = 16, MaxRounds = 14, DataSize = 16000 };

typedef struct {
  uint8_t keys[MaxRounds + 1][BlockSize];
  int rounds;
} Aes;

static uint8_t sbox[256], inverseSbox[256], times[16][256]; // times: only the factors in use

static uint8_t doubled(uint8_t x) { return (uint8_t)(x << 1 ^ (x & 0x80 ? 0x1b : 0)); }

static uint8_t multiply(uint8_t a, uint8_t b) {
  uint8_t result = 0;
  for (; b; b >>= 1, a = doubled(a))
    if (b & 1)
      result ^= a;
  return result;
}

static uint8_t rotate8(uint8_t x, int n) { return (uint8_t)(x << n | x >> (8 - n)); }

static void makeTables(void) {
  static const int Factors[] = {2, 3, 9, 11, 13, 14};
  uint8_t p = 1, q = 1; // q stays the inverse of p while p runs over the powers of 3
  do {
    p ^= doubled(p);
    q ^= (uint8_t)(q << 1);
    q ^= (uint8_t)(q << 2);
    q ^= (uint8_t)(q << 4);
    q ^= q & 0x80 ? 0x09 : 0;
    sbox[p] = q ^ rotate8(q, 1) ^ rotate8(q, 2) ^ rotate8(q, 3) ^ rotate8(q, 4) ^ 0x63;
  } while (p != 1);
  sbox[0] = 0x63;
  for (int i = 0; i < 256; i++)
    inverseSbox[sbox[i]] = (uint8_t)i;
  for (size_t f = 0; f < sizeof Factors / sizeof *Factors; f++)
    for (int i = 0; i < 256; i++)
      times[Factors[f]][i] = multiply((uint8_t)i, (uint8_t)Factors[f]);
}

void aesInit(Aes *aes, const uint8_t *key, int words) {
  uint8_t *bytes = &aes->keys[0][0], constant = 1;
  aes->rounds = words + 6;
  memcpy(bytes, key, (size_t)words * 4);
  for (int i = words; i < 4 * (aes->rounds + 1); i++) {
    uint8_t word[4];
    memcpy(word, bytes + 4 * (i - 1), 4);
    if (i % words == 0) {
      uint8_t first = word[0];
      word[0] = sbox[word[1]] ^ constant;
      word[1] = sbox[word[2]];
      word[2] = sbox[word[3]];
      word[3] = sbox[first];
      constant = doubled(constant);
    } else if (words > 6 && i % words == 4) {
      for (int k = 0; k < 4; k++)
        word[k] = sbox[word[k]];
    }
    for (int k = 0; k < 4; k++)
      bytes[4 * i + k] = bytes[4 * (i - words) + k] ^ word[k];
  }
}

static void xorBlock(uint8_t *to, const uint8_t *with) {
  for (int i = 0; i < BlockSize; i++)
    to[i] ^= with[i];
}

// Substitutes and shifts rows; `turn` is 1 to encrypt and 3 to go back.
static void substituteRows(uint8_t *s, const uint8_t *box, int turn) {
  uint8_t old[BlockSize];
  memcpy(old, s, sizeof old);
  for (int column = 0; column < 4; column++)
    for (int row = 0; row < 4; row++)
      s[4 * column + row] = box[old[4 * ((column + turn * row) & 3) + row]];
}

static void mixColumns(uint8_t *s) {
  for (int c = 0; c < 4; c++, s += 4) {
    uint8_t a = s[0], b = s[1], d = s[2], e = s[3];
    s[0] = times[2][a] ^ times[3][b] ^ d ^ e;
    s[1] = a ^ times[2][b] ^ times[3][d] ^ e;
    s[2] = a ^ b ^ times[2][d] ^ times[3][e];
    s[3] = times[3][a] ^ b ^ d ^ times[2][e];
  }
}

static void unmixColumns(uint8_t *s) {
  static const int Factors[4] = {14, 11, 13, 9};
  for (int c = 0; c < 4; c++, s += 4) {
    uint8_t old[4];
    memcpy(old, s, 4);
    for (int row = 0; row < 4; row++) {
      s[row] = 0;
      for (int k = 0; k < 4; k++)
        s[row] ^= times[Factors[(k - row) & 3]][old[k]];
    }
  }
}

void aesEncrypt(const Aes *aes, uint8_t *block) {
  xorBlock(block, aes->keys[0]);
  for (int round = 1; round <= aes->rounds; round++) {
    substituteRows(block, sbox, 1);
    if (round < aes->rounds)
      mixColumns(block);
    xorBlock(block, aes->keys[round]);
  }
}

void aesDecrypt(const Aes *aes, uint8_t *block) {
  for (int round = aes->rounds; round >= 1; round--) {
    xorBlock(block, aes->keys[round]);
    if (round < aes->rounds)
      unmixColumns(block);
    substituteRows(block, inverseSbox, 3);
  }
  xorBlock(block, aes->keys[0]);
}

typedef void (*Mode)(const Aes *aes, uint8_t *data, size_t size, const uint8_t *start);

static void cbcEncrypt(const Aes *aes, uint8_t *data, size_t size, const uint8_t *start) {
  for (size_t at = 0; at < size; at += BlockSize) {
    xorBlock(data + at, at ? data + at - BlockSize : start);
    aesEncrypt(aes, data + at);
  }
}

static void cbcDecrypt(const Aes *aes, uint8_t *data, size_t size, const uint8_t *start) {
  uint8_t previous[BlockSize], cipher[BlockSize];
  memcpy(previous, start, BlockSize);
  for (size_t at = 0; at < size; at += BlockSize) {
    memcpy(cipher, data + at, BlockSize);
    aesDecrypt(aes, data + at);
    xorBlock(data + at, previous);
    memcpy(previous, cipher, BlockSize);
  }
}

static void counterMode(const Aes *aes, uint8_t *data, size_t size, const uint8_t *start) {
  uint8_t counter[BlockSize], stream[BlockSize];
  memcpy(counter, start, BlockSize);
  for (size_t at = 0; at < size; at++) {
    if (at % BlockSize == 0) {
      memcpy(stream, counter, BlockSize);
      aesEncrypt(aes, stream);
      for (int i = BlockSize - 1; i >= 0 && ++counter[i] == 0; i--)
        ;
    }
    data[at] ^= stream[at % BlockSize];
  }
}

static void shiftSubkey(uint8_t *key) {
  uint8_t carry = key[0] >> 7 ? 0x87 : 0;
  for (int i = 0; i < BlockSize - 1; i++)
    key[i] = (uint8_t)(key[i] << 1 | key[i + 1] >> 7);
  key[BlockSize - 1] = (uint8_t)(key[BlockSize - 1] << 1 ^ carry);
}

void aesMac(const Aes *aes, const uint8_t *data, size_t size, uint8_t tag[BlockSize]) {
  uint8_t subkey[BlockSize] = {0}, last[BlockSize] = {0};
  aesEncrypt(aes, subkey);
  shiftSubkey(subkey);
  memset(tag, 0, BlockSize);
  for (; size > BlockSize; size -= BlockSize, data += BlockSize) {
    xorBlock(tag, data);
    aesEncrypt(aes, tag);
  }
  memcpy(last, data, size);
  if (size < BlockSize) {
    last[size] = 0x80;
    shiftSubkey(subkey);
  }
  xorBlock(tag, last);
  xorBlock(tag, subkey);
  aesEncrypt(aes, tag);
}

static void printBlock(const char *name, const uint8_t *block) {
  printf("%s ", name);
  for (int i = 0; i < BlockSize; i++)
    printf("%02x", block[i]);
  printf("\n");
}

int main(void) {
  static const Mode Modes[][2] = {{cbcEncrypt, cbcDecrypt}, {counterMode, counterMode}};
  static uint8_t data[DataSize], copy[DataSize];
  uint8_t key[32], block[BlockSize], tag[BlockSize];
  Aes aes;
  int restored = 0;
  makeTables();
  for (int i = 0; i < 32; i++)
    key[i] = (uint8_t)i;
  for (int i = 0; i < BlockSize; i++)
    block[i] = (uint8_t)(i * 0x11);
  aesInit(&aes, key, 4);
  aesEncrypt(&aes, block);
  printBlock("fips", block);
  for (int round = 0; round < 24; round++) {
    const Mode *mode = Modes[round % 2];
    aesInit(&aes, key, round % 3 ? 8 : 4);
    memcpy(copy, data, DataSize);
    mode[0](&aes, data, DataSize, block);
    aesMac(&aes, data, DataSize - (size_t)round, tag);
    mode[1](&aes, data, DataSize, block);
    restored += memcmp(copy, data, DataSize) == 0;
    for (int i = 0; i < DataSize; i++)
      data[i] = (uint8_t)(data[i] + tag[i % BlockSize] * (i + 1));
    memcpy(key, tag, BlockSize);
  }
  printf("restored %d ", restored);
  printBlock("tag", tag);
  return 0;
}
