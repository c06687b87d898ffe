// SPDX-License-Identifier: Apache-2.0
/* parser/resolve_call.c - statements: operations written as calls, scalar bindings, stores and reductions. Needs
 * parser/resolve.h, ir/literal. */
#include "ir/literal.h"
#include "ir/number.h"
#include "parser/resolve.h"

/* Rows that the grammar has a form for, so that name(...) does not mean them. */
static bool has_own_form(ir_opcode code) {
  switch ((int)code) {
  case IR_SCALAR:
  case IR_TUPLE_GET:
  case IR_CLOSURE:
  case IR_IF:
  case IR_LOOP:
  case IR_DATAFLOW:
  case IR_YIELD:
  case IR_RETURN:
  case IR_COMPUTE:
  case IR_GUARD:
  case IR_STORE:
  case IR_FOR:
  case IR_WHILE: return true;
  }
  return false;
}

static ir_opcode operation_of(const ir_parser *p, const ir_node *call) {
  ir_opcode code = ir_op_find(p->context, ir_node_name(p, call));
  return code == IR_OP_COUNT || has_own_form(code) ? IR_OP_COUNT : code;
}

/* --- the arguments of a call --- */

struct arguments {
  ir_parser *p;
  ir_making *m;
  const ir_op_def *row;
  const ir_item *callee; /* of a call */
  ir_vec(const ir_node *) positional;
  ir_vec(const ir_attr *) extra; /* keyword arguments for the row's dictionary: keys and values */
  ir_map extra_keys;
};

static void offer_attrs(const ir_op_def *row, ir_nearest *nearest) {
  for (size_t i = 0; i < row->attr_count; i++) {
    if (row->attrs[i].place == IR_NAMED) ir_nearest_offer(nearest, ir_slice_of(row->attrs[i].name));
  }
}

static int slot_of(const ir_op_def *row, ir_slice name) {
  for (int i = 0; i < row->attr_count; i++) {
    if (row->attrs[i].place == IR_NAMED && ir_slice_is(name, row->attrs[i].name)) return i;
  }
  return -1;
}

static int dict_slot(const ir_op_def *row) {
  for (int i = 0; i < row->attr_count; i++) {
    if (row->attrs[i].type == IR_A_DICT && row->attrs[i].place == IR_NAMED) return i;
  }
  return -1;
}

static bool check_global(ir_parser *p, const ir_node *node, const ir_attr_def *def) {
  if (def->type != IR_A_GLOBAL || node->kind != N_GLOBAL || ir_find_item(p, ir_parse_name(p, node->range))) return true;
  bool callee = !strcmp(def->name, "callee");
  ir_unknown_item(p, node->range, callee ? "function" : def->name, callee ? IR_ANY_FUNC : IR_ANY_ITEM);
  return false;
}

/* Puts the value of an attribute into its slot. */
static void set_attr(struct arguments *a, size_t slot, const ir_node *node) {
  ir_parser *p = a->p;
  const ir_attr_def *def = &a->row->attrs[slot];
  const ir_attr *value = check_global(p, node, def) ? ir_resolve_attr(p, node, def) : NULL;
  if (!value) {
    a->m->failed = true;
    return;
  }
  bool absent = value->kind == IR_ATTR_NONE && def->dflt && !strcmp(def->dflt, "none");
  if (absent) return;
  const char *expected;
  const ir_attr *fits = ir_attr_conform(p->context, def, value, &expected);
  if (!fits) {
    ir_slice text = ir_text_at(p, node->range);
    ir_parse_error(p, node->range, "%s: attribute '%s' takes %s, found '%.*s'", a->row->name, def->name, expected,
                   text.length > 60 ? 60 : (int)text.length, text.at);
    a->m->failed = true;
    return;
  }
  a->m->attrs[slot] = fits == ir_op_default(p->context, a->m->code, slot) ? NULL : fits;
}

static void keyword(struct arguments *a, const ir_node *entry, const ir_node **given) {
  ir_parser *p = a->p;
  ir_slice name = ir_node_name(p, entry);
  ir_range range = ir_node_name_range(entry);
  int slot = slot_of(a->row, name), dict = dict_slot(a->row);
  if (slot >= 0 && given[slot]) {
    ir_diag *diag =
        ir_parse_error(p, range, "%s: attribute '%.*s' is given twice", a->row->name, (int)name.length, name.at);
    ir_note(p->diags, diag, ir_node_name_range(given[slot]), "it was given here");
    a->m->failed = true;
  } else if (slot >= 0) {
    given[slot] = entry;
    set_attr(a, (size_t)slot, entry->other);
  } else if (dict >= 0) {
    const ir_attr *key = ir_attr_string(p->context, name), *value = ir_resolve_attr(p, entry->other, NULL);
    if (ir_map_has(&a->extra_keys, key)) {
      ir_parse_error(p, range, "%s: '%.*s' is given twice", a->row->name, (int)name.length, name.at);
      a->m->failed = true;
      return;
    }
    ir_map_put(&p->scratch, &a->extra_keys, key, a);
    *ir_push(&p->scratch, &a->extra) = key;
    *ir_push(&p->scratch, &a->extra) = value;
    a->m->failed |= !value;
  } else {
    ir_diag *diag = ir_parse_error(p, range, "%s has no attribute '%.*s'", a->row->name, (int)name.length, name.at);
    ir_nearest nearest = {.wanted = name};
    offer_attrs(a->row, &nearest);
    ir_suggest(p, diag, range, &nearest);
    a->m->failed = true;
  }
}

/* Sorts the arguments of CALL; keyword arguments go to their slots at once. */
static void sort(struct arguments *a, const ir_node *call) {
  ir_parser *p = a->p;
  const ir_node **given = ir_new_array(&p->scratch, const ir_node *, a->row->attr_count);
  bool keywords = false, late = false;
  ir_each_node(arg, call->kids) {
    if (arg->kind == N_ENTRY) {
      keyword(a, arg, given);
      keywords = true;
      continue;
    }
    if (keywords && !late) ir_parse_error(p, arg->range, "%s: operands come before attributes", a->row->name);
    late |= keywords;
    *ir_push(&p->scratch, &a->positional) = arg;
  }
  a->m->failed |= late;
  int dict = dict_slot(a->row);
  if (dict < 0 || !a->extra.count || a->m->failed) return;
  if (given[dict]) {
    ir_parse_error(p, call->range, "%s: '%s' is given as a whole and by keywords", a->row->name,
                   a->row->attrs[dict].name);
    a->m->failed = true;
    return;
  }
  a->m->attrs[dict] = ir_attr_dict(p->context, a->extra.count / 2, a->extra.at);
}

/* Whether a positional argument has the form of an attribute that stands without its name. */
static bool fits_place(const ir_node *node, ir_attr_want type) {
  switch ((int)type) {
  case IR_A_GLOBAL: return node->kind == N_GLOBAL;
  case IR_A_STRING: return node->kind == N_STRING;
  case IR_A_DATA: return true;
  }
  return false;
}

static void const_value(struct arguments *a, size_t slot, const ir_node *node, ir_nodes types) {
  ir_parser *p = a->p;
  const ir_type *type = NULL;
  if (types.count) type = ir_resolve_type(p, types.first, NULL);
  const ir_attr *value = types.count && !type ? NULL : ir_resolve_data(p, node, &type);
  a->m->attrs[slot] = value;
  a->m->failed |= !value;
  if (!types.count) a->m->declared = type;
}

/* Takes attributes without names from the front and the back of the positional arguments; [*begin, *end) remain. */
static void take_places(struct arguments *a, const ir_node *call, ir_nodes types, size_t *begin, size_t *end) {
  *begin = 0;
  *end = a->positional.count;
  for (size_t i = 0; i < a->row->attr_count; i++) {
    const ir_attr_def *def = &a->row->attrs[i];
    bool leads = def->place == IR_LEADING, trails = def->place == IR_TRAILING;
    if (!leads && !trails) continue;
    const ir_node *node = *begin < *end ? a->positional.at[leads ? *begin : *end - 1] : NULL;
    if (node && fits_place(node, def->type)) {
      if (def->type == IR_A_DATA)
        const_value(a, i, node, types);
      else
        set_attr(a, i, node);
      if (leads) ++*begin;
      if (trails) --*end;
    } else if (!def->dflt) {
      const char *expected = NULL;
      ir_attr_conform(a->p->context, def, ir_attr_none(a->p->context), &expected);
      ir_parse_error(a->p, node ? node->range : call->range, "%s: expected %s (%s), found %s", a->row->name, expected,
                     def->name, node ? ir_node_describe(a->p, node) : "nothing");
      a->m->failed = true;
    }
  }
}

static void check_required(struct arguments *a, const ir_node *call) {
  for (size_t i = 0; i < a->row->attr_count && !a->m->failed; i++) {
    const ir_attr_def *def = &a->row->attrs[i];
    if (def->dflt || def->place != IR_NAMED || a->m->attrs[i]) continue;
    ir_parse_error(a->p, call->range, "%s: attribute '%s' is missing", a->row->name, def->name);
    a->m->failed = true;
  }
}

/* Operands: those with a dtype of their own first, then literals, which take theirs from these. */
static void operands(struct arguments *a, const ir_node *const *nodes, size_t count) {
  ir_parser *p = a->p;
  ir_value **values = ir_new_array(&p->scratch, ir_value *, count);
  const ir_type **types = ir_new_array(&p->scratch, const ir_type *, count);
  for (size_t i = 0; i < count; i++) {
    if (!nodes[i]->typed) continue;
    values[i] = ir_resolve_operand(p, nodes[i], IR_DTYPE_UNKNOWN);
    types[i] = values[i] ? values[i]->type : p->context->any_type;
  }
  for (size_t i = 0; i < count; i++) {
    if (nodes[i]->typed) continue;
    values[i] = ir_resolve_operand(p, nodes[i], ir_literal_operand(a->m->code, a->callee, count, types, i));
  }
  for (size_t i = 0; i < count; i++) ir_making_operand(a->m, values[i]);
}

/* atomic_add(%y[i], value) */
static void atomic(struct arguments *a, const ir_node *const *nodes, size_t count, const ir_node *call) {
  ir_parser *p = a->p;
  a->m->failed = true;
  if (count != 2 || nodes[0]->kind != N_ELEMENT) {
    ir_parse_error(p, call->range, "expected %s(%%buffer[index], value)", a->row->name);
    return;
  }
  ir_value *buffer = ir_find_value(p, ir_node_name_range(nodes[0]));
  if (!ir_check_indices(p, nodes[0], buffer)) return;
  ir_making_operand(a->m, buffer);
  const ir_expr **index = ir_new_array(&p->scratch, const ir_expr *, nodes[0]->kids.count);
  bool fine = true;
  size_t i = 0;
  ir_each_node(kid, nodes[0]->kids) fine &= (index[i++] = ir_resolve_index(p, &a->m->frame, kid)) != NULL;
  const ir_expr *value = ir_resolve_expr(p, &a->m->frame, nodes[1], ir_literal_stored(NULL, NULL, 1, &buffer->type, 0));
  if (!fine || !value) return;
  const ir_attr *list = ir_attr_dims(p->context, i, index);
  ir_making_set(a->m, "index", ir_attr_list(p->context, 1, &list));
  ir_making_set(a->m, "args", ir_attr_dims(p->context, 1, &value));
  a->m->failed = false;
}

static void operation(ir_parser *p, ir_opcode code, ir_nodes targets, const ir_node *call, const ir_node *with,
                      ir_nodes types, ir_nodes loc) {
  ir_making *m = ir_making_new(p, code, call->range, with);
  struct arguments a = {.p = p, .m = m, .row = &ir_op_defs[code]};
  sort(&a, call);
  size_t begin, end;
  take_places(&a, call, types, &begin, &end);
  int callee = ir_attr_index(a.row, "callee");
  if (callee >= 0 && m->attrs[callee]) a.callee = ir_module_find(p->module, m->attrs[callee]->string);
  const ir_node *const *nodes = a.positional.at ? a.positional.at + begin : NULL;
  if (code == IR_ATOMIC_ADD || code == IR_ATOMIC_MAX || code == IR_ATOMIC_MIN)
    atomic(&a, nodes, end - begin, call);
  else
    operands(&a, nodes, end - begin);
  check_required(&a, call);
  bool packed = code == IR_CALL_PACKED || code == IR_CALL_PURE_PACKED || code == IR_CALL_DPS_PACKED;
  if (packed && !targets.count && !types.count) m->declared = p->context->unit_type;
  ir_make_op(p, m, targets, types, loc);
}

/* A name of both a tensor and a scalar operator means the tensor one where an operand is not a scalar. */
static bool takes_tensors(ir_parser *p, const ir_node *call) {
  ir_each_node(arg, call->kids) {
    if (arg->kind == N_ENTRY) return true; /* scalar operators have no attributes */
    if (arg->kind == N_VALUE && !ir_is_scalar(ir_find_value(p, arg->range)->type)) return true;
  }
  return false;
}

static void unknown_operation(ir_parser *p, ir_nodes targets, const ir_node *call, ir_nodes types) {
  ir_slice name = ir_node_name(p, call);
  ir_range range = ir_node_name_range(call);
  ir_opcode own = ir_op_find(p->context, name);
  bool known = own != IR_OP_COUNT;
  ir_diag *diag = ir_parse_error(p, range, known ? "'%.*s' is not written as a call" : "unknown operator '%.*s'", (int)name.length, name.at);
  if (known) ir_note(p->diags, diag, range, "%s: %s", ir_op_defs[own].name, ir_op_defs[own].doc);
  if (!known && ir_suggests(p)) {
    ir_nearest nearest = {.wanted = name};
    for (int code = 0; code < IR_OP_COUNT; code++) {
      bool fits = !has_own_form((ir_opcode)code) && (ir_op_defs[code].traits & (ir_in_graph(p) ? IR_GRAPH : IR_PRIM));
      if (fits) ir_nearest_offer(&nearest, ir_slice_of(ir_op_defs[code].name));
    }
    for (int code = 0; code < IR_S_COUNT; code++) ir_nearest_offer(&nearest, ir_slice_of(ir_scalars[code].name));
    ir_suggest(p, diag, range, &nearest);
    const ir_string *global = ir_intern(p->context, name);
    if (!nearest.best.at && ir_module_find(p->module, global)) {
      ir_note(p->diags, diag, range, "functions are called as call(@%s, ...)", global->text);
    }
  }
  ir_making *m = ir_making_new(p, IR_TUPLE, call->range, NULL);
  m->failed = true;
  ir_make_op(p, m, targets, types, (ir_nodes){0});
}

void ir_resolve_call(ir_parser *p, ir_nodes targets, const ir_node *call, const ir_node *with, ir_nodes types,
                     ir_nodes loc) {
  ir_opcode code = operation_of(p, call);
  ir_dtype dtype;
  unsigned lanes;
  bool scalar = call->code != IR_S_COUNT || ir_element_find(ir_node_name(p, call), &dtype, &lanes) || !call->typed;
  bool both = scalar && code != IR_OP_COUNT;
  if (both) scalar = !ir_in_graph(p) || !takes_tensors(p, call);
  if (scalar)
    ir_resolve_scalar(p, targets, call, with, types, loc);
  else if (code != IR_OP_COUNT)
    operation(p, code, targets, call, with, types, loc);
  else
    unknown_operation(p, targets, call, types);
}

/* --- scalar bindings --- */

static ir_dtype written_dtype(const ir_parser *p, ir_nodes types) {
  ir_dtype dtype;
  unsigned lanes;
  bool plain =
      types.count == 1 && types.first->kind == N_ID && ir_element_find(ir_node_name(p, types.first), &dtype, &lanes);
  return plain ? dtype : IR_DTYPE_UNKNOWN;
}

static void field(ir_parser *p, ir_nodes targets, const ir_node *value, ir_value *tuple, const ir_node *with,
                  ir_nodes types, ir_nodes loc) {
  ir_making *m = ir_making_new(p, IR_TUPLE_GET, value->range, with);
  ir_making_operand(m, tuple);
  uint64_t index = 0;
  const ir_node *literal = value->kids.first;
  bool fine = value->kids.count == 1 && literal->kind == N_INT && ir_parse_integer(ir_node_name(p, literal), &index) &&
              index <= INT32_MAX;
  if (!fine) ir_parse_error(p, value->range, "a field of a tuple is named by a constant: %%t[0]");
  m->failed |= !fine;
  ir_making_set(m, "index", ir_attr_int(p->context, (int64_t)index));
  ir_make_op(p, m, targets, types, loc);
}

void ir_resolve_scalar(ir_parser *p, ir_nodes targets, const ir_node *value, const ir_node *with, ir_nodes types,
                       ir_nodes loc) {
  if (value->kind == N_ELEMENT && ir_in_graph(p)) {
    ir_value *tuple = ir_find_value(p, ir_node_name_range(value));
    bool poisoned = tuple->type == p->context->any_type && ir_has_failed(p);
    if (tuple->type->kind == IR_TYPE_TUPLE || poisoned) {
      field(p, targets, value, tuple, with, types, loc);
      return;
    }
  }
  ir_making *m = ir_making_new(p, IR_SCALAR, value->range, with);
  const ir_expr *expr = NULL;
  ir_value *alias = value->kind == N_VALUE ? ir_find_value(p, value->range) : NULL;
  if (alias && !ir_is_scalar(alias->type) && !(alias->type == p->context->any_type && ir_has_failed(p))) {
    ir_slice text = ir_node_name(p, value);
    ir_diag *diag = ir_parse_error(p, value->range, "a value needs no second name");
    ir_note(p->diags, diag, value->range, "use '%.*s' itself", (int)text.length, text.at);
  } else {
    expr = ir_resolve_expr(p, &m->frame, value, written_dtype(p, types));
  }
  if (expr) ir_making_set(m, "value", ir_attr_expr(p->context, expr));
  m->failed |= !expr;
  ir_make_op(p, m, targets, types, loc);
}

/* --- stores --- */

static int reducer_arity(ir_slice name) {
  static const struct {
    const char *name;
    int arity;
  } reducers[] = {{"sum", 1}, {"prod", 1}, {"max", 1},    {"min", 1},   {"any", 1},
                  {"all", 1}, {"dot", 2},  {"argmax", 2}, {"argmin", 2}};
  for (size_t i = 0; i < ir_count_of(reducers); i++) {
    if (ir_slice_is(name, reducers[i].name)) return reducers[i].arity;
  }
  return 0;
}

/* A reducer's name with as many operands as it has: max(a, b) is the scalar operator, max(a) reduces. */
bool ir_is_reduction(ir_parser *p, const ir_node *node) {
  if (node->kind == N_GLOBAL_CALL) return true;
  if (node->kind != N_CALL) return false;
  int arity = reducer_arity(ir_node_name(p, node)), count = 0;
  ir_each_node(arg, node->kids) count += arg->kind != N_ENTRY;
  return arity && (arity == count || node->code == IR_S_COUNT);
}

static void reduction_options(ir_parser *p, ir_making *m, const ir_node *call) {
  struct arguments a = {.p = p, .m = m, .row = &ir_op_defs[IR_STORE]};
  sort(&a, call);
}

/* The reducer of CALL; false after an error. */
static bool reducer(ir_parser *p, ir_making *m, const ir_node *call, const char **name, const ir_item **user) {
  *user = NULL;
  *name = NULL;
  if (call->kind == N_CALL) {
    const ir_attr *word = ir_attr_id(p->context, ir_node_name(p, call));
    ir_making_set(m, "reducer", word);
    *name = word->string->text;
    int arity = reducer_arity(ir_node_name(p, call)), count = 0;
    ir_each_node(arg, call->kids) count += arg->kind != N_ENTRY;
    if (count != arity)
      ir_parse_error(p, call->range, "'%s' reduces %d operand%s, found %d", *name, arity, arity == 1 ? "" : "s", count);
    return count == arity;
  }
  ir_range range = ir_node_name_range(call);
  const ir_string *global = ir_parse_name(p, range);
  ir_item *item = ir_find_item(p, global);
  if (!item || item->kind != IR_ITEM_REDUCER) {
    ir_unknown_item(p, range, "reducer", 1 << IR_ITEM_REDUCER);
    return false;
  }
  *user = item;
  ir_making_set(m, "user_reducer", ir_attr_global(p->context, global));
  return true;
}

static bool stored(ir_parser *p, ir_making *m, size_t target_count, const ir_node *value) {
  const ir_type **written = ir_new_array(&p->scratch, const ir_type *, target_count);
  for (size_t i = 0; i < target_count; i++) written[i] = m->frame.operands[i]->type;
  bool in_compute = p->block->kind == IR_BLOCK_COMPUTE, reduces = ir_is_reduction(p, value);
  if (reduces && !in_compute) {
    ir_parse_error(p, value->range, "a reduction can only stand directly in a compute nest");
    return false;
  }
  const char *name = NULL;
  const ir_item *user = NULL;
  if (reduces && !reducer(p, m, value, &name, &user)) return false;
  if (reduces) reduction_options(p, m, value);
  if (!reduces && target_count > 1) {
    ir_parse_error(p, value->range, "several targets take a reduction with several results");
    return false;
  }
  ir_vec(const ir_expr *) args = {0};
  bool fine = true;
  if (!reduces) {
    const ir_expr *expr = ir_resolve_expr(p, &m->frame, value, ir_literal_stored(NULL, NULL, target_count, written, 0));
    fine = expr != NULL;
    *ir_push(&p->scratch, &args) = expr;
  }
  size_t k = 0;
  for (const ir_node *arg = reduces ? value->kids.first : NULL; arg; arg = arg->next) {
    if (arg->kind == N_ENTRY) continue;
    const ir_expr *expr = ir_resolve_expr(p, &m->frame, arg, ir_literal_stored(name, user, target_count, written, k++));
    fine &= expr != NULL;
    *ir_push(&p->scratch, &args) = expr;
  }
  if (fine) ir_making_set(m, "args", ir_attr_dims(p->context, args.count, args.at));
  return fine;
}

void ir_resolve_store(ir_parser *p, ir_nodes targets, const ir_node *value, const ir_node *with, ir_nodes types,
                      ir_nodes loc) {
  ir_making *m = ir_making_new(p, IR_STORE, (ir_range){targets.first->range.begin, value->range.end}, with);
  if (ir_in_graph(p)) {
    ir_parse_error(p, targets.first->range, "elements are written in a prim_func only");
    m->failed = true;
  }
  if (types.count) {
    ir_parse_error(p, types.first->range, "a store has no result, so no type");
    m->failed = true;
  }
  size_t i = 0;
  ir_each_node(target, targets) {
    if (m->failed) break;
    if (target->kind != N_ELEMENT) {
      ir_parse_error(p, target->range, "expected an element such as %%y[i], found a value");
      m->failed = true;
      break;
    }
    ir_value *buffer = ir_find_value(p, ir_node_name_range(target));
    m->failed |= !ir_check_indices(p, target, buffer);
    ir_making_operand(m, buffer);
  }
  const ir_attr **lists = ir_new_array(&p->scratch, const ir_attr *, targets.count);
  ir_each_node(target, targets) {
    if (m->failed) break;
    const ir_expr **index = ir_new_array(&p->scratch, const ir_expr *, target->kids.count);
    size_t k = 0;
    ir_each_node(kid, target->kids) {
      index[k] = ir_resolve_index(p, &m->frame, kid);
      bool early = index[k] && index[k]->lanes > 1 && kid->next;
      if (early) ir_parse_error(p, kid->range, "only the last index can be a vector");
      m->failed |= !index[k++] || early;
    }
    if (!m->failed) lists[i++] = ir_attr_dims(p->context, k, index);
  }
  if (m->failed || !stored(p, m, targets.count, value)) return;
  ir_making_set(m, "targets", ir_attr_int(p->context, targets.count));
  ir_making_set(m, "index", ir_attr_list(p->context, targets.count, lists));
  if (!m->failed) ir_make_op(p, m, (ir_nodes){0}, (ir_nodes){0}, loc);
}

void ir_resolve_statement(ir_parser *p, ir_nodes targets, ir_node *value, ir_node *with, ir_nodes types, ir_nodes loc) {
  bool elements = false;
  ir_each_node(target, targets) elements |= target->kind == N_ELEMENT;
  if (elements) {
    ir_resolve_store(p, targets, value, with, types, loc);
  } else if (value->kind == N_CALL) {
    ir_resolve_call(p, targets, value, with, types, loc);
  } else if (value->kind == N_GLOBAL_CALL) {
    ir_slice name = ir_node_name(p, value);
    ir_parse_error(p, value->range,
                   "functions are called as call(%.*s, ...); '%.*s(...)' reduces and is stored to elements",
                   (int)name.length, name.at, (int)name.length, name.at);
    ir_making *m = ir_making_new(p, IR_TUPLE, value->range, NULL);
    m->failed = true;
    ir_make_op(p, m, targets, types, (ir_nodes){0});
  } else {
    ir_resolve_scalar(p, targets, value, with, types, loc);
  }
  ir_resolve_nothing(p);
}

void ir_resolve_nothing(ir_parser *p) { ir_arena_reset(&p->scratch, p->block ? p->block->mark : p->item_mark); }
