// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_RUNTIME_SAFETENSORS_H
#define RILL_RUNTIME_SAFETENSORS_H

#include "../base/output.h"
#include "../ir/dtype.h"

/* A tensor of a safetensors file: C order, little-endian, without gaps. NAME ends with NUL. */
enum { IR_SAFETENSORS_MAX_RANK = 32 };
typedef struct ir_safetensor {
  ir_slice name;
  ir_dtype dtype;
  int rank;
  int64_t dims[IR_SAFETENSORS_MAX_RANK];
  const uint8_t *bytes;
  size_t size;
} ir_safetensor;

/* The files we write align every tensor to 64 bytes. The format allows no gaps, so what lies between is a tensor of its
 * own (u8, zeros), named by this and a number; other readers then read our files too. No tensor of a caller may
 * be named so. */
#define IR_SAFETENSORS_PADDING "__padding__."
enum { IR_SAFETENSORS_ALIGN = 64 };

/* Maps a safetensors file, which must stay in place until the close. Bytes of tensors are slices of the mapping,
 * aligned only as the file has them. NULL after one report where the header is no JSON of the right form, has a key
 * twice, or the tensors do not fill the data behind it exactly (out of range, overlap, gaps, a size that is not that
 * of shape and element type), where an element type or a rank is out of what Rill has, or a bool is neither 0 nor 1. */
typedef struct ir_safetensors ir_safetensors;
ir_safetensors *ir_safetensors_open(ir_diags *diags, const char *path);
/* The same for a file in memory, which must outlive the result; NAME is for messages. */
ir_safetensors *ir_safetensors_parse(ir_diags *diags, const char *name, const uint8_t *file, size_t size);
void ir_safetensors_close(ir_safetensors *file);

/* Tensors in the order of the header, padding included. */
size_t ir_safetensors_count(const ir_safetensors *file);
const ir_safetensor *ir_safetensors_at(const ir_safetensors *file, size_t index);
/* NULL where there is none of that name. */
const ir_safetensor *ir_safetensors_find(const ir_safetensors *file, ir_slice name);

/* Writes COUNT tensors in the given order. Reports in the name of NAME and returns false where an element type has no
 * name in the format (i4, u4), a size is not that of its shape, or a name is not UTF-8, holds NUL, occurs twice or is
 * reserved; nothing has been written then. */
bool ir_safetensors_put(ir_diags *diags, ir_output *output, const char *name, const ir_safetensor *tensors,
                        size_t count);
/* ir_safetensors_put into a file of its own (base/output.h). */
bool ir_safetensors_write(ir_diags *diags, const char *path, const ir_safetensor *tensors, size_t count);

#endif
