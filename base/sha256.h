// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_BASE_SHA256_H
#define RILL_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { IR_SHA256_SIZE = 32, IR_SHA256_TEXT = 2 * IR_SHA256_SIZE + 1 };

/* The SHA-256 digest of SIZE bytes (FIPS 180-4). */
void ir_sha256(const void *bytes, size_t size, uint8_t digest[IR_SHA256_SIZE]);
/* The same as lower-case hexadecimal digits, with a NUL. */
void ir_sha256_text(const void *bytes, size_t size, char text[IR_SHA256_TEXT]);

#endif
