// SPDX-License-Identifier: Apache-2.0
#ifndef RILL_TEST_UNIT_INTERP_RUN_H
#define RILL_TEST_UNIT_INTERP_RUN_H

/* Running modules given as text on arrays given as numbers. */
#include "../../base/vec.h"
#include "../../parser/parser.h"
#include "../../runtime/interp.h"
#include "check.h"

#include <math.h>

typedef struct run {
  ir_diags *diags;
  ir_context *context;
  ir_module *module;
  ir_interp *interp;
  char said[512]; /* the first error of the last call; "" for none */
} run;

static inline void run_keep(void *user, ir_diags *diags, const ir_diag *diag) {
  (void)diags;
  run *r = user;
  if (diag->severity == IR_ERROR && !*r->said) snprintf(r->said, sizeof r->said, "%s", diag->text);
}

static inline run run_open(const char *text, const ir_interp_options *options) {
  run r = {.diags = ir_diags_new()};
  r.context = ir_context_new(r.diags);
  const ir_source *source = ir_source_add(r.diags, "test", text, strlen(text), 1);
  r.module = ir_parse(r.context, source, NULL);
  ir_diags_flush(r.diags);
  CHECK(r.module != NULL);
  if (r.module) r.interp = ir_interp_new(r.module, options);
  return r;
}

static inline void run_close(run *r) {
  ir_interp_free(r->interp);
  if (r->module) ir_module_free(r->module);
  ir_context_free(r->context);
  ir_diags_free(r->diags);
}

static inline ir_func *run_func(run *r, const char *name) {
  return ir_item_func(ir_module_find(r->module, ir_intern(r->context, ir_slice_of(name))));
}

/* RANK extents follow. */
static inline ir_object *array(ir_dtype dtype, size_t rank, ...) {
  int64_t dims[8];
  va_list args;
  va_start(args, rank);
  for (size_t i = 0; i < rank; i++) dims[i] = va_arg(args, int);
  va_end(args);
  return ir_object_tensor(ir_tensor_new(NULL, dtype, rank, dims));
}

static inline void set(ir_object *object, int64_t i, double value) {
  ir_dtype dtype = (ir_dtype)object->tensor->dtype;
  uint64_t bits = ir_is_float(dtype) ? ir_float_to_bits(dtype, value) : ir_int_to_bits(dtype, (int64_t)value);
  ir_tensor_set_bits(object->tensor, i, bits);
}

static inline double get(const ir_object *object, int64_t i) {
  ir_dtype dtype = (ir_dtype)object->tensor->dtype;
  uint64_t bits = ir_tensor_bits(object->tensor, i);
  return ir_is_float(dtype) ? ir_float_from_bits(dtype, bits) : (double)ir_int_from_bits(dtype, bits);
}

static inline ir_object *filled(ir_object *object, const double *values) {
  for (int64_t i = 0; i < object->tensor->count; i++) set(object, i, values[i]);
  return object;
}
#define VALUES(...) (const double[]){__VA_ARGS__}

/* The elements are VALUES, NaN and the sign of zero included. */
static inline bool holds(const ir_object *object, const double *values) {
  for (int64_t i = 0; i < object->tensor->count; i++) {
    double found = get(object, i), want = values[i];
    if ((found == want && signbit(found) == signbit(want)) || (isnan(found) && isnan(want))) continue;
    printf("  element %lld: found %.9g, expected %.9g\n", (long long)i, found, want);
    return false;
  }
  return true;
}

/* Runs a prim_func. */
static inline bool run_prim(run *r, const char *name, size_t count, ir_object *const *arguments) {
  *r->said = 0;
  ir_func *func = run_func(r, name);
  if (!CHECK(func != NULL)) return false;
  bool ok = ir_interp_prim(r->interp, func, count, arguments);
  ir_diags_set_handler(r->diags, run_keep, r);
  ir_diags_flush(r->diags);
  ir_diags_forget_errors(r->diags);
  return ok;
}
#define PRIM(r, name, ...) \
  run_prim(r, name, sizeof((ir_object *const[]){__VA_ARGS__}) / sizeof(ir_object *), (ir_object *const[]){__VA_ARGS__})

/* Runs a func of one result; NULL after an error. */
static inline ir_object *run_graph(run *r, const char *name, size_t count, ir_object *const *inputs) {
  *r->said = 0;
  ir_object *results[8] = {0};
  ir_func *func = run_func(r, name);
  if (!CHECK(func != NULL) || func->result_count > 8) return NULL;
  bool ok = ir_interp_run(r->interp, func, count, inputs, results);
  ir_diags_set_handler(r->diags, run_keep, r);
  ir_diags_flush(r->diags);
  ir_diags_forget_errors(r->diags);
  if (!ok) return NULL;
  ir_object *first = func->result_count == 1 ? results[0] : ir_object_tuple(func->result_count, results);
  for (size_t i = 0; func->result_count != 1 && i < func->result_count; i++) ir_object_release(results[i]);
  return first;
}
#define GRAPH(r, name, ...) \
  run_graph(r, name, sizeof((ir_object *const[]){__VA_ARGS__}) / sizeof(ir_object *), (ir_object *const[]){__VA_ARGS__})

static inline void drop_all(size_t count, ir_object *const *objects) {
  for (size_t i = 0; i < count; i++) ir_object_release(objects[i]);
}
#define DROP(...) drop_all(sizeof((ir_object *const[]){__VA_ARGS__}) / sizeof(ir_object *), (ir_object *const[]){__VA_ARGS__})

#endif
