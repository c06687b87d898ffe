// SPDX-License-Identifier: Apache-2.0
/* Where an access to a buffer goes, as expressions: row-major element numbers that never leave the buffer. */
#ifndef RILL_TARGETS_PLACE_H
#define RILL_TARGETS_PLACE_H

#include "proofs.h"

typedef struct ir_place {
  const ir_expr *flat; /* i64, of the operation: the element's number */
  const ir_expr *on;   /* NULL: always. A store where it does not hold is dropped, a load gives 0. */
  bool never;          /* the buffer is written with an extent of 0 */
} ir_place;

/* The place of INDEX (COUNT of them, expressions of OP) in a buffer of TYPE. What P does not prove to be in range is clamped
 * for a load (docs/spec/semantics.md) and made a condition for a store, unless TRUSTED. */
ir_place ir_place_find(ir_proofs *p, const ir_op *op, const ir_type *type, size_t count, const ir_expr *const *index, bool store, bool trusted);

#endif
