// SPDX-License-Identifier: Apache-2.0
/* base/sha256.c - SHA-256 by FIPS 180-4. */
#include "base/sha256.h"

#include <string.h>

enum { BLOCK = 64 };

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes (section 4.2.2). */
static const uint32_t rounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, unsigned by) { return x >> by | x << (32 - by); }

static uint32_t big_endian(const uint8_t *at) { return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3]; }

static void compress(uint32_t state[8], const uint8_t *block) {
  uint32_t w[64], v[8];
  for (size_t i = 0; i < 16; i++) w[i] = big_endian(block + 4 * i);
  for (size_t i = 16; i < 64; i++) {
    uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] + (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
  }
  memcpy(v, state, sizeof v);
  for (size_t i = 0; i < 64; i++) {
    uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]), most = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
    uint32_t one = v[7] + (rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25)) + choice + rounds[i] + w[i];
    uint32_t two = (rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22)) + most;
    memmove(v + 1, v, 7 * sizeof *v);
    v[4] += one;
    v[0] = one + two;
  }
  for (size_t i = 0; i < 8; i++) state[i] += v[i];
}

void ir_sha256(const void *bytes, size_t size, uint8_t digest[IR_SHA256_SIZE]) {
  uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const uint8_t *at = bytes;
  size_t left = size;
  for (; left >= BLOCK; left -= BLOCK, at += BLOCK) compress(state, at);
  uint8_t tail[2 * BLOCK] = {0};
  if (left) memcpy(tail, at, left);
  tail[left] = 0x80;
  size_t end = left < BLOCK - 8 ? BLOCK : 2 * BLOCK;
  for (size_t i = 0; i < 8; i++) tail[end - 1 - i] = (uint8_t)((uint64_t)size * 8 >> 8 * i);
  for (size_t i = 0; i < end; i += BLOCK) compress(state, tail + i);
  for (size_t i = 0; i < IR_SHA256_SIZE; i++) digest[i] = (uint8_t)(state[i / 4] >> (24 - 8 * (i % 4)));
}

void ir_sha256_text(const void *bytes, size_t size, char text[IR_SHA256_TEXT]) {
  uint8_t digest[IR_SHA256_SIZE];
  ir_sha256(bytes, size, digest);
  for (size_t i = 0; i < IR_SHA256_SIZE; i++) {
    text[2 * i] = "0123456789abcdef"[digest[i] >> 4];
    text[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
  }
  text[IR_SHA256_TEXT - 1] = 0;
}
