// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A framed serial protocol: byte stuffing, CRC-16, a state machine that resynchronises, typed messages.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { Flag = 0x7e, Escape = 0x7d, MaxPayload = 64, StreamSize = 1 << 20, Sensors = 16 };

typedef enum { StateHunt, StateBody, StateEscaped } State;

typedef enum { FrameGood, FrameShort, FrameLong, FrameBadCrc, FrameUnknown, FrameKinds } FrameStatus;

typedef struct Decoder Decoder;
typedef FrameStatus (*Handler)(Decoder *decoder, const uint8_t *payload, size_t size);

struct Decoder {
  State state;
  uint8_t frame[MaxPayload + 4];
  size_t used;
  uint8_t expected; // the sequence number of the next frame
  uint32_t byStatus[FrameKinds], lost, resets;
  int32_t sensors[Sensors];
  uint32_t textHash;
  int64_t position[2];
};

typedef struct {
  uint8_t *bytes;
  size_t used;
  uint8_t sequence;
} Encoder;

static uint32_t seed = 0xc0ffee;

static uint32_t nextRandom(void) {
  seed ^= seed << 13;
  seed ^= seed >> 17;
  seed ^= seed << 5;
  return seed;
}

static uint16_t crc16(const uint8_t *bytes, size_t size) {
  uint16_t crc = 0xffff;
  for (size_t i = 0; i < size; i++) {
    crc = (uint16_t)(crc ^ bytes[i] << 8);
    for (int bit = 0; bit < 8; bit++)
      crc = (uint16_t)(crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1);
  }
  return crc;
}

static void putStuffed(Encoder *encoder, uint8_t byte) {
  if (byte == Flag || byte == Escape) {
    encoder->bytes[encoder->used++] = Escape;
    byte ^= 0x20;
  }
  encoder->bytes[encoder->used++] = byte;
}

static void encodeFrame(Encoder *encoder, uint8_t type, const uint8_t *payload, size_t size) {
  uint8_t frame[MaxPayload + 4] = {encoder->sequence++, type};
  memcpy(frame + 2, payload, size);
  uint16_t crc = crc16(frame, size + 2);
  frame[size + 2] = (uint8_t)(crc >> 8);
  frame[size + 3] = (uint8_t)crc;
  encoder->bytes[encoder->used++] = Flag;
  for (size_t i = 0; i < size + 4; i++)
    putStuffed(encoder, frame[i]);
  encoder->bytes[encoder->used++] = Flag;
}

static int32_t readZigzag(const uint8_t *p) {
  uint32_t raw = (uint32_t)p[0] | (uint32_t)p[1] << 8;
  return (int32_t)(raw >> 1) ^ -(int32_t)(raw & 1);
}

static FrameStatus onReset(Decoder *decoder, const uint8_t *payload, size_t size) {
  (void)payload;
  if (size != 0)
    return FrameShort;
  memset(decoder->sensors, 0, sizeof decoder->sensors);
  decoder->resets++;
  return FrameGood;
}

static FrameStatus onSensors(Decoder *decoder, const uint8_t *payload, size_t size) {
  if (size < 1 || payload[0] >= Sensors || (size - 1) % 2 != 0)
    return FrameShort;
  for (size_t i = 0; i < (size - 1) / 2; i++)
    decoder->sensors[(payload[0] + i) % Sensors] += readZigzag(payload + 1 + 2 * i);
  return FrameGood;
}

static FrameStatus onText(Decoder *decoder, const uint8_t *payload, size_t size) {
  for (size_t i = 0; i < size; i++) {
    uint8_t c = payload[i] >= 'a' && payload[i] <= 'z' ? payload[i] - 32 : payload[i];
    decoder->textHash = decoder->textHash * 33 + c;
  }
  return FrameGood;
}

static FrameStatus onMove(Decoder *decoder, const uint8_t *payload, size_t size) {
  static const int Turn[4][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
  int heading = 0;
  for (size_t i = 0; i < size; i++) {
    heading = (heading + (payload[i] >> 6)) & 3;
    decoder->position[0] += Turn[heading][0] * (payload[i] & 63);
    decoder->position[1] += Turn[heading][1] * (payload[i] & 63);
  }
  return FrameGood;
}

static Handler handlerFor(uint8_t type) {
  switch (type) {
  case 1: return onReset;
  case 2: return onSensors;
  case 3: return onText;
  case 9: return onMove;
  default: return NULL;
  }
}

static FrameStatus finishFrame(Decoder *decoder) {
  if (decoder->used < 4)
    return FrameShort;
  size_t body = decoder->used - 2;
  uint16_t crc = (uint16_t)(decoder->frame[body] << 8 | decoder->frame[body + 1]);
  if (crc16(decoder->frame, body) != crc)
    return FrameBadCrc;
  uint8_t gap = (uint8_t)(decoder->frame[0] - decoder->expected);
  decoder->lost += gap;
  decoder->expected = (uint8_t)(decoder->frame[0] + 1);
  Handler handler = handlerFor(decoder->frame[1]);
  return handler ? handler(decoder, decoder->frame + 2, body - 2) : FrameUnknown;
}

static void storeByte(Decoder *decoder, uint8_t byte) {
  decoder->state = StateBody;
  if (decoder->used < sizeof decoder->frame) {
    decoder->frame[decoder->used++] = byte;
    return;
  }
  decoder->byStatus[FrameLong]++;
  decoder->state = StateHunt;
}

void decodeByte(Decoder *decoder, uint8_t byte) {
  switch (decoder->state) {
  case StateHunt:
    if (byte == Flag) {
      decoder->state = StateBody;
      decoder->used = 0;
    }
    return;
  case StateEscaped: storeByte(decoder, byte ^ 0x20); return;
  case StateBody:
    if (byte == Escape) {
      decoder->state = StateEscaped;
    } else if (byte != Flag) {
      storeByte(decoder, byte);
    } else if (decoder->used > 0) {
      decoder->byStatus[finishFrame(decoder)]++;
      decoder->used = 0;
    }
  }
}

static size_t randomPayload(uint8_t *payload, uint8_t type) {
  size_t size = type == 1 ? 0 : 1 + nextRandom() % (MaxPayload - 1);
  if (type == 2)
    size |= 1;
  for (size_t i = 0; i < size; i++)
    payload[i] = (uint8_t)(type == 3 ? 'A' + nextRandom() % 58 : nextRandom() >> 8);
  if (type == 2)
    payload[0] %= Sensors;
  return size;
}

static size_t writeStream(uint8_t *stream) {
  static const uint8_t Types[] = {2, 3, 9, 2, 3, 2, 5, 1};
  Encoder encoder = {stream, 0, 0};
  uint8_t payload[MaxPayload];
  while (encoder.used + 3 * MaxPayload < StreamSize) {
    uint8_t type = Types[nextRandom() & 7];
    size_t size = randomPayload(payload, type);
    encodeFrame(&encoder, type, payload, size);
  }
  return encoder.used;
}

static void damage(uint8_t *stream, size_t size) {
  for (size_t i = 0; i < size; i += 500 + nextRandom() % 1000)
    stream[i] = (uint8_t)(stream[i] ^ 1u << (nextRandom() & 7));
}

static void report(const Decoder *decoder) {
  uint32_t hash = decoder->textHash;
  for (int i = 0; i < Sensors; i++)
    hash = hash * 31 + (uint32_t)decoder->sensors[i];
  printf("frames");
  for (int i = 0; i < FrameKinds; i++)
    printf(" %u", decoder->byStatus[i]);
  printf(" lost %u resets %u at %lld %lld hash %08x\n", decoder->lost, decoder->resets, (long long)decoder->position[0],
         (long long)decoder->position[1], hash);
}

int main(void) {
  static uint8_t stream[StreamSize];
  size_t size = writeStream(stream);
  for (int round = 0; round < 2; round++) {
    Decoder decoder = {0};
    for (size_t i = 0; i < size; i++)
      decodeByte(&decoder, stream[i]);
    report(&decoder);
    damage(stream, size);
  }
  return 0;
}
