// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/host_flow.c - `if` and `loop` of graph functions. What they hand on goes through variables; memory moves
 * with it where the region owned it, and stays where somebody around it does. */
#include "targets/llvm/host.h"

#define B (h->f.builder)

/* A variable: allocas for everything that a value of its type is made of, and an owner for a tensor's memory. */
typedef struct host_var host_var;
struct host_var {
  const ir_type *type;
  size_t count;
  LLVMValueRef data, *dims;
  host_var **fields;
  host_owner *owner;
  LLVMValueRef next;  /* loops: the slot of the next round's memory */
  host_owners others; /* who else may own the memory */
};

static host_var *new_var(host *h, ir_range range, const ir_type *type, ir_region *home) {
  emit_unit *unit = h->f.unit;
  const host_value *form = host_new(h, range, type);
  if (!form) return NULL;
  host_var *var = ir_new(&h->f.arena, host_var);
  *var = (host_var){.type = type, .count = form->count};
  if (type->kind == IR_TYPE_TUPLE) {
    var->fields = ir_new_array(&h->f.arena, host_var *, var->count);
    for (size_t i = 0; i < var->count; i++) {
      var->fields[i] = new_var(h, range, ir_type_field(type, i), home);
      if (!var->fields[i]) return NULL;
    }
    return var;
  }
  var->dims = ir_new_array(&h->f.arena, LLVMValueRef, var->count);
  for (size_t i = 0; i < var->count; i++) var->dims[i] = emit_stack(&h->f, unit->i64, 0, "extent");
  if (ir_is_scalar(type)) var->data = emit_stack(&h->f, emit_type(unit, ir_type_dtype(type), 1), 0, "value");
  if (ir_is_tensor(type)) {
    var->data = emit_stack(&h->f, unit->ptr, 0, "data");
    var->owner = host_own(h, home);
  }
  return var;
}

static LLVMValueRef element(host *h, const host_var *var, const host_value *value) {
  bool from_tensor = ir_is_scalar(var->type) && ir_is_tensor(value->type);
  return from_tensor ? host_load(h, value->data, ir_type_dtype(value->type)) : value->data;
}

static void store_contents(host *h, const host_var *var, const host_value *value) {
  if (var->data) LLVMBuildStore(B, element(h, var, value), var->data);
  for (size_t i = 0; i < var->count && var->dims; i++) LLVMBuildStore(B, value->dims[i], var->dims[i]);
}

static void note_others(host *h, host_var *var, const host_value *value, const ir_region *home) {
  for (size_t i = 0; i < value->owners.count; i++) {
    if (value->owners.at[i]->home != home) host_owners_add(h, &var->others, value->owners.at[i]);
  }
}

/* VALUE, of region HOME, goes into VAR, its memory too where HOME owns it. */
static void assign(host *h, host_var *var, const host_value *value, const ir_region *home) {
  if (var->fields) {
    for (size_t i = 0; i < var->count; i++) assign(h, var->fields[i], value->fields[i], home);
    return;
  }
  if (var->owner) host_move(h, value, home, var->owner->slot);
  store_contents(h, var, value);
  note_others(h, var, value, home);
}

static host_value *read_var(host *h, ir_range range, const host_var *var, const ir_type *type) {
  host_value *value = host_new(h, range, type);
  if (!value) return NULL;
  for (size_t i = 0; var->fields && i < var->count; i++) {
    value->fields[i] = read_var(h, range, var->fields[i], ir_type_field(type, i));
    if (!value->fields[i]) return NULL;
  }
  if (var->fields) return value;
  LLVMTypeRef held = ir_is_scalar(type) ? emit_type(h->f.unit, ir_type_dtype(type), 1) : h->f.unit->ptr;
  if (var->data) value->data = LLVMBuildLoad2(B, held, var->data, "");
  for (size_t i = 0; i < var->count; i++) value->dims[i] = LLVMBuildLoad2(B, h->f.unit->i64, var->dims[i], "");
  if (var->owner) host_owners_add(h, &value->owners, var->owner);
  for (size_t i = 0; i < var->others.count; i++) host_owners_add(h, &value->owners, var->others.at[i]);
  return value;
}

/* --- if --- */

/* A region from its start to its yield, whose operands go into VARS. */
static bool branch(host *h, ir_region *region, host_var **vars) {
  size_t owners = h->owners.count, bound = h->bound.count;
  host_region(h, region);
  const ir_op *yield = ir_region_terminator(region);
  for (size_t i = 0; !h->f.failed && yield && i < yield->operand_count; i++) {
    const host_value *value = host_get(h, ir_op_operand(yield, i));
    if (value) assign(h, vars[i], value, region);
  }
  if (h->f.failed) return false;
  host_release(h, owners);
  host_forget_symbols(h, bound);
  return true;
}

void host_if(host *h, ir_op *op) {
  host_var **vars = ir_new_array(&h->f.arena, host_var *, op->result_count);
  for (size_t i = 0; i < op->result_count; i++) {
    vars[i] = new_var(h, op->range, ir_op_result(op, i)->type, h->region);
    if (!vars[i]) return;
  }
  LLVMValueRef condition = host_scalar(h, ir_op_operand(op, 0));
  LLVMBasicBlockRef then = emit_block(&h->f, "then"), join = emit_block(&h->f, "join");
  LLVMBasicBlockRef otherwise = op->region_count > 1 ? emit_block(&h->f, "else") : join;
  LLVMBuildCondBr(B, condition, then, otherwise);
  for (size_t i = 0; i < op->region_count; i++) {
    emit_at(&h->f, i ? otherwise : then);
    if (!branch(h, ir_op_region(op, i), vars)) return;
    LLVMBuildBr(B, join);
  }
  emit_at(&h->f, join);
  for (size_t i = 0; i < op->result_count; i++) {
    host_value *value = read_var(h, op->range, vars[i], ir_op_result(op, i)->type);
    if (value) host_set(h, ir_op_result(op, i), value);
  }
}

/* --- loop --- */

typedef struct host_rounds {
  ir_op *op;
  ir_region *body;
  bool counted, conditional, again;
  size_t carried, stacks;
  host_var **vars;     /* of the carried values */
  host_stack **stacked;
  LLVMValueRef trip;   /* NULL: none */
  LLVMValueRef counter, go;
  LLVMBasicBlockRef head, exit;
} host_rounds;

/* Calls VISIT for every tensor among VAR's parts. */
static void each_tensor(host *h, host_var *var, void (*visit)(host *h, host_var *var, void *user), void *user) {
  for (size_t i = 0; var->fields && i < var->count; i++) each_tensor(h, var->fields[i], visit, user);
  if (var->owner) visit(h, var, user);
}

static void add_next(host *h, host_var *var, void *user) {
  (void)user;
  var->next = emit_slot(&h->f);
}

static void add_owner(host *h, host_var *var, void *user) { host_owners_add(h, user, var->owner); }

static void set_others(host *h, host_var *var, void *user) {
  const host_owners *all = user;
  for (size_t i = 0; i < all->count; i++) {
    if (all->at[i] != var->owner) host_owners_add(h, &var->others, all->at[i]);
  }
}

static void move_home(host *h, host_var *var, void *user) {
  (void)h;
  var->owner->home = user;
}

static void drop_old(host *h, host_var *var, void *user) {
  (void)user;
  emit_release(&h->f, var->owner->slot);
}

static void take_next(host *h, host_var *var, void *user) {
  (void)user;
  LLVMTypeRef ptr = h->f.unit->ptr;
  LLVMBuildStore(B, LLVMBuildLoad2(B, ptr, var->next, ""), var->owner->slot);
  LLVMBuildStore(B, LLVMConstNull(ptr), var->next);
}

static void each_carried(host *h, host_rounds *r, void (*visit)(host *h, host_var *var, void *user), void *user) {
  for (size_t i = 0; i < r->carried; i++) each_tensor(h, r->vars[i], visit, user);
}

static bool start_carried(host *h, host_rounds *r) {
  for (size_t i = 0; i < r->carried; i++) {
    const host_value *start = host_get(h, ir_op_operand(r->op, r->counted + i));
    r->vars[i] = new_var(h, r->op->range, r->body->args[i + 1]->type, r->body);
    if (!start || !r->vars[i]) return false;
    /* No region is the home: the start values stay with whoever owns them. */
    assign(h, r->vars[i], start, NULL);
  }
  host_owners all = {0};
  each_carried(h, r, add_next, NULL);
  each_carried(h, r, add_owner, &all);
  each_carried(h, r, set_others, &all);
  return true;
}

static bool start_stacks(host *h, host_rounds *r) {
  bool may_stop = r->conditional || r->again;
  for (size_t i = 0; i < r->stacks; i++) {
    r->stacked[i] = host_stack_begin(h, r->op->range, ir_op_result(r->op, r->carried + i)->type, may_stop ? NULL : r->trip);
    if (!r->stacked[i]) return false;
  }
  return true;
}

static void begin_rounds(host *h, host_rounds *r) {
  emit_unit *unit = h->f.unit;
  r->counter = emit_stack(&h->f, unit->i64, 0, "counter");
  r->go = emit_stack(&h->f, unit->i1, 0, "go");
  LLVMBuildStore(B, emit_i64(unit, 0), r->counter);
  LLVMValueRef first = LLVMConstInt(unit->i1, 1, 0);
  if (r->conditional) first = host_scalar(h, ir_op_operand(r->op, r->op->operand_count - 1));
  LLVMBuildStore(B, first, r->go);
  r->head = emit_block(&h->f, "loop");
  r->exit = emit_block(&h->f, "done");
  LLVMBasicBlockRef body = emit_block(&h->f, "round");
  LLVMBuildBr(B, r->head);
  emit_at(&h->f, r->head);
  LLVMValueRef number = LLVMBuildLoad2(B, unit->i64, r->counter, ""), more = LLVMBuildLoad2(B, unit->i1, r->go, "");
  if (r->trip) more = LLVMBuildAnd(B, more, LLVMBuildICmp(B, LLVMIntSLT, number, r->trip, ""), "");
  LLVMBuildCondBr(B, more, body, r->exit);
  emit_at(&h->f, body);
  host_value *counter = host_new(h, r->op->range, r->body->args[0]->type);
  counter->data = number;
  host_set(h, r->body->args[0], counter);
  for (size_t i = 0; i < r->carried; i++) {
    host_value *value = read_var(h, r->op->range, r->vars[i], r->body->args[i + 1]->type);
    if (value) host_set(h, r->body->args[i + 1], value);
  }
}

/* The memory of the next round's values moves into their `next` slots; the values themselves follow when all are known. */
static void move_next(host *h, host_var *var, const host_value *value, const ir_region *home) {
  for (size_t i = 0; var->fields && i < var->count; i++) move_next(h, var->fields[i], value->fields[i], home);
  if (!var->owner) return;
  host_move(h, value, home, var->next);
  note_others(h, var, value, home);
}

static void store_next(host *h, host_var *var, const host_value *value) {
  for (size_t i = 0; var->fields && i < var->count; i++) store_next(h, var->fields[i], value->fields[i]);
  if (!var->fields) store_contents(h, var, value);
}

static void end_round(host *h, host_rounds *r, size_t owners) {
  emit_unit *unit = h->f.unit;
  const ir_op *yield = ir_region_terminator(r->body);
  host_value **values = ir_new_array(&h->f.arena, host_value *, yield->operand_count);
  for (size_t i = 0; i < yield->operand_count; i++) {
    values[i] = host_get(h, ir_op_operand(yield, i));
    if (!values[i]) return;
  }
  LLVMValueRef number = LLVMBuildLoad2(B, unit->i64, r->counter, "");
  for (size_t i = 0; i < r->stacks; i++) host_stack_push(h, r->stacked[i], number, values[r->carried + i]);
  if (r->again) LLVMBuildStore(B, host_scalar(h, ir_op_operand(yield, yield->operand_count - 1)), r->go);
  for (size_t i = 0; i < r->carried; i++) move_next(h, r->vars[i], values[i], r->body);
  host_release(h, owners);
  each_carried(h, r, drop_old, NULL);
  each_carried(h, r, take_next, NULL);
  for (size_t i = 0; i < r->carried; i++) store_next(h, r->vars[i], values[i]);
  LLVMBuildStore(B, LLVMBuildAdd(B, number, emit_i64(unit, 1), ""), r->counter);
  LLVMBuildBr(B, r->head);
  emit_at(&h->f, r->exit);
}

static void loop_results(host *h, host_rounds *r) {
  each_carried(h, r, move_home, h->region);
  for (size_t i = 0; i < r->carried; i++) {
    host_value *value = read_var(h, r->op->range, r->vars[i], ir_op_result(r->op, i)->type);
    if (value) host_set(h, ir_op_result(r->op, i), value);
  }
  LLVMValueRef rounds = LLVMBuildLoad2(B, h->f.unit->i64, r->counter, "");
  for (size_t i = 0; i < r->stacks; i++) {
    host_set(h, ir_op_result(r->op, r->carried + i), host_stack_end(h, r->stacked[i], rounds));
  }
}

void host_loop(host *h, ir_op *op) {
  ir_region *body = ir_op_region(op, 0);
  const ir_op *yield = ir_region_terminator(body);
  host_rounds r = {.op = op, .body = body, .counted = ir_get_bool(op, "counted"), .conditional = ir_get_bool(op, "conditional")};
  r.again = ir_get_bool(yield, "again");
  r.carried = body->arg_count - 1;
  r.stacks = (size_t)ir_get_int(yield, "stacks");
  r.vars = ir_new_array(&h->f.arena, host_var *, r.carried);
  r.stacked = ir_new_array(&h->f.arena, host_stack *, r.stacks);
  if (r.counted) {
    LLVMValueRef zero = emit_i64(h->f.unit, 0), trip = host_scalar(h, ir_op_operand(op, 0));
    r.trip = LLVMBuildSelect(B, LLVMBuildICmp(B, LLVMIntSLT, trip, zero, ""), zero, trip, "");
  }
  if (h->f.failed || !start_carried(h, &r) || !start_stacks(h, &r)) return;
  begin_rounds(h, &r);
  size_t owners = h->owners.count, bound = h->bound.count;
  host_region(h, body);
  if (h->f.failed) return;
  end_round(h, &r, owners);
  host_forget_symbols(h, bound);
  loop_results(h, &r);
}
