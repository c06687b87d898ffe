// SPDX-License-Identifier: Apache-2.0
/* What compiled models are linked with. The files of this folder are compiled to bitcode for every architecture, which the
 * LLVM target puts into what it writes; natively they serve code of this process. Nothing of Rill or of libc is used but
 * the functions declared here. Names begin with rill_support_; in what is written they are internal. */
#ifndef RILL_TARGETS_LLVM_SUPPORT_H
#define RILL_TARGETS_LLVM_SUPPORT_H

#include "../../../targets/llvm/abi.h"
#include "interface.h"

#include <stdbool.h>

void *aligned_alloc(size_t align, size_t bytes);
void free(void *memory);
void *memcpy(void *to, const void *from, size_t bytes);

enum { RILL_ALIGN = 64, RILL_MOST_AXES = 32 };
/* No tensor has more elements. */
#define RILL_MOST_ELEMENTS (INT64_C(1) << 48)

/* --- called by emitted code --- */

/* Places COUNT blocks: see ir_pack of base/pack.h, which does the same. The total, negative where there is none. Plans that the
 * context has are not computed anew. */
int64_t rill_support_pack(rill_context *context, int64_t count, const int64_t *bytes, const int64_t *live, int64_t *offsets);
/* Memory for a tensor of these extents; NULL after a report: FAILURE where no such tensor may exist. */
void *rill_support_allocate(rill_context *context, const int64_t *dims, int64_t rank, int64_t element, const rill_failure *failure);

/* --- the side file (side.c), see rill_side --- */

const void *rill_support_map(const char *path, int64_t bytes);
void rill_support_unmap(const void *memory, int64_t bytes);

/* --- what the functions of a model do; INFO describes it --- */

int32_t rill_support_open(const rill_info *info, const rill_env *env, const char *side_file, rill_model **model);
int32_t rill_support_shapes(rill_model *model, DLTensor *const *in, DLTensor *const *out);
int32_t rill_support_run(rill_model *model, DLTensor *const *in, DLTensor *const *out);
void rill_support_close(rill_model *model);

#endif
