// SPDX-License-Identifier: Apache-2.0
/* runtime/interp/graph.c - what is worked out once for the body of a graph function: a slot for each value, and after
 * which operation nobody needs it any more. */
#include "runtime/interp/graph.h"

#include "base/vec.h"

struct building {
  ir_interp *interp;
  ir_arena *arena;  /* of the interpreter */
  ir_arena scratch;
  ir_map slots;     /* ir_value -> slot + 1 */
  uint32_t slot_count;
  ir_vec(ir_value *) captures;
  ir_vec(const ir_string *) symbols; /* bound where we are */
};

static uint32_t new_slots(struct building *b, size_t count) {
  uint32_t first = b->slot_count;
  b->slot_count += (uint32_t)count;
  return first;
}

static void name_slot(struct building *b, const ir_value *value, uint32_t slot) {
  ir_map_put(&b->scratch, &b->slots, value, (void *)(uintptr_t)(slot + 1));
}

static uint32_t slot_of(const struct building *b, const ir_value *value) {
  uintptr_t slot = (uintptr_t)ir_map_get(&b->slots, value);
  return (uint32_t)(slot - 1);
}

/* --- captures: values of an outer function that a closure's body uses --- */
struct finding {
  struct building *b;
  const ir_region *body;
};

static bool is_inside(const ir_region *region, const ir_region *outer) {
  while (region && region != outer) region = region->parent ? region->parent->region : NULL;
  return region != NULL;
}

static const ir_region *home_of(const ir_value *value) {
  const ir_op *op = ir_value_op(value);
  return op ? op->region : ir_value_region(value);
}

static bool find_captures(void *user, ir_op *op) {
  struct finding *f = user;
  for (size_t i = 0; i < op->operand_count; i++) {
    ir_value *value = ir_op_operand(op, i);
    if (is_inside(home_of(value), f->body) || ir_map_has(&f->b->slots, value)) continue;
    name_slot(f->b, value, new_slots(f->b, 1));
    *ir_push(&f->b->scratch, &f->b->captures) = value;
  }
  return true;
}

/* --- symbols that a match_cast binds --- */
static bool knows(const struct building *b, const ir_string *name) {
  for (size_t i = 0; i < b->symbols.count; i++) {
    if (b->symbols.at[i] == name) return true;
  }
  return false;
}

static void learn_symbols(struct building *b, const ir_type *type) {
  if (type->kind == IR_TYPE_TUPLE) {
    for (size_t i = 0; i < type->count; i++) learn_symbols(b, ir_type_field(type, i));
  }
  if ((type->kind != IR_TYPE_TENSOR && type->kind != IR_TYPE_SHAPE) || !type->ranked) return;
  for (size_t i = 0; i < type->count; i++) {
    const ir_expr *dim = ir_type_dim(type, i);
    if (dim && dim->code == IR_S_SYMBOL && !knows(b, dim->symbol)) *ir_push(&b->scratch, &b->symbols) = dim->symbol;
  }
}

/* --- blocks --- */
static ir_block *build_block(struct building *b, ir_region *region);
static ir_body *build_body(ir_interp *interp, ir_region *region, const struct building *outer);

static void build_step(struct building *b, ir_step *step, ir_op *op) {
  step->op = op;
  if (ir_is(op, IR_CLOSURE)) {
    step->closure = build_body(b->interp, ir_op_region(op, 0), b);
    uint32_t *captured = ir_new_array(b->arena, uint32_t, step->closure->capture_count);
    for (size_t i = 0; i < step->closure->capture_count; i++) captured[i] = slot_of(b, step->closure->captures[i]);
    step->operands = captured;
  } else {
    uint32_t *operands = ir_new_array(b->arena, uint32_t, op->operand_count);
    for (size_t i = 0; i < op->operand_count; i++) operands[i] = slot_of(b, ir_op_operand(op, i));
    step->operands = operands;
    step->blocks = ir_new_array(b->arena, ir_block *, op->region_count);
    for (size_t i = 0; i < op->region_count; i++) {
      size_t known = b->symbols.count;
      step->blocks[i] = build_block(b, ir_op_region(op, i));
      b->symbols.count = known;
    }
  }
  step->result = new_slots(b, op->result_count);
  for (size_t i = 0; i < op->result_count; i++) name_slot(b, ir_op_result(op, i), step->result + (uint32_t)i);
  if (!ir_is(op, IR_MATCH_CAST)) return;
  size_t known = b->symbols.count;
  learn_symbols(b, ir_op_result(op, 0)->type);
  step->bind_count = b->symbols.count - known;
  step->binds = ir_arena_copy(b->arena, b->symbols.at + known, step->bind_count * sizeof *step->binds);
}

/* The operation of REGION that a use stands in or below. */
static const ir_op *user_in(const ir_use *use, const ir_region *region) {
  const ir_op *op = use->user;
  while (op && op->region != region) op = op->region->parent;
  return op;
}

/* The number of the last step that needs VALUE, plus 1; 0: none does. */
static size_t last_user(const ir_map *numbers, const ir_value *value, const ir_region *region) {
  size_t last = 0;
  for (const ir_use *use = value->uses; use; use = use->next) {
    const ir_op *op = user_in(use, region);
    size_t number = op ? (uintptr_t)ir_map_get(numbers, op) : 0;
    if (number > last) last = number;
  }
  return last;
}

typedef struct slot_list {
  uint32_t *at;
  size_t count, capacity;
} slot_list;

static void plan_drops(struct building *b, ir_block *block) {
  ir_region *region = block->region;
  ir_map numbers = {0};
  slot_list *drops = ir_new_array(&b->scratch, slot_list, block->step_count + 1);
  for (size_t i = 0; i < block->step_count; i++) ir_map_put(&b->scratch, &numbers, block->steps[i].op, (void *)(uintptr_t)(i + 1));
  for (size_t i = 0; i < region->arg_count; i++) {
    size_t last = last_user(&numbers, region->args[i], region);
    *ir_push(&b->scratch, &drops[last]) = block->first_arg + (uint32_t)i;
  }
  for (size_t i = 0; i < block->step_count; i++) {
    const ir_step *step = &block->steps[i];
    for (size_t k = 0; k < step->op->result_count; k++) {
      size_t last = last_user(&numbers, ir_op_result(step->op, k), region);
      *ir_push(&b->scratch, &drops[last ? last : i + 1]) = step->result + (uint32_t)k;
    }
  }
  block->drops = ir_arena_copy(b->arena, drops[0].at, drops[0].count * sizeof(uint32_t));
  block->drop_count = (uint32_t)drops[0].count;
  for (size_t i = 0; i < block->step_count; i++) {
    block->steps[i].drops = ir_arena_copy(b->arena, drops[i + 1].at, drops[i + 1].count * sizeof(uint32_t));
    block->steps[i].drop_count = (uint32_t)drops[i + 1].count;
  }
}

static ir_block *build_block(struct building *b, ir_region *region) {
  ir_block *block = ir_new(b->arena, ir_block);
  block->region = region;
  block->first_arg = new_slots(b, region->arg_count);
  for (size_t i = 0; i < region->arg_count; i++) name_slot(b, region->args[i], block->first_arg + (uint32_t)i);
  ir_each_op(op, region) block->step_count++;
  block->steps = ir_new_array(b->arena, ir_step, block->step_count);
  size_t i = 0;
  ir_each_op(op, region) build_step(b, &block->steps[i++], op);
  plan_drops(b, block);
  return block;
}

static ir_body *build_body(ir_interp *interp, ir_region *region, const struct building *outer) {
  struct building b = {.interp = interp, .arena = &interp->arena};
  ir_body *body = ir_new(&interp->arena, ir_body);
  const ir_func *func = region->parent ? NULL : region->func;
  for (size_t i = 0; func && i < func->param_count; i++) {
    if (func->params[i].symbol) *ir_push(&b.scratch, &b.symbols) = func->params[i].symbol->symbol;
    else learn_symbols(&b, func->params[i].type);
  }
  for (size_t i = 0; outer && i < outer->symbols.count; i++) *ir_push(&b.scratch, &b.symbols) = outer->symbols.at[i];
  for (size_t i = 0; outer && i < region->arg_count; i++) learn_symbols(&b, region->args[i]->type);
  struct finding finding = {&b, region};
  if (outer) ir_walk(region, IR_PRE_ORDER, find_captures, &finding);
  body->capture_count = b.captures.count;
  body->captures = ir_arena_copy(b.arena, b.captures.at, b.captures.count * sizeof *body->captures);
  body->block = build_block(&b, region);
  body->slot_count = b.slot_count;
  ir_arena_free(&b.scratch);
  return body;
}

const ir_body *ir_body_of(ir_interp *interp, ir_region *region) {
  void **slot = ir_map_slot(&interp->arena, &interp->bodies, region);
  if (*slot) return *slot;
  ir_body *body = build_body(interp, region, NULL);
  ir_map_put(&interp->arena, &interp->bodies, region, body);
  return body;
}

/* --- running --- */
void ir_set_slot(ir_activation *a, uint32_t slot, ir_object *object) {
  ir_object_release(a->slots[slot]);
  a->slots[slot] = object;
}

void ir_release_objects(ir_object **objects, size_t count) {
  for (size_t i = 0; i < count; i++) ir_object_release(objects[i]);
  ir_heap_free(objects);
}

static void drop(ir_activation *a, const uint32_t *slots, size_t count) {
  for (size_t i = 0; i < count; i++) ir_set_slot(a, slots[i], NULL);
}

bool ir_run_block(ir_activation *a, const ir_block *block, ir_object ***values, size_t *count) {
  *values = NULL;
  *count = 0;
  drop(a, block->drops, block->drop_count);
  for (size_t i = 0; i < block->step_count; i++) {
    const ir_step *step = &block->steps[i];
    if (ir_has(step->op, IR_TERMINATOR)) {
      *count = step->op->operand_count;
      *values = ir_heap_alloc(ir_size_mul(*count, sizeof **values));
      for (size_t k = 0; k < *count; k++) (*values)[k] = ir_object_retain(ir_step_operand(a, step, k));
    } else if (!ir_run_step(a, step)) {
      return false;
    }
    drop(a, step->drops, step->drop_count);
  }
  return true;
}
