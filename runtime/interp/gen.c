// SPDX-License-Identifier: Apache-2.0
/* runtime/interp/gen.c - registers, instructions and scopes of a plan in the making. Needs the kernels: what is constant
 * is computed at once. */
#include "runtime/interp/gen.h"

bool ir_gen_fail(ir_gen *gen, const char *format, ...) {
  if (gen->failed) return false;
  gen->failed = true;
  va_list args;
  va_start(args, format);
  ir_text text = {0};
  ir_text_vprintf(&text, format, args);
  va_end(args);
  const ir_op *op = gen->op ? gen->op : gen->plan->op;
  ir_range range = op ? op->range : gen->plan->func ? gen->plan->func->item.range : (ir_range){0};
  ir_error(gen->context->diags, range, "%s", text.at);
  ir_text_free(&text);
  return false;
}

ir_reg ir_gen_reg(ir_gen *gen, ir_dtype dtype, unsigned width, bool varying, uint32_t depth) {
  ir_rep rep = ir_rep_of(dtype);
  ir_reg_info *info = ir_push(&gen->scratch, &gen->regs);
  *info = (ir_reg_info){.dtype = (uint8_t)dtype,
                        .rep = (uint8_t)rep,
                        .varying = varying,
                        .width = (uint16_t)width,
                        .size = width * ir_rep_sizes[rep],
                        .depth = depth,
                        .rows = 1,
                        .least = INT64_MIN,
                        .most = INT64_MAX};
  unsigned bits = dtype == IR_BOOL ? 1 : ir_dtypes[dtype].bits;
  if (dtype == IR_BOOL || (ir_is_unsigned(dtype) && bits < 64)) {
    info->least = 0;
    info->most = (INT64_C(1) << bits) - 1;
  } else if (ir_is_signed(dtype) && bits < 64) {
    info->least = -(INT64_C(1) << (bits - 1));
    info->most = -info->least - 1;
  }
  return (ir_reg)(gen->regs.count - 1);
}

void ir_gen_range(ir_gen *gen, ir_reg reg, int64_t least, int64_t most) {
  ir_reg_info *info = ir_gen_info(gen, reg);
  if (least > info->least) info->least = least;
  if (most < info->most) info->most = most;
}

/* The value of an integer in a register's form. */
static int64_t read_int(const ir_reg_info *info, const void *value) {
  switch ((ir_rep)info->rep) {
  case IR_REP_U8: return *(const uint8_t *)value;
  case IR_REP_U16: return *(const uint16_t *)value;
  case IR_REP_U32: return *(const uint32_t *)value;
  case IR_REP_I8: return *(const int8_t *)value;
  case IR_REP_I16: return *(const int16_t *)value;
  case IR_REP_I32: return *(const int32_t *)value;
  case IR_REP_U64:
  case IR_REP_I64: return *(const int64_t *)value;
  case IR_REP_F32:
  case IR_REP_F64:
  case IR_REP_COUNT: break;
  }
  return 0;
}

struct constant_key {
  ir_gen *gen;
  ir_dtype dtype;
  unsigned width;
  const void *value;
};

static bool same_constant(const void *object, const void *key) {
  const struct constant_key *k = key;
  const ir_reg_info *info = &k->gen->regs.at[(uintptr_t)object - 1];
  return info->dtype == k->dtype && info->width == k->width && !memcmp(info->constant, k->value, info->size);
}

ir_reg ir_gen_constant(ir_gen *gen, ir_dtype dtype, unsigned width, const void *value) {
  size_t size = width * ir_rep_sizes[ir_rep_of(dtype)];
  struct constant_key key = {gen, dtype, width, value};
  uint64_t hash = ir_hash_mix(ir_hash_bytes(value, size), (uint64_t)dtype << 32 | width);
  void **slot = ir_intern_slot(&gen->scratch, &gen->constants, hash, &key, same_constant);
  if (*slot) return (ir_reg)((uintptr_t)*slot - 1);
  ir_reg reg = ir_gen_reg(gen, dtype, width, false, 0);
  *slot = (void *)(uintptr_t)(reg + 1);
  ir_reg_info *info = ir_gen_info(gen, reg);
  /* Kernels read whole words at times: room for 8 bytes. */
  void *copy = ir_arena_alloc(gen->arena, size < 8 ? 8 : size);
  memcpy(copy, value, size);
  info->constant = copy;
  if (width == 1 && !ir_is_float(dtype)) info->least = info->most = read_int(info, copy);
  if (dtype == IR_U64) info->least = INT64_MIN, info->most = INT64_MAX;
  return reg;
}

ir_reg ir_gen_i64(ir_gen *gen, int64_t value) { return ir_gen_constant(gen, IR_I64, 1, &value); }

bool ir_gen_is_constant(ir_gen *gen, ir_reg reg, int64_t *value) {
  const ir_reg_info *info = ir_gen_info(gen, reg);
  if (!info->constant || info->varying || info->dtype != IR_I64 || info->width != 1) return false;
  memcpy(value, info->constant, sizeof *value);
  return true;
}

void ir_gen_format(ir_gen *gen, ir_dtype dtype, uint64_t bits, void *out) {
  if (gen->kernels->load[dtype]) {
    gen->kernels->load[dtype](out, &bits, NULL, NULL, 1);
    return;
  }
  if (!ir_is_float(dtype)) bits = (uint64_t)ir_int_from_bits(dtype, bits);
  memcpy(out, &bits, ir_rep_sizes[ir_rep_of(dtype)]);
}

static void push(ir_gen *gen, ir_code *code, ir_instr instr) { *ir_push(gen->arena, code) = instr; }

void ir_gen_emit(ir_gen *gen, ir_instr instr) { push(gen, gen->at, instr); }

void ir_gen_emit_at(ir_gen *gen, uint32_t depth, ir_instr instr) {
  push(gen, depth < gen->depth ? gen->before.at[depth + 1] : gen->at, instr);
}

static void note_axis(ir_gen *gen, ir_reg reg) {
  for (size_t i = 0; i < gen->axis_count; i++) {
    if (gen->axes[i].reg == reg) gen->axes[i].used = true;
  }
}

static ir_reg splat_constant(ir_gen *gen, ir_reg reg) {
  const ir_reg_info *from = ir_gen_info(gen, reg);
  const void *constant = from->constant;
  ir_reg splat = ir_gen_reg(gen, (ir_dtype)from->dtype, from->width, true, 0);
  ir_gen_info(gen, splat)->constant = constant;
  ir_gen_info(gen, splat)->splat = true;
  return splat;
}

static ir_memo *outermost(ir_memo *memo) {
  while (memo->outer) memo = memo->outer;
  return memo;
}

ir_reg ir_gen_vary(ir_gen *gen, ir_reg reg) {
  const ir_reg_info *info = ir_gen_info(gen, reg);
  if (info->varying) return reg;
  const void *key = (const void *)((uintptr_t)reg * 2 + 1);
  ir_memo *home = info->constant ? outermost(gen->memo) : gen->memo;
  for (ir_memo *memo = gen->memo; memo; memo = memo->outer) {
    uintptr_t found = (uintptr_t)ir_map_get(&memo->regs, key);
    if (found) return (ir_reg)(found - 1);
  }
  ir_reg splat;
  if (info->constant) {
    splat = splat_constant(gen, reg);
  } else {
    uint32_t depth = info->depth >= gen->lane_depth ? info->depth : gen->lane_depth - 1;
    splat = ir_gen_reg(gen, (ir_dtype)info->dtype, info->width, true, depth);
    ir_gen_emit_at(gen, depth, (ir_instr){.kind = IR_I_SPLAT, .varying = true, .d = splat, .a = reg});
  }
  ir_map_put(&gen->scratch, &home->regs, key, (void *)(uintptr_t)(splat + 1));
  return splat;
}

/* All arguments are constant: computes now. */
static ir_reg fold(ir_gen *gen, ir_strip *fn, ir_dtype dtype, unsigned width, size_t count, const ir_reg *args) {
  const void *values[3] = {NULL, NULL, NULL};
  for (size_t i = 0; i < count; i++) values[i] = ir_gen_info(gen, args[i])->constant;
  void *result = ir_arena_alloc(&gen->scratch, width * 8);
  fn(result, values[0], values[1], values[2], width);
  return ir_gen_constant(gen, dtype, width, result);
}

ir_reg ir_gen_pure(ir_gen *gen, ir_strip *fn, ir_dtype dtype, unsigned width, size_t count, const ir_reg *args) {
  bool varying = false, constant = true;
  ir_reg use[3] = {0};
  for (size_t i = 0; i < count; i++) {
    if (!args[i]) return 0;
    use[i] = args[i];
    varying |= ir_gen_info(gen, use[i])->varying;
    constant &= ir_gen_info(gen, use[i])->constant != NULL;
  }
  if (constant && !varying && count) return fold(gen, fn, dtype, width, count, args);
  uint32_t depth = 0;
  uint16_t step[4] = {0};
  for (size_t i = 0; i < count; i++) {
    if (varying) use[i] = ir_gen_vary(gen, use[i]);
    note_axis(gen, use[i]);
    const ir_reg_info *info = ir_gen_info(gen, use[i]);
    if (info->depth > depth) depth = info->depth;
    step[i + 1] = varying ? (uint16_t)info->size : 0;
  }
  ir_reg d = ir_gen_reg(gen, dtype, width, varying, depth);
  step[0] = varying ? (uint16_t)ir_gen_info(gen, d)->size : 0;
  ir_instr instr = {.kind = IR_I_PURE, .varying = varying, .width = (uint16_t)width, .d = d, .a = use[0], .b = use[1], .c = use[2], .fn = fn};
  memcpy(instr.step, step, sizeof step);
  ir_gen_emit_at(gen, depth, instr);
  return d;
}

ir_node *ir_gen_node(ir_gen *gen) {
  ir_node *node = ir_new(gen->arena, ir_node);
  node->op = gen->op;
  return node;
}

void ir_gen_open(ir_gen *gen, ir_gen_scope *scope, ir_code *body, ir_code *before) {
  *scope = (ir_gen_scope){.at = gen->at, .memo = gen->memo};
  scope->inner.outer = gen->memo;
  gen->memo = &scope->inner;
  gen->at = body;
  if (!before) return;
  gen->depth++;
  while (gen->before.count <= gen->depth) *ir_push(&gen->scratch, &gen->before) = NULL;
  gen->before.at[gen->depth] = before;
}

void ir_gen_close(ir_gen *gen, ir_gen_scope *scope, bool loop) {
  if (loop) gen->depth--;
  gen->at = scope->at;
  gen->memo = scope->memo;
}

void ir_gen_bind(ir_gen *gen, const ir_value *value, ir_origin source) {
  if (!value) return;
  ir_origin *kept = ir_new(&gen->scratch, ir_origin);
  *kept = source;
  ir_map_put(&gen->scratch, &gen->values, value, kept);
}

ir_node *ir_gen_for(ir_gen *gen, ir_gen_scope *scope, const ir_value *value, ir_reg extent) {
  ir_node *node = ir_gen_node(gen);
  node->extent = extent;
  int64_t most = ir_gen_info(gen, extent)->most;
  ir_gen_open(gen, scope, &node->body, &node->before);
  node->variable = ir_gen_reg(gen, IR_I64, 1, false, gen->depth);
  ir_gen_range(gen, node->variable, 0, most > 0 ? most - 1 : 0);
  ir_gen_bind(gen, value, (ir_origin){.reg = node->variable});
  return node;
}

ir_node *ir_gen_lanes(ir_gen *gen, ir_gen_scope *scope, size_t count, const int64_t *extents, ir_value *const *values,
                      ir_reg extent) {
  ir_node *node = ir_gen_node(gen);
  int64_t total = 1;
  for (size_t i = 0; i < count; i++) total *= extents[i];
  node->extent = extent ? extent : ir_gen_i64(gen, total);
  int64_t lanes = extent || total > IR_STRIP ? IR_STRIP : total;
  if (lanes > gen->plan->lanes) gen->plan->lanes = lanes;
  ir_gen_open(gen, scope, &node->body, &node->before);
  node->variable = ir_gen_reg(gen, IR_I64, 1, false, gen->depth);
  ir_gen_range(gen, node->variable, 0, total > 0 ? total - 1 : 0);
  node->axis_count = count;
  node->axes = ir_new_array(gen->arena, ir_axis, count);
  for (size_t i = 0; i < count; i++) {
    ir_reg reg = ir_gen_reg(gen, IR_I64, 1, true, gen->depth);
    ir_gen_range(gen, reg, 0, extents[i] > 0 ? extents[i] - 1 : 0);
    node->axes[i] = (ir_axis){.reg = reg, .extent = extents[i]};
    ir_gen_bind(gen, values[i], (ir_origin){.reg = reg});
  }
  gen->in_lanes = true;
  gen->axes = node->axes;
  gen->axis_count = count;
  gen->lane_base = node->variable;
  gen->lane_depth = gen->depth;
  return node;
}

void ir_gen_close_lanes(ir_gen *gen, ir_gen_scope *scope) {
  ir_gen_close(gen, scope, true);
  gen->in_lanes = false;
  gen->axes = NULL;
  gen->axis_count = 0;
  gen->lane_base = 0;
  gen->lane_depth = 0;
}
