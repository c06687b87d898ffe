// SPDX-License-Identifier: Apache-2.0
/* runtime/interp/symbols.c - the values of size symbols, and whether objects are what types say. Needs ir/simplify (to
 * evaluate) and ir/print (to say what was expected). */
#include "runtime/interp/interp.h"

#include "ir/print.h"

#include <inttypes.h>

void ir_symbols_free(ir_symbols *symbols) {
  ir_heap_free(symbols->at);
  *symbols = (ir_symbols){0};
}

bool ir_symbols_get(const ir_symbols *symbols, const ir_string *name, int64_t *value) {
  for (size_t i = 0; i < symbols->count; i++) {
    if (symbols->at[i].name != name) continue;
    *value = symbols->at[i].value;
    return true;
  }
  return false;
}

void ir_symbols_set(ir_symbols *symbols, const ir_string *name, int64_t value) {
  for (size_t i = 0; i < symbols->count; i++) {
    if (symbols->at[i].name != name) continue;
    symbols->at[i].value = value;
    return;
  }
  if (symbols->count == symbols->capacity) {
    symbols->capacity = symbols->capacity ? symbols->capacity * 2 : 8;
    symbols->at = ir_heap_realloc(symbols->at, ir_size_mul(symbols->capacity, sizeof *symbols->at));
  }
  symbols->at[symbols->count++] = (ir_symbol_value){name, value};
}

void ir_symbols_unset(ir_symbols *symbols, const ir_string *name) {
  for (size_t i = 0; i < symbols->count; i++) {
    if (symbols->at[i].name != name) continue;
    symbols->at[i] = symbols->at[--symbols->count];
    return;
  }
}

static bool leaf_value(void *user, const ir_expr *leaf, int64_t *value) {
  return leaf->code == IR_S_SYMBOL && ir_symbols_get(user, leaf->symbol, value);
}

bool ir_symbols_evaluate(const ir_symbols *symbols, const ir_expr *expr, int64_t *value) {
  return ir_evaluate(expr, leaf_value, (void *)(uintptr_t)symbols, value);
}

/* The extents of OBJECT where TYPE speaks of extents; false where it is no such object. */
static bool dims_of(const ir_type *type, const ir_object *object, size_t *count, const int64_t **dims) {
  if (type->kind == IR_TYPE_SHAPE && object->kind == IR_OBJECT_SHAPE) {
    *count = object->shape.count;
    *dims = object->shape.dims;
    return true;
  }
  if (type->kind != IR_TYPE_TENSOR) return false;
  if (object->kind == IR_OBJECT_SCALAR) {
    *count = 0;
    *dims = NULL;
    return true;
  }
  if (object->kind != IR_OBJECT_TENSOR) return false;
  *count = object->tensor->rank;
  *dims = object->tensor->dims;
  return true;
}

void ir_symbols_bind(ir_symbols *symbols, const ir_type *type, const ir_object *object) {
  size_t count;
  const int64_t *dims;
  if (type->kind == IR_TYPE_TUPLE && object->kind == IR_OBJECT_TUPLE) {
    for (size_t i = 0; i < type->count && i < object->tuple.count; i++) {
      ir_symbols_bind(symbols, ir_type_field(type, i), object->tuple.fields[i]);
    }
    return;
  }
  if (!dims_of(type, object, &count, &dims) || !type->ranked) return;
  for (size_t i = 0; i < type->count && i < count; i++) {
    const ir_expr *dim = ir_type_dim(type, i);
    int64_t known;
    if (!dim || dim->code != IR_S_SYMBOL || ir_symbols_get(symbols, dim->symbol, &known)) continue;
    ir_symbols_set(symbols, dim->symbol, dims[i]);
  }
}

static bool check_dims(const ir_symbols *symbols, const ir_type *type, size_t count, const int64_t *dims, ir_text *why) {
  if (!type->ranked) return true;
  if (count != type->count) {
    ir_text_printf(why, "%zu axes instead of %u", count, type->count);
    return false;
  }
  for (size_t i = 0; i < count; i++) {
    const ir_expr *dim = ir_type_dim(type, i);
    int64_t wanted;
    if (!dim) continue;
    if (dims[i] < 0 || dims[i] > IR_EXTENT_MAX) {
      ir_text_printf(why, "axis %zu has extent %" PRId64 ", which is out of range", i, dims[i]);
      return false;
    }
    if (!ir_symbols_evaluate(symbols, dim, &wanted)) {
      ir_text_printf(why, "the extent of axis %zu can't be computed", i);
      return false;
    }
    if (wanted == dims[i]) continue;
    ir_text_printf(why, "axis %zu has extent %" PRId64 " instead of %" PRId64, i, dims[i], wanted);
    return false;
  }
  return true;
}

static bool check_kind(const ir_type *type, const ir_object *object) {
  switch (type->kind) {
  case IR_TYPE_ANY: return true;
  case IR_TYPE_SCALAR: return object->kind == IR_OBJECT_SCALAR || (object->kind == IR_OBJECT_TENSOR && !object->tensor->rank);
  case IR_TYPE_TENSOR: return object->kind == IR_OBJECT_TENSOR || object->kind == IR_OBJECT_SCALAR;
  case IR_TYPE_SHAPE: return object->kind == IR_OBJECT_SHAPE;
  case IR_TYPE_TUPLE: return object->kind == IR_OBJECT_TUPLE;
  case IR_TYPE_FUNC: return object->kind == IR_OBJECT_FUNCTION;
  case IR_TYPE_STORAGE: return object->kind == IR_OBJECT_TENSOR;
  }
  return false;
}

static ir_dtype dtype_of(const ir_object *object) {
  return object->kind == IR_OBJECT_TENSOR ? (ir_dtype)object->tensor->dtype : object->scalar.dtype;
}

bool ir_symbols_check(const ir_symbols *symbols, const ir_type *type, const ir_object *object, ir_text *why) {
  size_t count;
  const int64_t *dims;
  if (!check_kind(type, object)) {
    ir_text_put(why, "another kind of value");
    return false;
  }
  if (type->kind == IR_TYPE_SCALAR || type->kind == IR_TYPE_TENSOR) {
    if (type->dtype != IR_DTYPE_UNKNOWN && dtype_of(object) != ir_type_dtype(type)) {
      ir_text_printf(why, "dtype %s instead of %s", ir_dtype_name(dtype_of(object)), ir_dtype_name(ir_type_dtype(type)));
      return false;
    }
  }
  if (type->kind == IR_TYPE_TUPLE) {
    if (type->count != object->tuple.count) {
      ir_text_printf(why, "%zu fields instead of %u", object->tuple.count, type->count);
      return false;
    }
    for (size_t i = 0; i < type->count; i++) {
      if (!ir_symbols_check(symbols, ir_type_field(type, i), object->tuple.fields[i], why)) {
        ir_text_printf(why, " in field %zu", i);
        return false;
      }
    }
    return true;
  }
  return !dims_of(type, object, &count, &dims) || check_dims(symbols, type, count, dims, why);
}

ir_object *ir_object_coerce(ir_interp *interp, const ir_type *type, ir_object *object) {
  ir_object *result = object;
  ir_dtype dtype;
  uint64_t bits;
  if (type->kind == IR_TYPE_TENSOR && object->kind == IR_OBJECT_SCALAR) {
    ir_tensor *tensor = ir_tensor_new(interp->meter, object->scalar.dtype, 0, NULL);
    if (!tensor) return object;
    ir_tensor_set_bits(tensor, 0, object->scalar.bits);
    result = ir_object_tensor(tensor);
  } else if (type->kind == IR_TYPE_SCALAR && object->kind == IR_OBJECT_TENSOR && ir_object_as_scalar(object, &dtype, &bits)) {
    result = ir_object_scalar(dtype, bits);
  }
  if (result != object) ir_object_release(object);
  return result;
}

static void name_param(ir_text *text, const ir_func *func, size_t i) {
  const ir_param *param = &func->params[i];
  const ir_string *name = param->name;
  if (param->symbol) ir_text_printf(text, "symbol '%s'", param->symbol->symbol->text);
  else if (name) ir_text_printf(text, "parameter '%%%s'", name->text);
  else ir_text_printf(text, "parameter number %zu", i + 1);
  ir_text_printf(text, " of '@%s'", func->item.name->text);
}

static void describe_symbols(ir_text *text, const ir_symbols *symbols) {
  for (size_t i = 0; i < symbols->count; i++) {
    ir_text_printf(text, "%s%s = %" PRId64, i ? ", " : " with ", symbols->at[i].name->text, symbols->at[i].value);
  }
}

static bool check_where(ir_interp *interp, const ir_symbols *symbols, const ir_func *func) {
  for (size_t i = 0; i < func->where_count; i++) {
    int64_t holds;
    if (ir_symbols_evaluate(symbols, func->where[i], &holds) && holds) continue;
    if (interp->options.quiet) return false;
    ir_text text = {0};
    ir_print_expr(&text, func->where[i], NULL, 0);
    ir_text_put(&text, "' does not hold");
    describe_symbols(&text, symbols);
    ir_interp_fail(interp, func->item.range, "'@%s': the bound '%s", func->item.name->text, text.at);
    ir_text_free(&text);
    return false;
  }
  return true;
}

void ir_symbols_bind_all(ir_symbols *symbols, const ir_func *func, ir_object *const *arguments) {
  for (size_t i = 0; i < func->param_count; i++) {
    const ir_param *param = &func->params[i];
    int64_t value;
    if (param->symbol && arguments[i] && ir_object_as_i64(arguments[i], &value)) ir_symbols_set(symbols, param->symbol->symbol, value);
  }
  for (size_t i = 0; i < func->param_count; i++) {
    if (!func->params[i].symbol && arguments[i]) ir_symbols_bind(symbols, func->params[i].type, arguments[i]);
  }
}

bool ir_symbols_enter(ir_interp *interp, ir_symbols *symbols, const ir_func *func, size_t count, ir_object *const *arguments) {
  if (count != func->param_count) {
    return ir_interp_fail(interp, func->item.range, "'@%s' takes %zu arguments, found %zu", func->item.name->text, func->param_count, count);
  }
  ir_symbols_bind_all(symbols, func, arguments);
  for (size_t i = 0; i < count; i++) {
    const ir_param *param = &func->params[i];
    ir_text why = {0}, what = {0}, name = {0};
    if (ir_symbols_check(symbols, param->type, arguments[i], &why)) continue;
    if (!interp->options.quiet) {
      ir_arena scratch = {0};
      name_param(&name, func, i);
      ir_object_describe(&what, arguments[i]);
      ir_interp_fail(interp, func->item.range, "%s: expected %s, found %s: %s", name.at, ir_type_text(&scratch, param->type), what.at, why.at);
      ir_arena_free(&scratch);
    }
    ir_text_free(&why);
    ir_text_free(&what);
    ir_text_free(&name);
    return false;
  }
  return check_where(interp, symbols, func);
}
