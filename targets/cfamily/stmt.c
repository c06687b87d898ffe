// SPDX-License-Identifier: Apache-2.0
/* targets/cfamily/stmt.c - the statements of kernels. Needs ir_kernel_check to have passed. */
#include "targets/cfamily/cfamily.h"
#include "targets/place.h"

/* Whether VALUE, a scalar or own memory, is to be declared: not where nothing reads it. */
static bool declares(c_function *f, ir_value *value) {
  if (f->wanted && !ir_map_has(f->wanted, value)) return false;
  *ir_push(f->file->arena, &f->declared) = value;
  return true;
}

static void emit_for(c_function *f, ir_op *op) {
  if (ir_loop_is_empty(op)) return;
  static const char *const axes[] = {"group.x", "group.y", "group.z", "local.x", "local.y", "local.z"};
  const c_dialect *dialect = f->file->dialect;
  ir_region *body = ir_op_region(op, 0);
  const char *name = c_name(f, body->args[0]->name, "i"), *mode = ir_get_word(op, "mode");
  ir_map_put(&f->arena, &f->values, body->args[0], (void *)(uintptr_t)name);
  const ir_facts *facts = f->proofs.facts;
  bool binds = !strcmp(mode, "bind");
  if (binds) {
    size_t axis = 0;
    while (strcmp(axes[axis], ir_get_word(op, "axis"))) axis++;
    if (declares(f, body->args[0])) c_line(f, "const long %s = %s;", name, axis < 3 ? dialect->group[axis] : dialect->local[axis - 3]);
  } else {
    const char *extent = c_scalar(f, ir_op_operand(op, 0));
    int64_t factor = ir_get_int(op, "factor");
    if (!strcmp(mode, "unroll")) c_line(f, factor ? "#pragma unroll %lld" : "#pragma unroll", (long long)factor);
    c_line(f, "for (long %s = 0; %s < %s; %s++) {", name, name, extent, name);
    f->depth++;
  }
  f->proofs.facts = ir_proofs_loop(&f->proofs, body->args[0], ir_op_operand(op, 0));
  c_region(f, body);
  f->proofs.facts = facts;
  if (binds) return;
  f->depth--;
  c_line(f, "}");
}

static void emit_while(c_function *f, ir_op *op) {
  const ir_expr *condition = ir_get_expr(op, "condition");
  c_line(f, "for (;;) {");
  f->depth++;
  c_scope scope = {.f = f, .op = op};
  c_count(&scope, condition);
  c_line(f, "if (!%s) break;", c_expr(&scope, condition));
  c_region(f, ir_op_region(op, 0));
  f->depth--;
  c_line(f, "}");
}

static void emit_if(c_function *f, ir_op *op) {
  const ir_expr *spelled = ir_proofs_value(&f->proofs, ir_op_operand(op, 0));
  const ir_facts *facts = f->proofs.facts;
  c_line(f, "if (%s) {", c_bare(f, c_scalar(f, ir_op_operand(op, 0))));
  for (size_t i = 0; i < op->region_count; i++) {
    if (i) c_line(f, "} else {");
    f->depth++;
    f->proofs.facts = ir_proofs_if(&f->proofs, spelled, i == 0);
    c_region(f, ir_op_region(op, i));
    f->proofs.facts = facts;
    f->depth--;
  }
  c_line(f, "}");
}

static void emit_alloc(c_function *f, ir_op *op) {
  ir_value *result = ir_op_result(op, 0);
  if (!declares(f, result)) return;
  const ir_type *type = result->type;
  int64_t count = 1;
  ir_type_static_dims(type, NULL, &count);
  bool shared = !strcmp(ir_get_word(op, "scope"), "shared"), plain = !type->count && !shared;
  ir_dtype dtype = ir_type_dtype(type);
  f->file->used |= UINT32_C(1) << dtype;
  c_buffer *buffer = ir_new(&f->arena, c_buffer);
  *buffer = (c_buffer){.name = c_name(f, result->name, "local"), .type = type, .own = true, .plain = plain};
  ir_map_put(&f->arena, &f->buffers, result, buffer);
  if (plain) {
    c_line(f, "%s %s;", c_type(dtype), buffer->name);
  } else if (shared) {
    int64_t bytes = 0;
    ir_dtype held = ir_is_float(dtype) && ir_dtypes[dtype].bits < 32 ? IR_F32 : dtype;
    ir_dtype_bytes(held, count, &bytes);
    f->shared_bytes += bytes;
    ir_text_printf(&f->shared, "  %s%s %s[%lld];\n", f->file->dialect->shared, c_type(dtype), buffer->name, (long long)count);
  } else {
    c_line(f, "%s %s[%lld];", c_type(dtype), buffer->name, (long long)count);
  }
}

static void emit_store(c_function *f, ir_op *op) {
  const ir_attr *index = ir_get(op, "index")->items[0];
  const ir_expr **exprs = ir_new_array(&f->arena, const ir_expr *, index->count);
  for (size_t i = 0; i < index->count; i++) exprs[i] = ir_attr_as_expr(f->file->context, index->items[i]);
  ir_value *target = ir_op_operand(op, 0);
  const c_buffer *buffer = ir_map_get(&f->buffers, target);
  if (!buffer) return; /* nothing reads it */
  const ir_expr *value = ir_get_expr_at(op, "args", 0);
  ir_place place = ir_place_find(&f->proofs, op, buffer->type, index->count, exprs, true, f->trusted);
  if (place.never) return;
  c_scope scope = {.f = f, .op = op};
  c_count(&scope, value);
  c_count(&scope, place.flat);
  if (place.on) c_count(&scope, place.on);
  bool is_read = ir_map_has(f->read, target);
  const char *text = c_expr(&scope, value), *condition = place.on ? c_expr(&scope, place.on) : NULL;
  const char *at = buffer->plain ? buffer->name : c_print(f, "%s[%s]", buffer->name, c_bare(f, c_expr(&scope, place.flat)));
  if (buffer->plain && !strcmp(text, at)) { /* of itself: no store, and no reader */
    if (!is_read) ir_map_remove(f->read, target);
    return;
  }
  if (!buffer->own) text = c_store_form(f->file, ir_type_dtype(buffer->type), text);
  if (condition) {
    c_line(f, "if (%s) %s = %s;", c_bare(f, condition), at, c_bare(f, text));
  } else {
    c_line(f, "%s = %s;", at, c_bare(f, text));
  }
}

static void emit_scalar(c_function *f, ir_op *op) {
  const ir_expr *expr = ir_attr_as_expr(f->file->context, ir_get(op, "value"));
  ir_value *result = ir_op_result(op, 0);
  if (!declares(f, result)) return;
  c_scope scope = {.f = f, .op = op};
  c_count(&scope, expr);
  const char *text = c_expr(&scope, expr), *name = c_name(f, result->name, "v");
  c_line(f, "const %s %s = %s;", c_type((ir_dtype)expr->dtype), name, c_bare(f, text));
  ir_map_put(&f->arena, &f->values, result, (void *)(uintptr_t)name);
}

static void emit_assert(c_function *f, ir_op *op) {
  c_line(f, "if (!%s) {", c_scalar(f, ir_op_operand(op, 0)));
  f->depth++;
  c_line(f, "%s%zuu%s);", f->file->dialect->fails, ir_kernel_assert(f->kernel, op), f->file->dialect->fails_end);
  f->depth--;
  c_line(f, "}");
}

void c_region(c_function *f, ir_region *region) {
  ir_each_op(op, region) {
    if (op->flags & IR_OP_INLINE) continue;
    switch ((int)op->code) {
    case IR_SCALAR: emit_scalar(f, op); break;
    case IR_ALLOC: emit_alloc(f, op); break;
    case IR_STORE: emit_store(f, op); break;
    case IR_FOR: emit_for(f, op); break;
    case IR_WHILE: emit_while(f, op); break;
    case IR_IF: emit_if(f, op); break;
    case IR_ASSERT: emit_assert(f, op); break;
    case IR_BARRIER: c_line(f, "%s", f->file->dialect->barrier); break;
    default: break; /* ir_kernel_check has refused it */
    }
  }
}
