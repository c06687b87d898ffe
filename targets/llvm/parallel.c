// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/parallel.c - kernels whose outermost loop may be shared between threads: the loop's rounds become those of a
 * function of its own, which the kernel calls itself where there is little to do. Threads split rounds, never what one
 * element is computed from, so values do not depend on their number. */
#include "targets/llvm/llvm.h"

#define B (f->builder)

/* Rounds of a vectorized loop that stay together: whole vectors, whole cache lines. */
enum { BLOCK = 1024, GUESSED_ROUNDS = 16, WORTHWHILE = 1 << 16, LARGEST_LOCAL = 4096 };

static bool has_mode(const ir_op *op, const char *mode) { return ir_is(op, IR_FOR) && !strcmp(ir_get_word(op, "mode"), mode); }

/* The only operation of REGION but for scalars inside of others; NULL where there are several. */
static ir_op *only_op(const ir_region *region) {
  ir_op *only = NULL;
  ir_each_op(op, region) {
    if (op->flags & IR_OP_INLINE) continue;
    if (only) return NULL;
    only = op;
  }
  return only;
}

/* LOOP has as many rounds in each round of the loops around it, which are OUTERMOST and what stands in it. */
static bool has_same_rounds(const ir_op *loop, const ir_op *outermost) {
  for (const ir_op *outer = loop; outer != outermost;) {
    outer = ir_op_parent(outer);
    if (ir_value_depends(ir_op_operand(loop, 0), ir_op_region(outer, 0)->args[0])) return false;
  }
  return true;
}

size_t emit_parallel_depth(ir_op *op) {
  size_t depth = 0;
  for (ir_op *at = op; at && has_mode(at, "parallel") && has_same_rounds(at, op); at = only_op(ir_op_region(at, 0))) depth++;
  return depth;
}

/* The loop that makes up FUNC, behind scalars that anybody may compute again; NULL where there is none. */
static ir_op *outermost(const ir_func *func) {
  ir_op *loop = NULL;
  ir_each_op(op, func->body) {
    if (op->flags & IR_OP_INLINE) continue;
    if (loop) return NULL;
    const ir_expr *scalar = ir_is(op, IR_SCALAR) ? ir_get_expr(op, "value") : NULL;
    if (scalar && !scalar->has_loads) continue;
    if (!has_mode(op, "parallel") && !has_mode(op, "vectorize")) return NULL;
    loop = op;
  }
  return loop;
}

static bool see_op(void *user, ir_op *op) {
  bool *fine = user;
  if (ir_is(op, IR_ALLOC)) {
    /* Memory of the allocator is for one thread at a time; what is on the stack is everybody's own. */
    int64_t count, bytes;
    const ir_type *type = ir_op_result(op, 0)->type;
    bool small = ir_type_static_dims(type, NULL, &count) && ir_dtype_bytes(ir_type_dtype(type), count, &bytes) && bytes * type->lanes <= LARGEST_LOCAL;
    *fine &= small && strcmp(ir_get_word(op, "scope"), "global") != 0;
  }
  /* Rounds that write neighbours write one byte. */
  if (ir_is(op, IR_STORE)) *fine &= !emit_is_packed(ir_type_dtype(ir_op_operand(op, 0)->type));
  *fine &= !ir_is(op, IR_ATOMIC_ADD) && !ir_is(op, IR_ATOMIC_MAX) && !ir_is(op, IR_ATOMIC_MIN);
  return *fine;
}

ir_op *emit_shared_loop(const emit_unit *unit, ir_func *func) {
  ir_op *loop = unit->checked ? NULL : outermost(func);
  bool fine = loop != NULL;
  if (fine) ir_walk(func->body, IR_PRE_ORDER, see_op, &fine);
  return fine ? loop : NULL;
}

/* --- what there is to do --- */

static void add_node(void *user, const ir_expr *node) { *(int64_t *)user += ir_scalars[node->code].expanded ? 40 : 1; }

static int64_t attr_cost(ir_context *context, const ir_attr *attr) {
  int64_t cost = 0;
  if (attr && attr->kind == IR_ATTR_EXPR) ir_expr_walk(context, attr->expr, add_node, &cost);
  for (size_t i = 0; attr && attr->kind == IR_ATTR_LIST && i < attr->count; i++) cost += attr_cost(context, attr->items[i]);
  return cost;
}

static LLVMValueRef extent_of(emit_function *f, const ir_op *loop) {
  const ir_expr *expr = ir_value_closed_expr(ir_op_operand(loop, 0));
  return expr ? emit_uniform(f, NULL, expr) : emit_i64(f->unit, GUESSED_ROUNDS);
}

/* Operations on elements of REGION, a quarter of them where they are lanes. */
static LLVMValueRef cost_of(emit_function *f, ir_region *region) {
  LLVMValueRef sum = emit_i64(f->unit, 1);
  ir_each_op(op, region) {
    int64_t own = 0;
    for (size_t i = 0; i < ir_op_row(op)->attr_count; i++) own += attr_cost(f->unit->context, ir_op_slots(op)[i]);
    sum = LLVMBuildAdd(B, sum, emit_i64(f->unit, own), "");
    for (size_t i = 0; i < op->region_count; i++) {
      LLVMValueRef inner = cost_of(f, ir_op_region(op, i));
      if (ir_is(op, IR_FOR)) inner = LLVMBuildMul(B, inner, extent_of(f, op), "");
      if (has_mode(op, "vectorize")) inner = LLVMBuildLShr(B, inner, emit_i64(f->unit, 2), "");
      sum = LLVMBuildAdd(B, sum, inner, "");
    }
  }
  return sum;
}

/* Rounds of LOOP and of those counted with it; blocks of rounds for a vectorized one. */
static LLVMValueRef rounds_of(emit_function *f, ir_op *loop, LLVMValueRef *cost) {
  emit_unit *unit = f->unit;
  LLVMValueRef zero = emit_i64(unit, 0);
  size_t depth = emit_parallel_depth(loop);
  LLVMValueRef rounds = emit_i64(unit, 1);
  if (!depth) {
    LLVMValueRef extent = emit_scalar(f, ir_op_operand(loop, 0)).value;
    LLVMValueRef some = LLVMBuildICmp(B, LLVMIntSGT, extent, zero, "");
    extent = LLVMBuildSelect(B, some, extent, zero, "");
    *cost = LLVMBuildMul(B, cost_of(f, ir_op_region(loop, 0)), emit_i64(unit, BLOCK / 4), "");
    return LLVMBuildLShr(B, LLVMBuildAdd(B, extent, emit_i64(unit, BLOCK - 1), ""), emit_i64(unit, 10), "");
  }
  for (ir_op *at = loop; depth; depth--, at = only_op(ir_op_region(at, 0))) {
    LLVMValueRef extent = emit_scalar(f, ir_op_operand(at, 0)).value;
    LLVMValueRef some = LLVMBuildICmp(B, LLVMIntSGT, extent, zero, "");
    rounds = LLVMBuildMul(B, rounds, LLVMBuildSelect(B, some, extent, zero, ""), "");
    if (depth == 1) *cost = cost_of(f, ir_op_region(at, 0));
  }
  return rounds;
}

/* --- rounds of several loops, counted as one --- */

static void bind_rounds(emit_function *f, ir_op **loops, LLVMValueRef *variables, size_t depth) {
  for (size_t i = 0; i < depth; i++) {
    ir_region *body = ir_op_region(loops[i], 0);
    emit_bind(f, body->args[0], emit_uniform_value(LLVMBuildLoad2(B, f->unit->i64, variables[i], "")));
    f->proofs.facts = ir_proofs_loop(&f->proofs, body->args[0], ir_op_operand(loops[i], 0));
  }
}

/* The next round: the innermost counter moves, those around it where it starts again. */
static void advance(emit_function *f, LLVMValueRef *variables, LLVMValueRef *extents, size_t depth) {
  LLVMValueRef carry = emit_i64(f->unit, 1), zero = emit_i64(f->unit, 0), one = emit_i64(f->unit, 1);
  for (size_t i = depth; i > 0; i--) {
    LLVMValueRef next = LLVMBuildAdd(B, LLVMBuildLoad2(B, f->unit->i64, variables[i - 1], ""), carry, "");
    LLVMValueRef full = LLVMBuildICmp(B, LLVMIntEQ, next, extents[i - 1], "");
    LLVMBuildStore(B, LLVMBuildSelect(B, full, zero, next, ""), variables[i - 1]);
    carry = LLVMBuildSelect(B, full, one, zero, "");
  }
}

void emit_ranged_for(emit_function *f, ir_op *loop) {
  emit_unit *unit = f->unit;
  size_t depth = emit_parallel_depth(loop);
  ir_op **loops = ir_new_array(&f->arena, ir_op *, depth);
  LLVMValueRef *variables = ir_new_array(&f->arena, LLVMValueRef, depth), *extents = ir_new_array(&f->arena, LLVMValueRef, depth);
  for (size_t i = 0; i < depth; i++) {
    loops[i] = i ? only_op(ir_op_region(loops[i - 1], 0)) : loop;
    extents[i] = emit_scalar(f, ir_op_operand(loops[i], 0)).value;
    variables[i] = emit_stack(f, unit->i64, 0, "counter");
  }
  LLVMBasicBlockRef some = emit_block(f, "some"), join = emit_block(f, "join");
  LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntSLT, f->first, f->last, ""), some, join);
  emit_at(f, some);
  /* There are rounds, so that no extent is 0. */
  LLVMValueRef rest = f->first;
  for (size_t i = depth; i > 0; i--) {
    LLVMBuildStore(B, i > 1 ? LLVMBuildURem(B, rest, extents[i - 1], "") : rest, variables[i - 1]);
    if (i > 1) rest = LLVMBuildUDiv(B, rest, extents[i - 1], "");
  }
  emit_loop rounds = emit_loop_begin(f, f->first, f->last, 1, "round");
  const ir_facts *facts = f->proofs.facts;
  bind_rounds(f, loops, variables, depth);
  emit_region(f, ir_op_region(loops[depth - 1], 0));
  f->proofs.facts = facts;
  advance(f, variables, extents, depth);
  emit_loop_end(f, &rounds);
  LLVMBuildBr(B, join);
  emit_at(f, join);
}

/* --- the kernel around its rounds --- */

/* i32 (context, frame, begin, end): takes the arguments from the frame. */
static LLVMValueRef define_thunk(emit_unit *unit, LLVMValueRef range, LLVMTypeRef frame, const char *name) {
  LLVMTypeRef params[] = {unit->ptr, unit->ptr, unit->i64, unit->i64};
  LLVMValueRef thunk = LLVMAddFunction(unit->module, name, LLVMFunctionType(unit->i32, params, 4, 0));
  LLVMSetLinkage(thunk, LLVMInternalLinkage);
  emit_function_attributes(unit, thunk);
  LLVMBuilderRef b = LLVMCreateBuilderInContext(unit->llvm);
  LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(unit->llvm, thunk, "entry"));
  unsigned count = LLVMCountParams(range);
  LLVMValueRef *args = ir_new_array(unit->arena, LLVMValueRef, count);
  args[0] = LLVMGetParam(thunk, 0);
  for (unsigned i = 1; i + 2 < count; i++) {
    LLVMValueRef at = LLVMBuildStructGEP2(b, frame, LLVMGetParam(thunk, 1), i - 1, "");
    args[i] = LLVMBuildLoad2(b, LLVMTypeOf(LLVMGetParam(range, i)), at, "");
  }
  args[count - 2] = LLVMGetParam(thunk, 2);
  args[count - 1] = LLVMGetParam(thunk, 3);
  LLVMBuildRet(b, LLVMBuildCall2(b, LLVMGlobalGetValueType(range), range, args, count, ""));
  LLVMDisposeBuilder(b);
  return thunk;
}

static LLVMTypeRef frame_type(emit_unit *unit, LLVMValueRef range) {
  unsigned count = LLVMCountParams(range) - 3;
  LLVMTypeRef *members = ir_new_array(unit->arena, LLVMTypeRef, count + 1);
  for (unsigned i = 0; i < count; i++) members[i] = LLVMTypeOf(LLVMGetParam(range, i + 1));
  return LLVMStructTypeInContext(unit->llvm, members, count, 0);
}

static LLVMValueRef call_parallel(emit_function *f, LLVMValueRef parallel, LLVMValueRef range, LLVMValueRef rounds, LLVMValueRef cost, const char *name) {
  emit_unit *unit = f->unit;
  LLVMTypeRef frame = frame_type(unit, range);
  LLVMValueRef memory = emit_stack(f, frame, 0, "frame");
  for (unsigned i = 0; i + 3 < LLVMCountParams(range); i++) {
    LLVMBuildStore(B, LLVMGetParam(f->function, i + 1), LLVMBuildStructGEP2(B, frame, memory, i, ""));
  }
  LLVMTypeRef params[] = {unit->ptr, unit->i64, unit->i64, unit->ptr, unit->ptr};
  LLVMTypeRef type = LLVMFunctionType(unit->i32, params, 5, 0);
  LLVMValueRef args[] = {f->context, rounds, cost, define_thunk(unit, range, frame, name), memory};
  return LLVMBuildCall2(B, type, parallel, args, 5, "");
}

/* What stands before the loop, which may be made of it. */
static void bind_scalars(emit_function *f, const ir_op *loop) {
  for (const ir_op *op = loop->region->first; op != loop; op = op->next) {
    emit_scope scope = {.f = f, .op = op};
    bool named = ir_is(op, IR_SCALAR) && !(op->flags & IR_OP_INLINE);
    if (named) emit_bind(f, ir_op_result(op, 0), emit_expr(&scope, ir_attr_as_expr(f->unit->context, ir_get(op, "value"))));
  }
}

void emit_share_rounds(emit_function *f, ir_op *loop, LLVMValueRef range, const char *name) {
  emit_unit *unit = f->unit;
  bind_scalars(f, loop);
  LLVMValueRef cost = NULL, rounds = rounds_of(f, loop, &cost);
  unsigned count = LLVMCountParams(range);
  LLVMValueRef *args = ir_new_array(&f->arena, LLVMValueRef, count);
  for (unsigned i = 0; i + 2 < count; i++) args[i] = LLVMGetParam(f->function, i);
  args[count - 2] = emit_i64(unit, 0);
  args[count - 1] = rounds;
  LLVMValueRef status = emit_stack(f, unit->i32, 0, "status"), work = LLVMBuildMul(B, rounds, cost, "");
  LLVMValueRef parallel = LLVMBuildLoad2(B, unit->ptr, LLVMBuildStructGEP2(B, unit->context_type, f->context, 4, ""), "");
  LLVMValueRef large = LLVMBuildICmp(B, LLVMIntUGE, work, emit_i64(unit, WORTHWHILE), "");
  LLVMValueRef there = LLVMBuildICmp(B, LLVMIntNE, parallel, LLVMConstNull(unit->ptr), "");
  LLVMBasicBlockRef shared = emit_block(f, "shared"), alone = emit_block(f, "alone"), join = emit_block(f, "join");
  LLVMBuildCondBr(B, LLVMBuildAnd(B, large, there, ""), shared, alone);
  emit_at(f, shared);
  LLVMBuildStore(B, call_parallel(f, parallel, range, rounds, cost, name), status);
  LLVMBuildBr(B, join);
  emit_at(f, alone);
  LLVMBuildStore(B, LLVMBuildCall2(B, LLVMGlobalGetValueType(range), range, args, count, ""), status);
  LLVMBuildBr(B, join);
  emit_at(f, join);
  emit_require_ok(f, LLVMBuildLoad2(B, unit->i32, status, ""));
}

int64_t emit_round_block(ir_op *loop) { return emit_parallel_depth(loop) ? 1 : BLOCK; }
