// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_RUNTIME_NPY_H
#define RILL_RUNTIME_NPY_H

#include "../base/output.h"
#include "../ir/dtype.h"

/* An array as NumPy's .npy files hold it. The elements lie in C order (last axis fastest), little-endian, without
 * gaps; bool elements are 0 or 1. SIZE is in bytes. */
enum { IR_NPY_MAX_RANK = 32 };
typedef struct ir_npy {
  ir_dtype dtype;
  int rank;
  int64_t dims[IR_NPY_MAX_RANK];
  const uint8_t *bytes;
  size_t size;
} ir_npy;

/* Reads formats 1.0 to 3.0, either byte order, C or Fortran order, element types b1, i1-i8, u1-u8, f2, f4, f8 (NumPy
 * has no name for the others: bf16, f8 and 4-bit integers come out of np.save as raw bytes and are refused). The bytes
 * go to ARENA, aligned to 64. Reports one error and returns false for everything else, bytes after the data included:
 * the size in the header is compared with that of the file before anything is allocated. */
bool ir_npy_read(ir_diags *diags, ir_arena *arena, const char *path, ir_npy *array);
/* The same for a file in memory; NAME is for messages. */
bool ir_npy_parse(ir_diags *diags, ir_arena *arena, const char *name, const uint8_t *file, size_t size, ir_npy *array);

/* Writes format 1.0, byte for byte what np.save of NumPy 1.23 and later writes. False after a report where the element
 * type has no name in NumPy (bf16, f8, i4, u4), or where SIZE is not that of DIMS. */
bool ir_npy_put(ir_diags *diags, ir_output *output, const char *name, const ir_npy *array);

/* COUNT elements of DIMS, and their bytes; false where either passes 63 bits, even if another extent is 0. */
bool ir_npy_extent(ir_dtype dtype, int rank, const int64_t *dims, int64_t *count, int64_t *bytes);

#endif
