// SPDX-License-Identifier: Apache-2.0
/* ir/expand.c - EXPANDED scalar operators as graphs of EXACT ones, from ir/expand.def and ir/expand_int.def. Needs ir/formula.c. */
#include "ir/formula.h"

#include "base/vec.h"

static const struct expansion {
  ir_scalar_code code;
  ir_dtype dtype;
  const char *text;
} expansions[] = {
#define EXPAND(CODE, DTYPE, ulp, doc, formula) \
  { \
    IR_S_##CODE, IR_##DTYPE \
    , formula \
  } \
  ,
#include "ir/expand.def"
#include "ir/expand_int.def"
#undef EXPAND
};

struct expanding {
  ir_context *context;
  ir_arena arena;
  ir_map done;
};

/* EXPR, a formula of an expansion, with the EXPANDED operators in it expanded in turn. */
static const ir_expr *expand_within(struct expanding *e, const ir_expr *expr) {
  if (!expr->count) return expr;
  const ir_expr *known = ir_map_get(&e->done, expr);
  if (known) return known;
  const ir_expr *kids[3], *result = expr;
  bool changed = false;
  for (size_t i = 0; i < expr->count; i++) {
    if (!(kids[i] = expand_within(e, expr->kids[i]))) return NULL;
    changed |= kids[i] != expr->kids[i];
  }
  ir_scalar_code code = (ir_scalar_code)expr->code;
  if (changed && ir_scalars[code].typing == IR_TYPING_CONVERT)
    result = ir_expr_convert(e->context, code, kids[0], (ir_dtype)expr->dtype, expr->lanes);
  else if (changed)
    result = ir_expr_get(e->context, code, expr->count, kids);
  if (ir_scalars[code].expanded) result = ir_expand(e->context, result);
  if (result) ir_map_put(&e->arena, &e->done, expr, (void *)(uintptr_t)result);
  return result;
}

enum { MOST_OPERANDS = 2 };

static const ir_expr *operand_instead(void *user, ir_context *context, const ir_expr *leaf) {
  (void)context;
  const ir_expr *const *operands = user;
  return leaf->code == IR_S_ARG ? operands[leaf->arg] : leaf;
}

/* A row's formula on arguments, then these replaced: the formula is read once for all its uses. */
static const ir_expr *expand_row(ir_context *context, const struct expansion *row, size_t count,
                                 const ir_expr *const *operands) {
  static const char *const names[MOST_OPERANDS] = {"x", "y"};
  ir_formula_input inputs[MOST_OPERANDS];
  for (size_t i = 0; i < count; i++)
    inputs[i] = (ir_formula_input){names[i], ir_expr_arg(context, (uint32_t)i, row->dtype, operands[0]->lanes)};
  const ir_expr *body = ir_formula(context, row->text, row->dtype, inputs, count);
  if (!body) return NULL;
  struct expanding e = {.context = context};
  body = expand_within(&e, body);
  ir_arena_free(&e.arena);
  return body ? ir_expr_replace(context, body, operand_instead, (void *)(uintptr_t)operands) : NULL;
}

const ir_expr *ir_expand(ir_context *context, const ir_expr *call) {
  ir_scalar_code code = (ir_scalar_code)call->code;
  ir_dtype dtype = (ir_dtype)call->dtype;
  if (!ir_scalars[code].expanded || call->count > MOST_OPERANDS) return NULL;
  bool narrow = ir_is_float(dtype) && ir_dtypes[dtype].bits < 32;
  const ir_expr *operands[MOST_OPERANDS];
  for (size_t i = 0; i < call->count; i++)
    operands[i] = narrow ? ir_expr_cast(context, call->kids[i], IR_F32) : call->kids[i];
  for (size_t i = 0; i < ir_count_of(expansions); i++) {
    if (expansions[i].code != code || expansions[i].dtype != (narrow ? IR_F32 : dtype)) continue;
    const ir_expr *body = expand_row(context, &expansions[i], call->count, operands);
    return body ? ir_expr_cast(context, body, dtype) : NULL;
  }
  return NULL;
}
