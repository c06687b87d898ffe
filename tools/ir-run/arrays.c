// SPDX-License-Identifier: Apache-2.0
/* tools/ir-run/arrays.c - .npy files as inputs, outputs and expectations. */
#include "frontends/onnx/onnx.h"
#include "ir/number.h"
#include "ir/print.h"
#include "runtime/npy.h"
#include "tools/ir-run/run.h"

#include <math.h>
#include <unistd.h>

static ir_tensor *read_array(ir_tool *tool, const char *path) {
  size_t length = strlen(path);
  if (length > 3 && !strcmp(path + length - 3, ".pb")) {
    ir_dtype dtype;
    size_t rank;
    int64_t dims[IR_ONNX_TENSOR_RANK];
    const void *bytes;
    if (!ir_onnx_read_tensor(tool->context, &tool->arena, path, &dtype, &rank, dims, &bytes)) return NULL;
    return ir_tensor_wrap(dtype, rank, dims, bytes, NULL, NULL);
  }
  ir_npy array;
  if (!ir_npy_read(tool->diags, &tool->arena, path, &array)) return NULL;
  return ir_tensor_wrap(array.dtype, (size_t)array.rank, array.dims, array.bytes, NULL, NULL);
}

/* "'x'", or the number of a parameter without a name. */
static const char *param_name(ir_tool *tool, const ir_func *entry, size_t i) {
  const ir_param *param = &entry->params[i];
  return param->name ? ir_arena_printf(&tool->arena, "'%s'", param->name->text) : ir_arena_printf(&tool->arena, "%zu", i);
}

static void report_missing(ir_tool *tool, const ir_func *entry, size_t i) {
  const ir_param *param = &entry->params[i];
  const char *by_name = param->name ? ir_arena_printf(&tool->arena, " or --input=%s=FILE.npy", param->name->text) : "";
  ir_error_in(tool->diags, "ir-run", "no value for input %s : %s of @%s: give --input=FILE.npy%s", param_name(tool, entry, i),
              ir_type_text(&tool->arena, param->type), entry->item.name->text, by_name);
}

/* `NAME=FILE` where NAME is no parameter, and no file has all of this as its name. */
static bool check_name(ir_tool *tool, const ir_func *entry, const char *text) {
  const char *equals = strchr(text, '=');
  if (!equals || !access(text, F_OK)) return true;
  const ir_slice name = {text, (size_t)(equals - text)};
  ir_nearest nearest = {.wanted = name};
  for (size_t i = 0; i < entry->param_count; i++) {
    if (entry->params[i].name) ir_nearest_offer(&nearest, ir_string_slice(entry->params[i].name));
  }
  const char *hint = "";
  if (nearest.best.at) hint = ir_arena_printf(&tool->arena, ": did you mean '%.*s'?", (int)nearest.best.length, nearest.best.at);
  ir_error_in(tool->diags, "ir-run", "--input=%s: @%s has no parameter '%.*s'%s", text, entry->item.name->text, (int)name.length, name.at, hint);
  return false;
}

/* The parameter that `NAME=` at the start of TEXT names; -1 where it names none. */
static int named_param(const ir_func *entry, const char *text, const char **path) {
  const char *equals = strchr(text, '=');
  if (!equals) return -1;
  for (size_t i = 0; i < entry->param_count; i++) {
    const ir_string *name = entry->params[i].name;
    if (!name || name->length != (size_t)(equals - text) || memcmp(name->text, text, name->length)) continue;
    *path = equals + 1;
    return (int)i;
  }
  return -1;
}

ir_tensor **ir_run_inputs(ir_tool *tool, const ir_func *entry, const ir_opt_strings *files, size_t *count) {
  ir_tensor **inputs = ir_new_array(&tool->arena, ir_tensor *, entry->param_count + 1);
  size_t next = 0;
  for (int pass = 0; pass < 2; pass++) {
    for (size_t f = 0; f < files->count; f++) {
      const char *path = files->at[f];
      int at = named_param(entry, files->at[f], &path);
      if ((at >= 0) != (pass == 0)) continue;
      if (at < 0 && !check_name(tool, entry, path)) return NULL;
      while (at < 0 && next < entry->param_count && inputs[next]) next++;
      size_t slot = at >= 0 ? (size_t)at : next;
      if (slot >= entry->param_count) {
        ir_error_in(tool->diags, path, "one input too many: @%s takes %zu", entry->item.name->text, entry->param_count);
        return NULL;
      }
      if (inputs[slot]) {
        ir_error_in(tool->diags, path, "input %s is given twice", param_name(tool, entry, slot));
        return NULL;
      }
      inputs[slot] = read_array(tool, path);
      if (!inputs[slot]) return NULL;
    }
  }
  for (size_t i = 0; i < entry->param_count; i++) {
    if (inputs[i]) continue;
    report_missing(tool, entry, i);
    return NULL;
  }
  *count = entry->param_count;
  return inputs;
}

static bool check_count(ir_tool *tool, const ir_opt_strings *files, const char *what, const ir_func *entry) {
  if (files->count <= entry->result_count) return true;
  ir_error_in(tool->diags, files->at[entry->result_count], "one %s too many: @%s has %zu result%s", what, entry->item.name->text,
              entry->result_count, entry->result_count == 1 ? "" : "s");
  return false;
}

bool ir_run_check_files(ir_tool *tool, const ir_func *entry, const ir_opt_strings *outputs, const ir_opt_strings *expect) {
  return check_count(tool, outputs, "output", entry) && check_count(tool, expect, "expectation", entry);
}

static bool put_array(ir_tool *tool, ir_output *output, const char *path, const ir_tensor *tensor) {
  ir_npy array = {.dtype = (ir_dtype)tensor->dtype, .rank = (int)tensor->rank, .bytes = tensor->data, .size = tensor->size};
  if (tensor->rank > IR_NPY_MAX_RANK) {
    ir_error_in(tool->diags, path, "rank %u: .npy files hold at most %d axes", tensor->rank, IR_NPY_MAX_RANK);
    return false;
  }
  if (tensor->rank) memcpy(array.dims, tensor->dims, tensor->rank * sizeof *array.dims);
  return ir_npy_put(tool->diags, output, path, &array);
}

bool ir_run_write(ir_tool *tool, size_t count, const char *const *paths, ir_tensor *const *tensors) {
  ir_output *first = NULL;
  for (size_t i = 0; i < count; i++) {
    ir_output *output = ir_output_open(tool->diags, paths[i]);
    if (output && first) ir_output_attach(first, output);
    if (!first) first = output;
    if (output && put_array(tool, output, paths[i], tensors[i])) continue;
    if (first) ir_output_discard(first);
    return false;
  }
  return !first || ir_output_commit(first);
}

static double as_double(const ir_tensor *tensor, int64_t i) {
  ir_dtype dtype = (ir_dtype)tensor->dtype;
  uint64_t bits = ir_tensor_bits(tensor, i);
  if (ir_is_float(dtype)) return ir_float_from_bits(dtype, bits);
  return dtype == IR_U64 ? (double)bits : (double)ir_int_from_bits(dtype, bits);
}

static void put_index(ir_text *text, const ir_tensor *tensor, int64_t flat) {
  int64_t left = tensor->count;
  ir_text_char(text, '[');
  for (uint32_t d = 0; d < tensor->rank; d++) {
    left /= tensor->dims[d];
    ir_text_printf(text, "%s%lld", d ? ", " : "", (long long)(flat / left));
    flat %= left;
  }
  ir_text_char(text, ']');
}

/* Without the sign of NaN, which means nothing. */
static void put_element(ir_text *text, const ir_tensor *tensor, int64_t i) {
  isnan(as_double(tensor, i)) ? ir_text_put(text, "nan") : ir_print_number(text, (ir_dtype)tensor->dtype, ir_tensor_bits(tensor, i));
}

bool ir_run_compare(ir_text *text, const ir_tensor *got, const ir_tensor *want, ir_tolerance tolerance) {
  double worst = -1, worst_weight = 0;
  int64_t where = 0, wrong = 0;
  for (int64_t i = 0; i < got->count; i++) {
    double a = as_double(got, i), b = as_double(want, i);
    bool exact = !ir_is_float((ir_dtype)got->dtype), bits = exact || tolerance.bits;
    bool same = (bits ? ir_tensor_bits(got, i) == ir_tensor_bits(want, i) : a == b) || (!exact && isnan(a) && isnan(b));
    double error = same ? 0 : fabs(a - b), allowed = bits ? 0 : tolerance.absolute + tolerance.relative * fabs(b);
    if (!same && (exact || isnan(error))) error = exact && error == 0 ? 1 : isnan(error) ? INFINITY : error;
    bool fits = same || (!bits && error <= allowed && !isinf(b));
    wrong += !fits;
    /* What exceeds its tolerance most is worst; among what fits, the largest error. */
    double weight = isinf(error) ? 2 : fits ? error / (error + 1) : 1 + error / (allowed + error);
    if (worst < 0 || weight > worst_weight) worst = error, worst_weight = weight, where = i;
  }
  if (worst < 0) worst = 0;
  ir_text_printf(text, "%s, largest error %.3g", wrong ? "differs" : "fits", worst);
  if (got->count) {
    ir_text_put(text, " at ");
    put_index(text, got, where);
    ir_text_put(text, ": got ");
    put_element(text, got, where);
    ir_text_put(text, ", expected ");
    put_element(text, want, where);
  }
  if (wrong) ir_text_printf(text, "; %lld of %lld elements differ", (long long)wrong, (long long)got->count);
  return !wrong;
}

static bool fits(const char *path, const ir_tensor *got, const ir_tensor *want, ir_tolerance tolerance) {
  ir_text text = {0};
  bool fine = ir_run_compare(&text, got, want, tolerance);
  printf("%s: %s\n", path, text.at);
  ir_text_free(&text);
  return fine;
}

bool ir_run_expect(ir_tool *tool, const ir_opt_strings *files, ir_tensor *const *results, ir_tolerance tolerance) {
  bool fine = true;
  for (size_t i = 0; i < files->count; i++) {
    ir_tensor *want = read_array(tool, files->at[i]);
    if (!want) return false;
    const ir_tensor *got = results[i];
    bool same = got->dtype == want->dtype && got->rank == want->rank && (!got->rank || !memcmp(got->dims, want->dims, got->rank * sizeof *got->dims));
    if (!same) {
      ir_text text = {0};
      ir_text_put(&text, "expected ");
      ir_tensor_describe(&text, want);
      ir_text_put(&text, ", the result is ");
      ir_tensor_describe(&text, got);
      ir_error_in(tool->diags, files->at[i], "%s", text.at);
      ir_text_free(&text);
      fine = false;
    } else if (!fits(files->at[i], got, want, tolerance)) {
      ir_error_in(tool->diags, files->at[i], "the result differs by more than rtol %g, atol %g", tolerance.relative, tolerance.absolute);
      fine = false;
    }
    ir_tensor_release(want);
  }
  return fine;
}

void ir_run_print(const char *name, const ir_tensor *tensor) {
  enum { SHOWN = 16 };
  ir_text text = {0};
  ir_text_printf(&text, "%s: ", name);
  ir_tensor_describe(&text, tensor);
  ir_text_put(&text, " = [");
  for (int64_t i = 0; i < tensor->count && i < SHOWN; i++) {
    if (i) ir_text_put(&text, ", ");
    ir_print_number(&text, (ir_dtype)tensor->dtype, ir_tensor_bits(tensor, i));
  }
  if (tensor->count > SHOWN) ir_text_printf(&text, ", ... %lld more", (long long)(tensor->count - SHOWN));
  printf("%s]\n", text.at);
  ir_text_free(&text);
}
