// SPDX-License-Identifier: Apache-2.0
/* passes/fuse_tir.c - make each function that fuse-ops made into one prim_func: the bodies of its calls follow each
 * other, producers are put into the expressions that read them, and a temporary that holds a reduction's result for
 * element-wise work after it becomes `local`, so that one loop nest does both. Needs compute form in the callees; a
 * function that calls anything else stays as it is. */
#include "base/vec.h"
#include "ir/frame.h"
#include "ir/inline.h"
#include "ir/reduction.h"
#include "passes/nests.h"
#include "passes/pass.h"

enum { FUNCTIONS, INLINED, LOCAL };

/* --- one prim_func from the calls --- */
struct fusing {
  ir_pass_run *run;
  ir_func *from, *to;
  ir_map values; /* values of FROM -> buffers and scalars of TO */
};

static ir_func *callee_of(ir_pass_run *run, const ir_op *op) {
  return ir_item_func(ir_module_find(run->module, ir_get(op, "callee")->string));
}

static bool in_compute_form(const ir_func *func) {
  if (!func || func->item.kind != IR_ITEM_PRIM_FUNC || !func->body) return false;
  ir_each_op(op, func->body) {
    bool fine = ir_is(op, IR_ALLOC) || ir_is(op, IR_COMPUTE) || (op->flags & IR_OP_INLINE);
    if (!fine) return false;
  }
  return true;
}

static bool can_fuse(ir_pass_run *run, const ir_func *func) {
  const ir_op *last = NULL;
  ir_each_op(op, func->body) {
    if ((op->flags & IR_OP_INLINE) || ir_is(op, IR_RETURN)) continue;
    if (!ir_is(op, IR_CALL_TIR) || !in_compute_form(callee_of(run, op))) return false;
    const ir_func *callee = callee_of(run, op);
    for (size_t i = 0, in = 0; i < callee->param_count; i++) {
      if (callee->params[i].direction == IR_OUT) continue;
      /* An extent handed over must be one that types of this function can be written with. */
      if (callee->params[i].symbol && !ir_value_closed_expr(ir_op_operand(op, in))) return false;
      in++;
    }
    last = op;
  }
  const ir_op *end = ir_region_terminator(func->body);
  if (!last || !end) return false;
  for (size_t i = 0; i < end->operand_count; i++) {
    if (ir_value_op(ir_op_operand(end, i)) != last) return false;
  }
  return end->operand_count == last->result_count;
}

static void make_params(struct fusing *f) {
  ir_pass_run *run = f->run;
  const ir_func *from = f->from;
  ir_param *params = ir_new_array(run->scratch, ir_param, from->param_count + from->result_count);
  for (size_t i = 0; i < from->param_count; i++) params[i] = from->params[i];
  for (size_t i = 0; i < from->result_count; i++) {
    const char *name = from->result_count > 1 ? ir_arena_printf(run->scratch, "out%zu", i) : "out";
    params[from->param_count + i] = (ir_param){.name = ir_intern(run->context, ir_slice_of(name)), .type = from->results[i], .direction = IR_OUT};
  }
  f->to = ir_func_new(run->module, IR_ITEM_PRIM_FUNC, from->item.name);
  f->to->item.flags = IR_ITEM_PRIVATE;
  f->to->item.range = from->item.range;
  ir_func_set_params(f->to, from->param_count + from->result_count, params, true);
  for (size_t i = 0; i < from->param_count; i++) {
    if (from->params[i].value) ir_map_put(run->scratch, &f->values, from->params[i].value, f->to->params[i].value);
  }
}

/* Where result I of CALL goes: an `out` parameter, or a fresh temporary. */
static ir_value *result_buffer(struct fusing *f, ir_builder *b, ir_op *call, size_t i) {
  const ir_op *end = ir_region_terminator(f->from->body);
  for (size_t k = 0; k < end->operand_count; k++) {
    if (ir_op_operand(end, k) == ir_op_result(call, i)) return f->to->params[f->from->param_count + k].value;
  }
  const ir_type *type = ir_op_result(call, i)->type;
  ir_op *alloc = ir_build_with(b, IR_ALLOC, NULL, 0, IR_NO_ATTRS, NULL, 0, &type, 1);
  ir_op_result(alloc, 0)->name = ir_intern(f->run->context, ir_lit("t"));
  return ir_op_result(alloc, 0);
}

static ir_value *operand_at(struct fusing *f, ir_builder *b, ir_value *value) {
  ir_value *known = ir_map_get(&f->values, value);
  const ir_expr *closed = ir_value_closed_expr(value);
  return known ? known : ir_build_scalar(b, closed, NULL, 0);
}

static bool inline_call(struct fusing *f, ir_builder *b, ir_op *call) {
  ir_pass_run *run = f->run;
  ir_func *callee = callee_of(run, call);
  ir_binding binding = {.arena = run->scratch};
  ir_map values = {0};
  const char *why = NULL;
  for (size_t i = 0, in = 0, out = 0; i < callee->param_count; i++) {
    const ir_param *param = &callee->params[i];
    bool is_out = param->direction == IR_OUT;
    ir_value *outer = is_out ? ir_op_result(call, out) : ir_op_operand(call, in);
    if (param->symbol) {
      ir_map_put(run->scratch, &binding.symbols, param->symbol, (void *)(uintptr_t)ir_value_closed_expr(outer));
    } else if (!ir_unify(run->context, run->rewriter ? run->rewriter->facts : NULL, &binding, param->type, outer->type, &why)) {
      ir_error(run->context->diags, call->range, "fuse-tir: %s", why);
      run->failed = true;
      return false;
    }
    if (is_out) {
      ir_value *buffer = result_buffer(f, b, call, out);
      ir_map_put(run->scratch, &f->values, outer, buffer);
      ir_map_put(run->scratch, &values, param->value, buffer);
      out++;
    } else {
      if (param->value) ir_map_put(run->scratch, &values, param->value, operand_at(f, b, outer));
      in++;
    }
  }
  for (size_t i = 0; i < callee->where_count; i++) ir_func_add_where(f->to, ir_inline_expr(run->context, &binding, callee->where[i]));
  ir_inline_region(b, callee->body, run->scratch, &values, &binding);
  return true;
}

/* --- putting producers into their readers --- */
struct producer {
  ir_op *compute, *store;
  ir_value *buffer;
  size_t rank;
};

/* BUFFER is written by one plain store of a nest of its own, each element at its own axes. */
static bool find_producer(ir_value *buffer, struct producer *p) {
  *p = (struct producer){.buffer = buffer, .rank = buffer->type->count};
  ir_each_use(use, buffer) {
    ir_op *user = use->user;
    if (!ir_is(user, IR_STORE) || use != &ir_op_uses(user)[0]) {
      if (ir_is(user, IR_STORE) || ir_is(user, IR_SCALAR)) continue;
      return false;
    }
    if (p->store || !ir_is(user->region->parent, IR_COMPUTE)) return false;
    p->store = user;
    p->compute = user->region->parent;
  }
  ir_reduction how;
  if (!p->store || ir_reduction_of(p->store, &how) || ir_get_int(p->store, "targets") != 1) return false;
  const ir_region *region = ir_op_region(p->compute, 0);
  if (region->arg_count != p->rank || ir_is(region->first, IR_GUARD)) return false;
  ir_each_op(op, region) {
    if (ir_is(op, IR_STORE) && op != p->store) return false;
  }
  for (size_t i = 0; i < p->rank; i++) {
    const ir_expr *index = ir_attr_as_expr(ir_op_context(p->store), ir_get(p->store, "index")->items[0]->items[i]);
    if (index->code != IR_S_ARG || ir_op_operand(p->store, index->arg) != region->args[i]) return false;
  }
  return true;
}

struct inlining {
  const struct producer *p;
  const ir_expr *const *indices; /* of the load being replaced, in terms of the frame */
};

/* The producer's value, its axes being the indices of the load. */
static const ir_expr *map_axis(void *user, ir_frame *frame, ir_value *value, const ir_expr *leaf) {
  const struct inlining *in = user;
  if (leaf->code == IR_S_ARG && ir_value_region(value) == ir_op_region(in->p->compute, 0)) return in->indices[value->index];
  ir_op *def = ir_value_op(value);
  bool binding = leaf->code == IR_S_ARG && def && def->region == ir_op_region(in->p->compute, 0);
  return binding ? ir_frame_import(frame, def, ir_get_expr(def, "value"), NULL, map_axis, user) : NULL;
}

static const ir_expr *map_load(void *user, ir_frame *frame, ir_value *value, const ir_expr *leaf) {
  struct inlining *in = user;
  if (leaf->code != IR_S_LOAD || value != in->p->buffer) return NULL;
  struct inlining inner = *in;
  inner.indices = leaf->kids;
  return ir_frame_import(frame, in->p->store, ir_get_expr_at(in->p->store, "args", 0), NULL, map_axis, &inner);
}

/* An element of a buffer that an operation's values load. An operation may name the buffer in several operands: loads of one
 * element differ then, but are the same in a frame of their own. */
struct element {
  const ir_expr *load, *in_frame;
  size_t loads;       /* in printed form */
  bool unconditional; /* loaded in any case, not only where a guard allows it */
  size_t binding;     /* number of the operand made for it; 0: none */
};

struct repeated {
  ir_arena *scratch;
  ir_op *op;
  const ir_value *buffer;
  ir_frame frame;
  ir_vec(struct element) elements;
  ir_map by_load; /* load -> number of its element, counted from 1 */
};

static struct element *element_of(struct repeated *r, const ir_expr *load) {
  void **number = ir_map_slot(r->scratch, &r->by_load, load);
  if (!*number) {
    const ir_expr *in_frame = ir_frame_import(&r->frame, r->op, load, NULL, NULL, NULL);
    size_t i = 0;
    while (i < r->elements.count && r->elements.at[i].in_frame != in_frame) i++;
    if (i == r->elements.count) *ir_push(r->scratch, &r->elements) = (struct element){.load = load, .in_frame = in_frame};
    *number = (void *)(uintptr_t)(i + 1);
  }
  return &r->elements.at[(uintptr_t)*number - 1];
}

static bool loads_buffer(const struct repeated *r, const ir_expr *expr) {
  return expr->code == IR_S_LOAD && ir_op_operand(r->op, expr->arg) == r->buffer;
}

static void count_loads(struct repeated *r, const ir_expr *expr, bool guarded) {
  if (loads_buffer(r, expr)) {
    struct element *element = element_of(r, expr);
    element->loads++;
    element->unconditional |= !guarded;
  }
  for (size_t i = 0; i < expr->count; i++) {
    if (expr->kids[i]->has_args) count_loads(r, expr->kids[i], guarded || (expr->code == IR_S_GUARD && i > 0));
  }
}

static const ir_expr *to_binding(void *user, ir_context *context, const ir_expr *leaf) {
  const struct repeated *r = user;
  uintptr_t number = (uintptr_t)ir_map_get(&r->by_load, leaf);
  size_t binding = number ? r->elements.at[number - 1].binding : 0;
  return binding ? ir_expr_arg(context, (uint32_t)binding, (ir_dtype)leaf->dtype, leaf->lanes) : leaf;
}

static const ir_attr *bind_attr(struct repeated *r, ir_context *context, const ir_attr *attr) {
  if (attr && attr->kind == IR_ATTR_EXPR) return ir_attr_expr(context, ir_expr_replace(context, attr->expr, to_binding, r));
  if (!attr || attr->kind != IR_ATTR_LIST) return attr;
  const ir_attr **items = ir_new_array(r->scratch, const ir_attr *, attr->count);
  for (size_t i = 0; i < attr->count; i++) items[i] = bind_attr(r, context, attr->items[i]);
  return ir_attr_list(context, attr->count, items);
}

/* OP again with ATTRS and OPERANDS, in its place. */
static ir_op *remake(ir_op *op, ir_value *const *operands, size_t count, const ir_attr *const *attrs) {
  const ir_type *type = op->result_count ? ir_op_result(op, 0)->type : NULL;
  ir_op *copy = ir_op_new(ir_op_module(op), &(ir_op_spec){.code = (ir_opcode)op->code, .range = op->range, .operand_count = count, .operands = operands,
                                                          .attrs = attrs, .result_count = op->result_count, .types = &type});
  copy->flags = op->flags & IR_OP_INLINE;
  ir_op_insert(op->region, op, copy);
  for (size_t i = 0; i < op->result_count; i++) ir_value_replace(ir_op_result(op, i), ir_op_result(copy, i));
  ir_op_erase(op);
  return copy;
}

struct operands {
  ir_value **at;
  size_t count, capacity;
};

/* A binding for ELEMENT where it is loaded several times, and once at least in any case. */
static void bind_element(struct repeated *r, struct element *element, struct operands *operands) {
  if (element->loads < 2 || !element->unconditional) return;
  ir_context *context = r->frame.context;
  ir_builder b = ir_before(r->op);
  ir_frame frame = {.context = context, .arena = r->scratch};
  const ir_expr *load = ir_frame_import(&frame, r->op, element->load, NULL, NULL, NULL);
  const ir_type *type = ir_type_scalar(context, (ir_dtype)load->dtype, load->lanes);
  ir_op *let = ir_build_with(&b, IR_SCALAR, frame.operands, frame.count, IR_SET({"value", ir_attr_expr(context, load)}), NULL, 0, &type, 1);
  element->binding = operands->count;
  *ir_push(r->scratch, operands) = ir_op_result(let, 0);
}

/* A producer's value that stands several times in one operation's expressions gets a binding of its own first. */
static void bind_repeated(struct fusing *f, const struct producer *p, ir_op *op) {
  struct repeated r = {.scratch = f->run->scratch, .op = op, .buffer = p->buffer, .frame = {.context = f->run->context, .arena = f->run->scratch}};
  size_t slots = ir_op_row(op)->attr_count;
  for (size_t i = 0; i < slots; i++) {
    const ir_attr *attr = ir_op_slots(op)[i];
    if (attr && attr->kind == IR_ATTR_EXPR) count_loads(&r, attr->expr, false);
    for (size_t k = 0; attr && attr->kind == IR_ATTR_LIST && k < attr->count; k++) {
      if (attr->items[k]->kind == IR_ATTR_EXPR) count_loads(&r, attr->items[k]->expr, false);
    }
  }
  if (ir_get_expr_at(p->store, "args", 0)->size < 4) return;
  struct operands operands = {0};
  for (size_t i = 0; i < op->operand_count; i++) *ir_push(r.scratch, &operands) = ir_op_operand(op, i);
  for (size_t i = 0; i < r.elements.count; i++) bind_element(&r, &r.elements.at[i], &operands);
  if (operands.count == op->operand_count) return;
  const ir_attr **attrs = ir_new_array(r.scratch, const ir_attr *, slots);
  for (size_t i = 0; i < slots; i++) attrs[i] = bind_attr(&r, f->run->context, ir_op_slots(op)[i]);
  remake(op, operands.at, operands.count, attrs);
}

/* Every expression of OP, in attribute order: VISIT may replace it. */
static const ir_attr *map_exprs(struct fusing *f, const ir_op *op, const ir_attr *attr, ir_frame *frame, struct inlining *in) {
  ir_context *context = f->run->context;
  if (attr && attr->kind == IR_ATTR_EXPR) return ir_attr_expr(context, ir_frame_import(frame, op, attr->expr, NULL, map_load, in));
  if (!attr || attr->kind != IR_ATTR_LIST) return attr;
  const ir_attr **items = ir_new_array(f->run->scratch, const ir_attr *, attr->count);
  for (size_t i = 0; i < attr->count; i++) items[i] = map_exprs(f, op, attr->items[i], frame, in);
  return ir_attr_list(context, attr->count, items);
}

static uint32_t largest(const ir_attr *attr) {
  if (!attr) return 0;
  if (attr->kind == IR_ATTR_EXPR) return attr->expr->size;
  uint32_t most = 0;
  for (size_t i = 0; attr->kind == IR_ATTR_LIST && i < attr->count; i++) {
    uint32_t size = largest(attr->items[i]);
    if (size > most) most = size;
  }
  return most;
}

/* OP again with the producer's value in the place of its loads; NULL where an expression would grow too large. */
static bool rewrite_reader(struct fusing *f, const struct producer *p, ir_op *op, bool apply) {
  ir_pass_run *run = f->run;
  size_t slots = ir_op_row(op)->attr_count;
  ir_frame frame = {.context = run->context, .arena = run->scratch};
  /* The targets of a store stay its first operands. */
  size_t targets = ir_is(op, IR_STORE) ? (size_t)ir_get_int(op, "targets") : 0;
  for (size_t t = 0; t < targets; t++) ir_frame_operand(&frame, ir_op_operand(op, t));
  struct inlining in = {.p = p};
  const ir_attr **attrs = ir_new_array(run->scratch, const ir_attr *, slots);
  for (size_t i = 0; i < slots; i++) {
    attrs[i] = map_exprs(f, op, ir_op_slots(op)[i], &frame, &in);
    if (largest(attrs[i]) > IR_EXPR_MAX_SIZE) return false;
  }
  if (!apply) return true;
  remake(op, frame.operands, frame.count, attrs);
  return true;
}

struct readers {
  ir_op **at;
  size_t count, capacity;
};

/* An operation that names the buffer in two operands reads it once. */
static void add_reader(struct fusing *f, struct readers *readers, ir_op *op) {
  for (size_t i = 0; i < readers->count; i++) {
    if (readers->at[i] == op) return;
  }
  *ir_push(f->run->scratch, readers) = op;
}

static bool inline_producer(struct fusing *f, const struct producer *p) {
  struct readers readers = {0};
  ir_each_use(use, p->buffer) {
    if (use->user == p->store && use == &ir_op_uses(p->store)[0]) continue;
    if (use->user == p->store) return false;
    ir_op *parent = use->user->region->parent;
    if (!ir_is(parent, IR_COMPUTE) || ir_is(use->user, IR_GUARD) || !ir_op_is_before(p->compute, parent)) return false;
    add_reader(f, &readers, use->user);
  }
  if (!readers.count) return false;
  for (size_t i = 0; i < readers.count; i++) bind_repeated(f, p, readers.at[i]);
  readers.count = 0;
  ir_each_use(use, p->buffer) {
    if (use->user != p->store) add_reader(f, &readers, use->user);
  }
  for (size_t i = 0; i < readers.count; i++) {
    if (!rewrite_reader(f, p, readers.at[i], false)) return false;
  }
  for (size_t i = 0; i < readers.count; i++) rewrite_reader(f, p, readers.at[i], true);
  ir_op *alloc = ir_value_op(p->buffer);
  ir_op_erase(p->compute);
  ir_op_erase(alloc);
  return ir_count(f->run, INLINED);
}

static void inline_producers(struct fusing *f) {
  bool again = true;
  while (again) {
    again = false;
    ir_each_op(op, f->to->body) {
      struct producer p;
      if (!ir_is(op, IR_ALLOC) || !find_producer(ir_op_result(op, 0), &p)) continue;
      if (!inline_producer(f, &p)) continue;
      again = true;
      break;
    }
  }
}

/* A temporary that every nest addresses by its leading axes alone holds one value a round. */
static void make_local(struct fusing *f) {
  ir_each_op(op, f->to->body) {
    if (!ir_is(op, IR_ALLOC) || strcmp(ir_get_word(op, "scope"), "global")) continue;
    ir_value *buffer = ir_op_result(op, 0);
    size_t nests = 0;
    bool fits = true;
    ir_each_op(compute, f->to->body) {
      if (!ir_is(compute, IR_COMPUTE) || !ir_nest_touches(compute, buffer)) continue;
      nests++;
      fits &= ir_nest_common_axes(compute, buffer) == buffer->type->count;
    }
    if (!fits || nests < 2) continue;
    ir_set(op, "scope", ir_attr_id(f->run->context, ir_lit("local")));
    ir_count(f->run, LOCAL);
  }
}

static bool becomes_tir(void *user, ir_op *op) {
  const ir_func *from = user;
  const ir_attr *callee = ir_is(op, IR_CALL) ? ir_get(op, "callee") : NULL;
  if (!callee || callee->string != from->item.name) return true;
  ir_arena scratch = {0};
  ir_value **operands = ir_new_array(&scratch, ir_value *, op->operand_count);
  const ir_type **types = ir_new_array(&scratch, const ir_type *, op->result_count);
  for (size_t i = 0; i < op->operand_count; i++) operands[i] = ir_op_operand(op, i);
  for (size_t i = 0; i < op->result_count; i++) types[i] = ir_op_result(op, i)->type;
  ir_builder b = ir_before(op);
  ir_op *call = ir_build_with(&b, IR_CALL_TIR, operands, op->operand_count, IR_SET({"callee", callee}), NULL, 0, types, op->result_count);
  for (size_t i = 0; i < op->result_count; i++) {
    ir_op_result(call, i)->name = ir_op_result(op, i)->name;
    ir_value_replace(ir_op_result(op, i), ir_op_result(call, i));
  }
  ir_op_erase(op);
  ir_arena_free(&scratch);
  return true;
}

static bool fuse_one(ir_pass_run *run, ir_func *from) {
  struct fusing f = {.run = run, .from = from};
  make_params(&f);
  ir_builder b = ir_at_end(f.to->body);
  ir_each_op(op, from->body) {
    if (ir_is(op, IR_CALL_TIR) && !inline_call(&f, &b, op)) return false;
  }
  inline_producers(&f);
  make_local(&f);
  ir_item *after = from->item.prev;
  bool first = !after;
  ir_module_remove(run->module, &from->item);
  ir_module_add(run->module, &f.to->item, first ? NULL : after);
  ir_each_body(func, run->module) {
    if (func->item.kind == IR_ITEM_FUNC) ir_walk(func->body, IR_PRE_ORDER, becomes_tir, from);
  }
  return ir_count(run, FUNCTIONS);
}

static bool fuse_tir(ir_pass_run *run) {
  ir_each_item(item, run->module) {
    ir_func *func = item->kind == IR_ITEM_FUNC ? (ir_func *)item : NULL;
    if (!func || !func->body || !ir_dict_get(item->attrs, "primitive") || !can_fuse(run, func)) continue;
    if (!fuse_one(run, func) && run->failed) return false;
  }
  return run->stats[FUNCTIONS] > 0;
}

const ir_pass ir_pass_fuse_tir = {
    .name = "fuse-tir",
    .doc = "Make each function of fuse-ops into one prim_func: producers inside expressions, one loop nest where legal.",
    .run = fuse_tir,
    .needs = IR_PROPERTY_LEGAL,
    .stats = STATS({"functions", "functions made into prim_funcs"}, {"inlined", "temporaries replaced by their expression"},
                   {"local", "temporaries kept inside one loop nest"}),
};
