// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Text codecs: base64, base32, hex, UTF-8 to UTF-16 and back, percent escapes, CRC-32 and Adler-32.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MaxInput = 6000, MaxOutput = 4 * MaxInput, Rounds = 120 };

static const char Base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char Base32[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
static const char Base16[] = "0123456789abcdef";

typedef struct {
  const char *name, *alphabet;
  unsigned bits, group; // bits of a digit; digits in a padded group
} Radix;

static const Radix Radixes[] = {{"base64", Base64, 6, 4}, {"base32", Base32, 5, 8}, {"hex", Base16, 4, 1}};

static uint32_t crcTable[256];
static uint32_t seed = 4711;

static uint32_t nextRandom(void) {
  seed = seed * 1664525u + 1013904223u;
  return seed >> 8;
}

static void makeCrcTable(void) {
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; bit++)
      crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
    crcTable[i] = crc;
  }
}

uint32_t crc32(uint32_t crc, const uint8_t *data, size_t size) {
  crc = ~crc;
  for (size_t i = 0; i < size; i++)
    crc = crcTable[(crc ^ data[i]) & 255] ^ crc >> 8;
  return ~crc;
}

uint32_t adler32(const uint8_t *data, size_t size) {
  uint32_t a = 1, b = 0;
  for (size_t i = 0; i < size; i++) {
    a = (a + data[i]) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16 | a;
}

size_t radixEncode(const Radix *radix, const uint8_t *data, size_t size, char *out) {
  uint32_t buffer = 0, mask = (1u << radix->bits) - 1;
  unsigned filled = 0;
  size_t used = 0;
  for (size_t i = 0; i < size; i++) {
    buffer = buffer << 8 | data[i];
    for (filled += 8; filled >= radix->bits; filled -= radix->bits)
      out[used++] = radix->alphabet[buffer >> (filled - radix->bits) & mask];
  }
  if (filled)
    out[used++] = radix->alphabet[buffer << (radix->bits - filled) & mask];
  while (used % radix->group)
    out[used++] = '=';
  out[used] = 0;
  return used;
}

// Returns the size, or -1 at a character that is not of the alphabet.
long radixDecode(const Radix *radix, const char *text, uint8_t *out) {
  int8_t digits[256];
  memset(digits, -1, sizeof digits);
  for (int i = 0; radix->alphabet[i]; i++)
    digits[(unsigned char)radix->alphabet[i]] = (int8_t)i;
  uint32_t buffer = 0;
  unsigned filled = 0;
  long used = 0;
  for (; *text && *text != '='; text++) {
    int digit = digits[(unsigned char)*text];
    if (digit < 0)
      return -1;
    buffer = buffer << radix->bits | (uint32_t)digit;
    filled += radix->bits;
    if (filled >= 8)
      out[used++] = (uint8_t)(buffer >> (filled -= 8));
  }
  return used;
}

static size_t putUtf8(uint8_t *out, uint32_t code) {
  static const uint8_t Lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
  size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (size_t i = length; i-- > 1; code >>= 6)
    out[i] = (uint8_t)(0x80 | (code & 63));
  out[0] = (uint8_t)(Lead[length] | code);
  return length;
}

// Decodes one code point; malformed input counts as one byte of U+FFFD.
static size_t getUtf8(const uint8_t *p, size_t left, uint32_t *code) {
  static const uint32_t Least[] = {0, 0, 0x80, 0x800, 0x10000};
  size_t length = p[0] < 0x80 ? 1 : p[0] >> 5 == 6 ? 2 : p[0] >> 4 == 14 ? 3 : p[0] >> 3 == 30 ? 4 : 0;
  *code = 0xfffd;
  if (length == 0 || length > left)
    return 1;
  uint32_t value = length == 1 ? p[0] : p[0] & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; i++) {
    if ((p[i] & 0xc0) != 0x80)
      return 1;
    value = value << 6 | (p[i] & 63);
  }
  if (value < Least[length] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
    return 1;
  *code = value;
  return length;
}

size_t utf8ToUtf16(const uint8_t *text, size_t size, uint16_t *out, int *malformed) {
  size_t used = 0;
  for (size_t at = 0; at < size;) {
    uint32_t code;
    size_t length = getUtf8(text + at, size - at, &code);
    *malformed += code == 0xfffd && length == 1;
    at += length;
    if (code >= 0x10000) {
      out[used++] = (uint16_t)(0xd800 + ((code - 0x10000) >> 10));
      out[used++] = (uint16_t)(0xdc00 + (code & 0x3ff));
    } else {
      out[used++] = (uint16_t)code;
    }
  }
  return used;
}

size_t utf16ToUtf8(const uint16_t *text, size_t size, uint8_t *out) {
  size_t used = 0;
  for (size_t i = 0; i < size; i++) {
    uint32_t code = text[i];
    if (code >> 10 == 0x36 && i + 1 < size)
      code = 0x10000 + ((code & 0x3ff) << 10) + (text[++i] & 0x3ff);
    used += putUtf8(out + used, code);
  }
  return used;
}

static int isPlain(uint8_t c) {
  return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '-' || c == '_' || c == '.';
}

size_t percentEncode(const uint8_t *data, size_t size, char *out) {
  size_t used = 0;
  for (size_t i = 0; i < size; i++) {
    if (isPlain(data[i])) {
      out[used++] = (char)data[i];
      continue;
    }
    out[used++] = '%';
    out[used++] = Base16[data[i] >> 4];
    out[used++] = Base16[data[i] & 15];
  }
  out[used] = 0;
  return used;
}

static int hexValue(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

size_t percentDecode(const char *text, uint8_t *out) {
  size_t used = 0;
  for (; *text; text++) {
    if (*text != '%') {
      out[used++] = (uint8_t)*text;
      continue;
    }
    out[used++] = (uint8_t)(hexValue(text[1]) << 4 | hexValue(text[2]));
    text += 2;
  }
  return used;
}

static size_t writeUnicode(uint8_t *out, size_t limit) {
  static const uint32_t Starts[] = {0x20, 0x20, 0xa1, 0x391, 0x4e00, 0x1f300};
  size_t used = 0;
  while (used + 4 < limit) {
    uint32_t start = Starts[nextRandom() % 6];
    used += putUtf8(out + used, start + nextRandom() % 90);
  }
  return used;
}

int main(void) {
  static uint8_t data[MaxInput + 4], back[MaxOutput];
  static uint16_t wide[MaxInput];
  static char text[MaxOutput];
  uint32_t crc = 0, adler = 0;
  int wrong = 0, malformed = 0, damaged = 0, refused = 0;
  makeCrcTable();
  for (int round = 0; round < Rounds; round++) {
    size_t size = writeUnicode(data, MaxInput - (size_t)(round % 7));
    for (size_t r = 0; r < sizeof Radixes / sizeof *Radixes; r++) {
      size_t length = radixEncode(&Radixes[r], data, size, text);
      wrong += radixDecode(&Radixes[r], text, back) != (long)size || memcmp(data, back, size) != 0;
      crc = crc32(crc, (const uint8_t *)text, length);
      text[nextRandom() % (length / 2)] = '!';
      refused += radixDecode(&Radixes[r], text, back) < 0;
    }
    size_t units = utf8ToUtf16(data, size, wide, &malformed);
    wrong += utf16ToUtf8(wide, units, back) != size || memcmp(data, back, size) != 0;
    crc = crc32(crc, (const uint8_t *)text, percentEncode(data, size, text));
    wrong += percentDecode(text, back) != size || memcmp(data, back, size) != 0;
    adler ^= adler32(data, size);
    for (size_t i = 0; i < size; i += 50)
      data[i] ^= (uint8_t)(1u << (nextRandom() & 7));
    units = utf8ToUtf16(data, size, wide, &damaged);
    for (size_t i = 0; i < units; i++)
      adler = adler * 31 + wide[i];
  }
  printf("codec wrong %d malformed %d damaged %d refused %d crc %08x adler %08x\n", wrong, malformed, damaged, refused,
         crc, adler);
  return 0;
}
