// SPDX-License-Identifier: Apache-2.0
/* ir/print.c - modules, items and single things as canonical text. Needs ir/print_op, ir/print_expr. */
#include "ir/print.h"

#include "base/vec.h"
#include "ir/number.h"
#include "ir/printer.h"

/* --- numbers of unnamed values --- */

struct numbering {
  ir_printer *printer;
  uintptr_t next;
  ir_vec(const ir_value *) axes; /* without a name */
  ir_map taken;                  /* names of axes and symbols; filled when an unnamed axis is met */
};

static bool has_axes(const ir_region *region) {
  return region->parent && (ir_is(region->parent, IR_FOR) || ir_is(region->parent, IR_COMPUTE));
}

static void number_value(struct numbering *n, const ir_value *value) {
  ir_printer *p = n->printer;
  if (value->name) return;
  n->next++;
  if (!p->by_id) {
    ir_map_put(&p->arena, &p->numbers, value, (void *)n->next);
    return;
  }
  ((ir_value *)(uintptr_t)value)->id = (uint32_t)n->next;
  *ir_push(&p->arena, &p->numbered) = value;
}

uintptr_t ir_printer_number_of(const ir_printer *p, const ir_value *value) {
  if (!p->by_id) return (uintptr_t)ir_map_get(&p->numbers, value);
  bool own = value->id && value->id <= p->numbered.count && p->numbered.at[value->id - 1] == value;
  return own ? value->id : 0;
}

static size_t count_results(const ir_region *region, unsigned depth) {
  size_t count = region && depth <= IR_PRINT_MAX_DEPTH ? region->arg_count : 0;
  for (const ir_op *op = region && depth <= IR_PRINT_MAX_DEPTH ? region->first : NULL; op; op = op->next) {
    count += op->result_count;
    for (size_t i = 0; i < op->region_count; i++) count += count_results(ir_op_region(op, i), depth + 1);
  }
  return count;
}

static void number_region(struct numbering *n, const ir_region *region, unsigned depth) {
  if (!region || depth > IR_PRINT_MAX_DEPTH) return;
  bool bare = has_axes(region);
  for (size_t i = 0; i < region->arg_count; i++) {
    const ir_value *arg = region->args[i];
    if (!bare) number_value(n, arg);
    if (bare && arg->name) ir_map_put(&n->printer->arena, &n->taken, arg->name, n);
    if (bare && !arg->name) *ir_push(&n->printer->arena, &n->axes) = arg;
  }
  for (const ir_op *op = region->first; op; op = op->next) {
    if (op->flags & IR_OP_INLINE) continue;
    size_t results = ir_printer_is_bare(op) ? 0 : op->result_count;
    for (size_t i = 0; i < results; i++) number_value(n, ir_op_result(op, i));
    for (size_t i = 0; i < op->region_count; i++) number_region(n, ir_op_region(op, i), depth + 1);
  }
}

static void take_symbol(void *user, const ir_expr *node) {
  struct numbering *n = user;
  if (node->code == IR_S_SYMBOL) ir_map_put(&n->printer->arena, &n->taken, node->symbol, n);
}

static void take_symbols(struct numbering *n, ir_context *context, const ir_type *type) {
  bool shaped = type->kind == IR_TYPE_TENSOR || type->kind == IR_TYPE_SHAPE;
  for (size_t i = 0; i < (size_t)type->count + type->result_count; i++) {
    if (!type->items[i]) continue;
    if (shaped)
      ir_expr_walk(context, type->items[i], take_symbol, n);
    else
      take_symbols(n, context, type->items[i]);
  }
}

/* Axes without a name get i0, i1, ... where no symbol, no other axis of the function and no dtype (i4, i8) has that name. */
static void name_axes(struct numbering *n, const ir_func *func) {
  ir_context *context = ir_func_context(func);
  for (size_t i = 0; i < func->param_count; i++) {
    if (func->params[i].symbol)
      take_symbol(n, func->params[i].symbol);
    else
      take_symbols(n, context, func->params[i].type);
  }
  size_t at = 0;
  for (unsigned k = 0; at < n->axes.count; k++) {
    const ir_string *name = ir_intern(context, ir_slice_of(ir_arena_printf(&n->printer->arena, "i%u", k)));
    if (ir_map_has(&n->taken, name) || ir_dtype_find(ir_slice_of(name->text)) != IR_DTYPE_UNKNOWN) continue;
    ir_map_put(&n->printer->arena, &n->printer->axes, n->axes.at[at++], (void *)(uintptr_t)name);
  }
}

void ir_printer_number(ir_printer *p, const ir_func *func) {
  if (!func || func == p->func) return;
  ir_arena_free(&p->arena);
  p->arena = (ir_arena){0};
  p->numbers = p->axes = (ir_map){0};
  p->numbered.at = NULL;
  p->numbered.count = p->numbered.capacity = 0;
  p->func = func;
  if (p->by_id) ir_vec_reserve(&p->arena, (void **)&p->numbered.at, &p->numbered.capacity, count_results(func->body, 0), sizeof *p->numbered.at);
  struct numbering n = {.printer = p};
  number_region(&n, func->body, 0);
  if (n.axes.count) name_axes(&n, func);
}

/* --- items --- */

/* *UNNAMED counts the parameters without a name of a function without a body. */
static void param(ir_printer *p, const ir_param *param, unsigned *unnamed) {
  if (param->direction == IR_OUT) ir_text_put(p->out, "out ");
  if (param->direction == IR_INOUT) ir_text_put(p->out, "inout ");
  if (param->symbol)
    ir_printer_expr(p, (ir_printed){.expr = param->symbol}, IR_I64);
  else if (param->value)
    ir_printer_value(p, param->value);
  else if (param->name)
    ir_printer_name(p, '%', param->name);
  else
    ir_text_printf(p->out, "%%%u", (*unnamed)++);
  ir_text_put(p->out, ": ");
  ir_printer_type(p, param->value ? param->value->type : param->type);
}

static void identity(ir_printer *p, const ir_func *func, size_t i) {
  const ir_type *type = func->params[i].type;
  bool has_dtype = type && (ir_is_scalar(type) || ir_is_tensor(type));
  ir_text_put(p->out, " = ");
  ir_printer_expr(p, (ir_printed){.expr = func->identities[i]}, has_dtype ? ir_type_dtype(type) : IR_DTYPE_UNKNOWN);
}

static void params(ir_printer *p, const ir_func *func) {
  size_t states = func->item.kind == IR_ITEM_REDUCER ? func->state_count : 0;
  unsigned unnamed = 0;
  ir_text_char(p->out, '(');
  for (size_t i = 0; i < func->param_count; i++) {
    if (i) ir_text_put(p->out, states && i == states ? "; " : ", ");
    param(p, &func->params[i], &unnamed);
    if (i < states) identity(p, func, i);
    ir_printer_with(p, func->params[i].attrs);
  }
  if (states && states == func->param_count) ir_text_char(p->out, ';');
  ir_text_char(p->out, ')');
}

static void func(ir_printer *p, const ir_func *func) {
  const ir_item *item = &func->item;
  ir_printer_number(p, func);
  if (item->flags & IR_ITEM_PRIVATE) ir_text_put(p->out, "private ");
  if (item->flags & IR_ITEM_EXTERN) ir_text_put(p->out, "extern ");
  if (item->flags & IR_ITEM_IMPURE) ir_text_put(p->out, "impure ");
  ir_text_printf(p->out, "%s ", ir_item_word(item->kind));
  ir_printer_name(p, '@', item->name);
  if (func->has_signature) params(p, func);
  if (func->has_signature && func->has_arrow) {
    ir_text_put(p->out, " -> ");
    ir_printer_results(p, func->result_count, func->results);
  }
  ir_printer_where(p, func->where_count, func->where);
  ir_printer_with(p, item->attrs);
  if (!func->body) return;
  ir_text_char(p->out, ' ');
  ir_printer_region(p, func->body, 2);
}

static void base64(ir_text *out, const uint8_t *bytes, size_t size) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < size; i += 3) {
    size_t left = size - i;
    unsigned group =
        (unsigned)bytes[i] << 16 | (left > 1 ? (unsigned)bytes[i + 1] << 8 : 0) | (left > 2 ? bytes[i + 2] : 0u);
    char text[4] = {digits[group >> 18], digits[group >> 12 & 63], left > 1 ? digits[group >> 6 & 63] : '=',
                    left > 2 ? digits[group & 63] : '='};
    ir_text_bytes(out, text, sizeof text);
  }
}

static void string(ir_printer *p, const ir_string *text) {
  ir_text_char(p->out, '"');
  if (text) ir_text_escaped(p->out, ir_string_slice(text));
  ir_text_char(p->out, '"');
}

static void resource(ir_printer *p, const ir_resource *resource) {
  ir_text_put(p->out, "resource ");
  ir_printer_name(p, '@', resource->item.name);
  ir_text_put(p->out, ": ");
  ir_printer_type(p, resource->type);
  ir_text_put(p->out, " = ");
  bool elide = resource->kind == IR_RESOURCE_BYTES && p->options.elide_above && resource->size > p->options.elide_above;
  if (resource->kind == IR_RESOURCE_ELIDED || elide) {
    ir_text_put(p->out, "elided");
  } else if (resource->kind == IR_RESOURCE_FILE) {
    ir_text_put(p->out, "file(");
    string(p, resource->file);
    if (resource->key) ir_text_put(p->out, ", key="), string(p, resource->key);
    ir_text_char(p->out, ')');
  } else {
    ir_text_put(p->out, "base64(\"");
    base64(p->out, resource->bytes, resource->size);
    ir_text_put(p->out, "\")");
  }
  ir_printer_with(p, resource->item.attrs);
}

static void item(ir_printer *p, const ir_item *item) {
  if (ir_is_func(item)) {
    func(p, (const ir_func *)item);
  } else if (item->kind == IR_ITEM_RESOURCE) {
    resource(p, (const ir_resource *)item);
  } else {
    ir_text_put(p->out, "device ");
    ir_printer_name(p, '@', item->name);
    ir_text_put(p->out, " = ");
    ir_printer_attr(p, item->attrs);
  }
}

static bool has_body(const ir_item *item) { return ir_is_func(item) && ((const ir_func *)item)->body; }

/* --- entry points --- */

static ir_printer start(ir_text *out, const ir_print_options *options) {
  ir_printer p = {.out = out};
  if (options) p.options = *options;
  return p;
}

static void end(ir_printer *p) { ir_arena_free(&p->arena); }

void ir_print_module(ir_text *out, const ir_module *module, const ir_print_options *options) {
  ir_printer p = start(out, options);
  p.by_id = true;
  ir_text_put(out, "rill 1\nmodule");
  ir_printer_with(&p, module->attrs);
  ir_text_put(out, " {\n");
  for (const ir_item *at = module->first; at; at = at->next) {
    /* Items of one line stand together. */
    if (at->prev &&
        (has_body(at) || has_body(at->prev) || (at->kind == IR_ITEM_DEVICE) != (at->prev->kind == IR_ITEM_DEVICE))) {
      ir_text_char(out, '\n');
    }
    ir_text_put(out, "  ");
    item(&p, at);
    ir_text_char(out, '\n');
  }
  ir_text_put(out, "}\n");
  end(&p);
}

void ir_print_item(ir_text *out, const ir_item *at, const ir_print_options *options) {
  ir_printer p = start(out, options);
  item(&p, at);
  end(&p);
}

static const ir_func *func_of(const ir_region *region) { return region ? region->func : NULL; }

void ir_print_op(ir_text *out, const ir_op *op, const ir_print_options *options) {
  ir_printer p = start(out, options);
  ir_printer_number(&p, func_of(op->region));
  ir_printer_op(&p, op, 0);
  end(&p);
}

void ir_print_type(ir_text *out, const ir_type *type) {
  ir_printer p = start(out, NULL);
  ir_printer_type(&p, type);
}

void ir_print_attr(ir_text *out, const ir_attr *attr) {
  ir_printer p = start(out, NULL);
  ir_printer_attr(&p, attr);
}

static const ir_func *home_of(const ir_value *value) {
  const ir_op *op = value ? ir_value_op(value) : NULL;
  return value ? func_of(op ? op->region : ir_value_region(value)) : NULL;
}

void ir_print_expr(ir_text *out, const ir_expr *expr, ir_value *const *args, size_t arg_count) {
  ir_printer p = start(out, NULL);
  for (size_t i = 0; args && i < arg_count; i++) ir_printer_number(&p, home_of(args[i]));
  ir_printer_expr(&p, (ir_printed){.expr = expr, .args = args, .arg_count = args ? arg_count : 0}, IR_DTYPE_UNKNOWN);
  end(&p);
}

void ir_print_value(ir_text *out, const ir_value *value) {
  ir_printer p = start(out, NULL);
  if (value && !value->name) ir_printer_number(&p, home_of(value));
  ir_printer_value(&p, value);
  end(&p);
}

static const char *take(ir_arena *arena, ir_text *text) {
  const char *copy = ir_arena_copy(arena, text->at ? text->at : "", text->length);
  ir_text_free(text);
  return copy;
}

const char *ir_type_text(ir_arena *arena, const ir_type *type) {
  ir_text text = {0};
  ir_print_type(&text, type);
  return take(arena, &text);
}

const char *ir_attr_text(ir_arena *arena, const ir_attr *attr) {
  ir_text text = {0};
  ir_print_attr(&text, attr);
  return take(arena, &text);
}

const char *ir_value_text(ir_arena *arena, const ir_value *value) {
  ir_text text = {0};
  ir_print_value(&text, value);
  return take(arena, &text);
}
