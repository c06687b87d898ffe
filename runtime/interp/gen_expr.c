// SPDX-License-Identifier: Apache-2.0
/* runtime/interp/gen_expr.c - scalar expressions as instructions. Each node becomes one register; equal nodes of one
 * operation share theirs (expressions are hash-consed). */
#include "runtime/interp/gen.h"

#include "base/checked.h"
#include "ir/formula.h"

void ir_gen_enter(ir_gen *gen, ir_gen_owner *owner, const ir_op *op) {
  *owner = (ir_gen_owner){.op = gen->op, .memo = gen->memo};
  gen->op = op;
  gen->memo = &owner->own;
}

void ir_gen_leave(ir_gen *gen, ir_gen_owner *owner) {
  gen->op = owner->op;
  gen->memo = owner->memo;
}

/* --- values of the program --- */
static bool of_let(ir_gen *gen, const ir_op *op, ir_origin *source) {
  const ir_expr *expr = ir_get_expr(op, "value");
  ir_gen_owner owner;
  ir_gen_enter(gen, &owner, op);
  *source = (ir_origin){0};
  if (expr->dtype == IR_I64 && expr->lanes == 1) {
    ir_gen_form form;
    if (ir_gen_form_of(gen, expr, &form) && form.count && (form.count > 1 || form.constant || form.terms[0].scale != 1)) {
      ir_gen_form *kept = ir_new(&gen->scratch, ir_gen_form);
      *kept = form;
      source->form = kept;
    }
  }
  source->reg = ir_gen_expr(gen, expr);
  ir_gen_leave(gen, &owner);
  return source->reg != 0;
}

bool ir_gen_value(ir_gen *gen, ir_value *value, ir_origin *source) {
  const ir_origin *known = ir_map_get(&gen->values, value);
  if (known) {
    *source = *known;
    return true;
  }
  const ir_op *op = ir_value_op(value);
  if (ir_is(op, IR_SCALAR)) return of_let(gen, op, source);
  return ir_gen_fail(gen, "value '%s%s' has no definition that the interpreter can reach", value->name ? "%" : "",
                     value->name ? value->name->text : "unnamed");
}

ir_reg ir_gen_scalar(ir_gen *gen, ir_value *value) {
  ir_origin source;
  return ir_gen_value(gen, value, &source) ? source.reg : 0;
}

void ir_gen_let(ir_gen *gen, ir_op *op) {
  ir_origin source;
  if (of_let(gen, op, &source)) ir_gen_bind(gen, ir_op_result(op, 0), source);
}

/* --- conversions --- */
static ir_reg narrowed(ir_gen *gen, ir_reg reg) {
  const ir_reg_info *info = ir_gen_info(gen, reg);
  ir_strip *fn = reg ? gen->kernels->narrow[info->dtype] : NULL;
  return fn ? ir_gen_pure(gen, fn, (ir_dtype)info->dtype, info->width, 1, &reg) : reg;
}

ir_reg ir_gen_cast(ir_gen *gen, ir_reg reg, ir_dtype dtype) {
  if (!reg || ir_gen_info(gen, reg)->dtype == dtype) return reg;
  const ir_reg_info from = *ir_gen_info(gen, reg);
  const ir_kernels *k = gen->kernels;
  bool narrow_float = ir_is_float(dtype) && k->narrow[dtype];
  ir_strip *fn = dtype == IR_BOOL                            ? k->to_bool[from.rep]
                  : dtype == IR_I4                            ? k->to_i4[from.rep]
                  : dtype == IR_U4                            ? k->to_u4[from.rep]
                  : narrow_float && from.dtype == IR_F64       ? k->odd
                                                              : k->cast[from.rep][ir_rep_of(dtype)];
  ir_reg result = ir_gen_pure(gen, fn, dtype, from.width, 1, &reg);
  if (narrow_float) return narrowed(gen, result);
  if (result && !ir_is_float(dtype) && !ir_is_float((ir_dtype)from.dtype) && dtype != IR_U64) {
    ir_reg_info *info = ir_gen_info(gen, result);
    if (dtype != IR_BOOL && from.least >= info->least && from.most <= info->most) ir_gen_range(gen, result, from.least, from.most);
  }
  return result;
}

/* Through the stored form: f16 as i16, say, when registers hold f32. */
static ir_reg bitcast(ir_gen *gen, ir_reg reg, ir_dtype dtype) {
  if (!reg) return 0;
  const ir_reg_info from = *ir_gen_info(gen, reg);
  const ir_kernels *k = gen->kernels;
  unsigned bits = ir_dtypes[from.dtype].bits;
  static const ir_dtype raw_of[] = {IR_U8, IR_U16, IR_U32, IR_U64};
  ir_dtype raw = bits == 4 ? IR_U4 : raw_of[ir_size_class(bits / 8)];
  if (k->store[from.dtype]) {
    reg = ir_gen_pure(gen, k->store[from.dtype], raw, from.width, 1, &reg);
  } else {
    /* The same bits: integers of one width cast without change, floats move. */
    ir_strip *move = bits == 4 ? k->to_u4[from.rep] : k->op[IR_S_BITOR][ir_rep_of(raw)];
    reg = ir_gen_pure(gen, move, raw, from.width, bits == 4 ? 1 : 2, (ir_reg[]){reg, reg});
  }
  if (k->load[dtype]) return ir_gen_pure(gen, k->load[dtype], dtype, from.width, 1, &reg);
  if (dtype == IR_BOOL) return ir_gen_cast(gen, reg, IR_BOOL);
  if (bits == 4) return ir_gen_cast(gen, reg, dtype);
  return ir_gen_pure(gen, k->op[IR_S_BITOR][ir_rep_of(raw)], dtype, from.width, 2, (ir_reg[]){reg, reg});
}

/* BROADCAST and RAMP: one value becomes a vector. */
static ir_reg widened(ir_gen *gen, ir_instr_kind kind, ir_reg reg, unsigned lanes) {
  if (!reg) return 0;
  const ir_reg_info from = *ir_gen_info(gen, reg);
  if (from.constant && !from.varying) {
    uint8_t *values = ir_arena_alloc(&gen->scratch, lanes * from.size);
    for (unsigned i = 0; i < lanes; i++) {
      memcpy(values + i * from.size, from.constant, from.size);
      if (kind == IR_I_RAMP) ((int64_t *)values)[i] += i;
    }
    return ir_gen_constant(gen, (ir_dtype)from.dtype, lanes, values);
  }
  ir_reg d = ir_gen_reg(gen, (ir_dtype)from.dtype, lanes, from.varying, from.depth);
  for (size_t i = 0; i < gen->axis_count; i++) {
    if (gen->axes[i].reg == reg) gen->axes[i].used = true;
  }
  ir_gen_emit_at(gen, from.depth, (ir_instr){.kind = (uint8_t)kind, .varying = from.varying, .width = (uint16_t)lanes, .d = d, .a = reg});
  return d;
}

/* --- guards --- */
void ir_gen_move(ir_gen *gen, ir_reg d, ir_reg a) {
  if (!a || !d) return;
  const ir_reg_info *to = ir_gen_info(gen, d);
  if (to->varying) a = ir_gen_vary(gen, a);
  to = ir_gen_info(gen, d);
  uint16_t step = to->varying ? (uint16_t)to->size : 0;
  ir_gen_emit(gen, (ir_instr){.kind = IR_I_MOVE, .varying = to->varying, .width = to->width, .d = d, .a = a, .step = {step, step}});
  for (size_t i = 0; i < gen->axis_count; i++) {
    if (gen->axes[i].reg == a) gen->axes[i].used = true;
  }
}

static ir_reg guarded(ir_gen *gen, const ir_expr *expr) {
  if (expr->lanes > 1) {
    ir_gen_fail(gen, "guard: the interpreter takes conditions of one lane only");
    return 0;
  }
  ir_reg otherwise = ir_gen_expr(gen, expr->kids[2]);
  ir_reg result = ir_gen_reg(gen, (ir_dtype)expr->dtype, 1, gen->in_lanes, gen->depth);
  ir_gen_move(gen, result, otherwise);
  ir_node *node = ir_gen_node(gen);
  node->narrow = true;
  ir_gen_scope scope;
  ir_gen_open(gen, &scope, &node->body, NULL);
  bool lazy = gen->lazy;
  gen->lazy = true;
  ir_gen_guard(gen, &node->guard, 1, &expr->kids[0]);
  ir_gen_move(gen, result, ir_gen_expr(gen, expr->kids[1]));
  gen->lazy = lazy;
  ir_gen_close(gen, &scope, false);
  ir_gen_emit(gen, (ir_instr){.kind = IR_I_IF, .varying = gen->in_lanes, .info = node});
  return result;
}

/* --- operators --- */
static bool may_be_zero(ir_gen *gen, ir_reg reg) {
  const ir_reg_info *info = ir_gen_info(gen, reg);
  if (info->constant) {
    static const uint8_t zeros[8];
    for (unsigned i = 0; i < info->width; i++) {
      if (!memcmp((const uint8_t *)info->constant + i * ir_rep_sizes[info->rep], zeros, ir_rep_sizes[info->rep])) return true;
    }
    return false;
  }
  return info->least <= 0 && info->most >= 0;
}

static bool divides(ir_scalar_code code) {
  return code == IR_S_TRUNCDIV || code == IR_S_FLOORDIV || code == IR_S_CEILDIV || code == IR_S_TRUNCMOD || code == IR_S_FLOORMOD;
}

static void check_divisor(ir_gen *gen, ir_reg divisor) {
  const ir_reg_info *info = ir_gen_info(gen, divisor);
  if (!gen->checked || ir_is_float((ir_dtype)info->dtype) || !may_be_zero(gen, divisor)) return;
  for (size_t i = 0; i < gen->axis_count; i++) {
    if (gen->axes[i].reg == divisor) gen->axes[i].used = true;
  }
  ir_gen_emit(gen, (ir_instr){.kind = IR_I_DIVISOR, .varying = info->varying, .width = info->width, .a = divisor, .info = gen->op});
}

/* What is known of the result of integer CODE; false: nothing. */
static bool range_of(ir_scalar_code code, const ir_reg_info *a, const ir_reg_info *b, int64_t *least, int64_t *most) {
  switch (code) {
  case IR_S_ADD: return ir_add_i64(a->least, b->least, least) && ir_add_i64(a->most, b->most, most);
  case IR_S_SUB: return ir_sub_i64(a->least, b->most, least) && ir_sub_i64(a->most, b->least, most);
  case IR_S_MUL: {
    int64_t corner[4];
    if (!ir_mul_i64(a->least, b->least, &corner[0]) || !ir_mul_i64(a->least, b->most, &corner[1]) ||
        !ir_mul_i64(a->most, b->least, &corner[2]) || !ir_mul_i64(a->most, b->most, &corner[3])) {
      return false;
    }
    *least = *most = corner[0];
    for (int i = 1; i < 4; i++) {
      if (corner[i] < *least) *least = corner[i];
      if (corner[i] > *most) *most = corner[i];
    }
    return true;
  }
  case IR_S_MIN:
    *least = a->least < b->least ? a->least : b->least;
    *most = a->most < b->most ? a->most : b->most;
    return true;
  case IR_S_MAX:
    *least = a->least > b->least ? a->least : b->least;
    *most = a->most > b->most ? a->most : b->most;
    return true;
  case IR_S_FLOORDIV:
    if (b->least != b->most || b->least <= 0) return false;
    *least = ir_floordiv_i64(a->least, b->least);
    *most = ir_floordiv_i64(a->most, b->least);
    return true;
  case IR_S_TRUNCDIV:
    if (b->least != b->most || b->least <= 0) return false;
    *least = a->least / b->least;
    *most = a->most / b->least;
    return true;
  case IR_S_FLOORMOD:
    if (b->least <= 0) return false;
    *least = 0;
    *most = b->most - 1;
    if (a->least >= 0 && a->most < *most) *most = a->most;
    return true;
  case IR_S_TRUNCMOD:
    if (b->least <= 0 || a->least < 0) return false;
    *least = 0;
    *most = b->most - 1 < a->most ? b->most - 1 : a->most;
    return true;
  default: return false;
  }
}

static void note_range(ir_gen *gen, ir_scalar_code code, ir_reg result, const ir_reg *args) {
  if (!result || ir_is_float((ir_dtype)ir_gen_info(gen, result)->dtype) || ir_gen_info(gen, result)->dtype == IR_U64) return;
  int64_t least, most;
  ir_reg_info *info = ir_gen_info(gen, result);
  const ir_reg_info *a = ir_gen_info(gen, args[0]), *b = ir_gen_info(gen, args[1]), *c = ir_gen_info(gen, args[2]);
  if (info->constant) return;
  if (code == IR_S_SELECT) {
    ir_gen_range(gen, result, b->least < c->least ? b->least : c->least, b->most > c->most ? b->most : c->most);
  } else if (range_of(code, a, b, &least, &most) && least >= info->least && most <= info->most) {
    ir_gen_range(gen, result, least, most);
  }
}

static ir_reg multiply_add(ir_gen *gen, const ir_expr *expr, const ir_reg *args) {
  ir_dtype dtype = (ir_dtype)expr->dtype;
  ir_rep rep = ir_rep_of(dtype);
  bool narrow_float = ir_is_float(dtype) && gen->kernels->narrow[dtype];
  if (ir_is_float(dtype) && gen->fma) {
    return narrowed(gen, ir_gen_pure(gen, gen->kernels->op[IR_S_FMA][rep], dtype, expr->lanes, 3, args));
  }
  if (!narrow_float) return narrowed(gen, ir_gen_pure(gen, gen->kernels->op[IR_S_MAD][rep], dtype, expr->lanes, 3, args));
  ir_reg product = narrowed(gen, ir_gen_pure(gen, gen->kernels->op[IR_S_MUL][rep], dtype, expr->lanes, 2, args));
  return narrowed(gen, ir_gen_pure(gen, gen->kernels->op[IR_S_ADD][rep], dtype, expr->lanes, 2, (ir_reg[]){product, args[2]}));
}

/* Codes whose results need no rounding to f16 and the like, and no wrapping to 4 bits. */
static bool stays_exact(ir_scalar_code code) {
  switch (code) {
  case IR_S_MIN:
  case IR_S_MAX:
  case IR_S_BCAST:
  case IR_S_SELECT:
  case IR_S_BITAND:
  case IR_S_BITOR:
  case IR_S_BITXOR:
  case IR_S_SIGN:
  case IR_S_FLOOR:
  case IR_S_CEIL:
  case IR_S_TRUNC:
  case IR_S_RINT:
  case IR_S_COPYSIGN: return true;
  default: return false;
  }
}

/* Whether A COMPARE B is known: 1 or 0; -1: it is not. */
static int comparison_of(ir_scalar_code code, const ir_reg_info *a, const ir_reg_info *b) {
  bool below = a->most < b->least, above = a->least > b->most;
  bool same = a->least == a->most && b->least == b->most && a->least == b->least;
  switch (code) {
  case IR_S_EQ: return same ? 1 : below || above ? 0 : -1;
  case IR_S_NE: return same ? 0 : below || above ? 1 : -1;
  case IR_S_LT: return below ? 1 : a->least >= b->most ? 0 : -1;
  case IR_S_LE: return a->most <= b->least ? 1 : above ? 0 : -1;
  case IR_S_GT: return above ? 1 : a->most <= b->least ? 0 : -1;
  case IR_S_GE: return a->least >= b->most ? 1 : below ? 0 : -1;
  default: return -1;
  }
}

/* The result of an operator on integers that needs no computing, from the ranges of its operands; 0: it does. */
static ir_reg decided(ir_gen *gen, ir_scalar_code code, ir_dtype operand, const ir_reg *args) {
  const ir_reg_info *a = ir_gen_info(gen, args[0]), *b = ir_gen_info(gen, args[1]);
  if (ir_is_float(operand) || operand == IR_U64 || a->width > 1) return 0;
  if (code >= IR_S_EQ && code <= IR_S_GE) {
    int known = comparison_of(code, a, b);
    uint8_t value = known == 1;
    return known < 0 ? 0 : ir_gen_constant(gen, IR_BOOL, 1, &value);
  }
  bool one = b->least == 1 && b->most == 1, small = a->least >= 0 && a->most < b->least;
  switch (code) {
  case IR_S_FLOORMOD:
  case IR_S_TRUNCMOD: return small ? args[0] : 0;
  case IR_S_FLOORDIV:
  case IR_S_TRUNCDIV: return one ? args[0] : 0;
  case IR_S_MIN: return a->most <= b->least ? args[0] : b->most <= a->least ? args[1] : 0;
  case IR_S_MAX: return a->least >= b->most ? args[0] : b->least >= a->most ? args[1] : 0;
  default: return 0;
  }
}

static ir_reg operator(ir_gen *gen, const ir_expr *expr) {
  ir_scalar_code code = (ir_scalar_code)expr->code;
  ir_reg args[3] = {0};
  if (code == IR_S_SELECT && expr->lanes == 1 && !expr->has_loads) {
    ir_reg condition = ir_gen_expr(gen, expr->kids[0]);
    const uint8_t *known = condition ? ir_gen_info(gen, condition)->constant : NULL;
    if (known) return ir_gen_expr(gen, expr->kids[*known ? 1 : 2]);
  }
  for (size_t i = 0; i < expr->count; i++) {
    args[i] = ir_gen_expr(gen, expr->kids[i]);
    if (!args[i]) return 0;
  }
  ir_dtype operand = (ir_dtype)expr->kids[expr->count - 1]->dtype, dtype = (ir_dtype)expr->dtype;
  ir_reg known = decided(gen, code, operand, args);
  if (known) return known;
  if (divides(code)) check_divisor(gen, args[1]);
  if (code == IR_S_MAD) return multiply_add(gen, expr, args);
  if (code == IR_S_BITNOT && operand == IR_BOOL) code = IR_S_NOT;
  if ((code == IR_S_ABS || code == IR_S_NEG) && ir_is_float(dtype)) {
    return ir_gen_pure(gen, gen->kernels->op[code][ir_rep_of(operand)], dtype, expr->lanes, 1, args);
  }
  ir_strip *fn = gen->kernels->op[code][ir_rep_of(operand)];
  if (!fn) {
    ir_gen_fail(gen, "the interpreter has no '%s' of %s", ir_scalars[code].name, ir_dtype_name(operand));
    return 0;
  }
  ir_reg result = ir_gen_pure(gen, fn, dtype, expr->lanes, expr->count, args);
  if (dtype != IR_BOOL && !stays_exact(code)) result = narrowed(gen, result);
  note_range(gen, code, result, args);
  return result;
}

static ir_reg constant(ir_gen *gen, const ir_expr *expr) {
  ir_dtype dtype = (ir_dtype)expr->dtype;
  unsigned size = ir_rep_sizes[ir_rep_of(dtype)];
  uint8_t *values = ir_arena_alloc(&gen->scratch, ir_size_mul(expr->lanes, 8));
  for (unsigned i = 0; i < expr->lanes; i++) ir_gen_format(gen, dtype, expr->bits, values + i * size);
  return ir_gen_constant(gen, dtype, expr->lanes, values);
}

static ir_reg argument(ir_gen *gen, const ir_expr *expr) {
  if (!gen->op) return gen->sources[expr->arg].reg;
  return ir_gen_scalar(gen, ir_op_operand(gen->op, expr->arg));
}

static ir_reg symbol(ir_gen *gen, const ir_expr *expr) {
  const ir_origin *source = ir_map_get(&gen->symbols, expr->symbol);
  if (source) return source->reg;
  ir_gen_fail(gen, "symbol '%s' has no value here", expr->symbol->text);
  return 0;
}

static ir_reg compiled(ir_gen *gen, const ir_expr *expr) {
  switch ((ir_scalar_code)expr->code) {
  case IR_S_CONST: return constant(gen, expr);
  case IR_S_SYMBOL: return symbol(gen, expr);
  case IR_S_ARG: return argument(gen, expr);
  case IR_S_LOAD: return ir_gen_load(gen, expr);
  case IR_S_CAST: return ir_gen_cast(gen, ir_gen_expr(gen, expr->kids[0]), (ir_dtype)expr->dtype);
  case IR_S_BITCAST: return bitcast(gen, ir_gen_expr(gen, expr->kids[0]), (ir_dtype)expr->dtype);
  case IR_S_BROADCAST: return widened(gen, IR_I_BROADCAST, ir_gen_expr(gen, expr->kids[0]), expr->lanes);
  case IR_S_RAMP: return widened(gen, IR_I_RAMP, ir_gen_expr(gen, expr->kids[0]), expr->lanes);
  case IR_S_GUARD: return guarded(gen, expr);
  default: return operator(gen, expr);
  }
}

ir_reg ir_gen_expr(ir_gen *gen, const ir_expr *expr) {
  if (gen->failed) return 0;
  for (const ir_memo *memo = gen->memo; memo; memo = memo->outer) {
    uintptr_t found = (uintptr_t)ir_map_get(&memo->regs, expr);
    if (found) return (ir_reg)(found - 1);
  }
  ir_memo *home = gen->memo;
  const ir_expr *expansion = NULL;
  if (ir_scalars[expr->code].expanded) {
    expansion = ir_expand(gen->context, expr);
    if (!expansion) {
      ir_gen_fail(gen, "there is no expansion of '%s' for %s", ir_scalars[expr->code].name, ir_dtype_name((ir_dtype)expr->dtype));
      return 0;
    }
  }
  ir_reg reg = compiled(gen, expansion ? expansion : expr);
  if (reg) ir_map_put(&gen->scratch, &home->regs, expr, (void *)(uintptr_t)(reg + 1));
  return reg;
}
