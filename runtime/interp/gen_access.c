// SPDX-License-Identifier: Apache-2.0
/* runtime/interp/gen_access.c - loads, stores and atomics: which element each lane touches, and which indices must be
 * checked while running. */
#include "runtime/interp/gen.h"

uint32_t ir_gen_add_buffer(ir_gen *gen, const ir_value *value, const char *name, ir_buffer_kind kind, ir_dtype dtype,
                           unsigned width, size_t rank, const int64_t *dims) {
  int64_t *copy = ir_new_array(gen->arena, int64_t, rank), *strides = ir_new_array(gen->arena, int64_t, rank);
  int64_t count = 1;
  for (size_t i = rank; i > 0; i--) {
    copy[i - 1] = dims[i - 1];
    strides[i - 1] = count;
    count *= dims[i - 1];
  }
  *ir_push(&gen->scratch, &gen->buffers) = (ir_buffer){.value = value,
                                                       .name = name,
                                                       .kind = kind,
                                                       .dtype = (uint8_t)dtype,
                                                       .width = (uint16_t)width,
                                                       .rank = (uint32_t)rank,
                                                       .dims = copy,
                                                       .strides = strides,
                                                       .count = count};
  uint32_t number = (uint32_t)gen->buffers.count - 1;
  if (value) ir_gen_bind(gen, value, (ir_origin){.is_buffer = true, .buffer = number});
  return number;
}

bool ir_gen_buffer(ir_gen *gen, uint32_t operand, uint32_t *buffer) {
  if (!gen->op) {
    *buffer = gen->sources[operand].buffer;
    return true;
  }
  ir_value *value = ir_op_operand(gen->op, operand);
  const ir_origin *source = ir_map_get(&gen->values, value);
  if (!source || !source->is_buffer) return ir_gen_fail(gen, "'%s' is not memory here", value->name ? value->name->text : "operand");
  *buffer = source->buffer;
  return true;
}

static const void *buffer_key(uint32_t buffer) { return (const void *)((uintptr_t)buffer * 2 + 1); }

static bool is_written(ir_gen *gen, uint32_t buffer) { return ir_map_has(&gen->written, buffer_key(buffer)); }

void ir_gen_written(ir_gen *gen, uint32_t buffer) { ir_map_put(&gen->scratch, &gen->written, buffer_key(buffer), gen); }

/* The base and width of an index that may be a ramp. */
static const ir_expr *index_base(ir_gen *gen, const ir_expr *index, unsigned *lanes) {
  *lanes = index->lanes;
  if (index->lanes == 1) return index;
  if (index->code == IR_S_RAMP) return index->kids[0];
  ir_gen_fail(gen, "an index of %u lanes must be of the form base:lanes", index->lanes);
  return NULL;
}

static bool in_range(ir_gen *gen, const ir_gen_form *form, int64_t extent) {
  int64_t least, most;
  return ir_gen_form_range(gen, form, &least, &most) && least >= 0 && most < extent;
}

bool ir_gen_access(ir_gen *gen, uint32_t buffer, size_t count, const ir_expr *const *index, unsigned width,
                   ir_access *access, bool *varying) {
  const ir_buffer b = gen->buffers.at[buffer];
  if (count != b.rank) return ir_gen_fail(gen, "'%s' has %u axes, found %zu indices", b.name, b.rank, count);
  ir_linear *indices = ir_new_array(gen->arena, ir_linear, count);
  ir_check *checks = ir_new_array(gen->arena, ir_check, count);
  *access = (ir_access){.buffer = buffer, .width = (uint16_t)width, .op = gen->op, .indices = indices, .checks = checks, .watched = b.raced};
  ir_gen_form offset = {0};
  *varying = gen->in_lanes && (b.own || b.raced);
  for (size_t i = 0; i < count; i++) {
    unsigned lanes;
    const ir_expr *base = index_base(gen, index[i], &lanes);
    ir_gen_form form;
    if (!base || !ir_gen_form_of(gen, base, &form)) return false;
    if (lanes > 1) access->vector = true;
    for (uint32_t t = 0; t < form.count; t++) *varying |= ir_gen_info(gen, form.terms[t].reg)->varying;
    ir_gen_form_add(gen, &offset, &form, b.strides[i] * b.width);
    indices[i] = ir_gen_form_finish(gen, &form);
    if (in_range(gen, &form, b.dims[i] - (int64_t)lanes + 1)) continue;
    access->checks = checks;
    checks[access->check_count++] = (ir_check){.dim = (uint32_t)i, .index = indices[i]};
  }
  access->offset = ir_gen_form_finish(gen, &offset);
  access->own = b.own && gen->in_lanes;
  if (access->own) access->offset.lane += b.count * b.width;
  if (access->offset.varying) gen->gathers++;
  access->direct = !is_written(gen, buffer) && !b.raced;
  return true;
}

static uint32_t depth_of(ir_gen *gen, const ir_access *access, bool varying) {
  const ir_buffer *b = &gen->buffers.at[access->buffer];
  if (gen->lazy || b->raced || is_written(gen, access->buffer)) return gen->depth;
  uint32_t depth = varying ? gen->lane_depth : 0;
  for (size_t i = 0; i < b->rank; i++) {
    const ir_linear *index = &access->indices[i];
    for (uint32_t t = 0; t < index->uniform + index->varying; t++) {
      uint32_t inner = ir_gen_info(gen, index->terms[t].reg)->depth;
      if (inner > depth) depth = inner;
    }
  }
  return depth;
}

ir_reg ir_gen_load(ir_gen *gen, const ir_expr *load) {
  uint32_t buffer;
  bool varying;
  ir_access *access = ir_new(gen->arena, ir_access);
  if (!ir_gen_buffer(gen, load->arg, &buffer)) return 0;
  if (!ir_gen_access(gen, buffer, load->count, load->kids, load->lanes, access, &varying)) return 0;
  uint32_t depth = depth_of(gen, access, varying);
  ir_reg d = ir_gen_reg(gen, (ir_dtype)load->dtype, load->lanes, varying, depth);
  ir_gen_emit_at(gen, depth, (ir_instr){.kind = IR_I_LOAD, .varying = varying, .width = load->lanes, .d = d, .info = access});
  return d;
}

static void note_value(ir_gen *gen, ir_reg reg) {
  for (size_t i = 0; i < gen->axis_count; i++) {
    if (gen->axes[i].reg == reg) gen->axes[i].used = true;
  }
}

void ir_gen_store(ir_gen *gen, uint32_t buffer, size_t count, const ir_expr *const *index, ir_reg value) {
  bool varying;
  ir_access *access = ir_new(gen->arena, ir_access);
  if (!value) return;
  unsigned width = ir_gen_info(gen, value)->width;
  if (!ir_gen_access(gen, buffer, count, index, width, access, &varying)) return;
  if (gen->in_lanes) value = ir_gen_vary(gen, value);
  note_value(gen, value);
  /* Outside of the loops over invocations, all of them do the same: one does it. */
  bool once = gen->in_grid && !gen->local_depth && !gen->buffers.at[buffer].own;
  ir_gen_emit(gen, (ir_instr){.kind = IR_I_STORE, .varying = gen->in_lanes && !once, .width = (uint16_t)width, .a = value, .info = access});
}

void ir_gen_atomic(ir_gen *gen, ir_op *op) {
  ir_gen_owner owner;
  ir_gen_enter(gen, &owner, op);
  uint32_t buffer;
  bool varying;
  ir_atomic *atomic = ir_new(gen->arena, ir_atomic);
  const ir_attr *index = ir_get(op, "index")->items[0];
  const ir_expr **indices = ir_new_array(&gen->scratch, const ir_expr *, index->count);
  for (size_t i = 0; i < index->count; i++) indices[i] = ir_attr_as_expr(gen->context, index->items[i]);
  ir_reg value = ir_gen_expr(gen, ir_get_expr_at(op, "args", 0));
  if (value && ir_gen_buffer(gen, 0, &buffer)) {
    const ir_reg_info info = *ir_gen_info(gen, value);
    ir_scalar_code code = ir_is(op, IR_ATOMIC_ADD) ? IR_S_ADD : ir_is(op, IR_ATOMIC_MAX) ? IR_S_MAX : IR_S_MIN;
    atomic->combine = gen->kernels->op[code][info.rep];
    atomic->narrow = code == IR_S_ADD ? gen->kernels->narrow[info.dtype] : NULL;
    if (info.dtype == IR_BOOL || info.width > 1) {
      ir_gen_fail(gen, "%s: takes one number", ir_op_row(op)->name);
    } else if (ir_gen_access(gen, buffer, index->count, indices, 1, &atomic->access, &varying)) {
      if (gen->in_lanes) value = ir_gen_vary(gen, value);
      note_value(gen, value);
      ir_gen_emit(gen, (ir_instr){.kind = IR_I_ATOMIC, .varying = gen->in_lanes, .width = 1, .a = value, .info = atomic});
    }
  }
  ir_gen_leave(gen, &owner);
}
