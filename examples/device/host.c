/* SPDX-License-Identifier: Apache-2.0
 * Runs a model on a device from what ir-translate writes, the kernels and the manifest (docs/spec/manifest.md), with nothing of Rill:
 *
 *     ir-translate --to-opencl --opt cls.rill -o cls.cl --manifest=cls.json
 *     cc -o host host.c opencl.c -ljansson -lOpenCL && ./host cls.json cls.cl 2,3,48,192 < x.bin > y.bin
 *
 * It takes one f32 input of the given extents and writes the first result; steps that such models don't have are refused. */
#include "device.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANK = 8, MOST = 4096 };

typedef struct value {
  const char *name;
  slice at;
  int64_t dims[RANK];
  size_t rank;
} value;

static value values[MOST];
static struct { const char *name; int64_t is; } symbols[MOST];
static size_t value_count, symbol_count;
static json_t *root;
static memory *blob; /* the constants */
static size_t blob_bytes;

void fail(const char *format, ...) {
  va_list args;
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
  exit(1);
}

static const char *text(const json_t *object, const char *key) { return json_string_value(json_object_get(object, key)); }

/* --- expressions over symbols --- */

static int64_t evaluate(const json_t *e);

static int64_t operate(const char *op, int64_t a, int64_t b) {
  if (!strcmp(op, "+")) return a + b;
  if (!strcmp(op, "-")) return a - b;
  if (!strcmp(op, "*")) return a * b;
  if (!strcmp(op, "min")) return a < b ? a : b;
  if (!strcmp(op, "max")) return a > b ? a : b;
  if (!strcmp(op, "<=")) return a <= b;
  if (!strcmp(op, ">=")) return a >= b;
  if (!strcmp(op, "==")) return a == b;
  if (!strcmp(op, "<")) return a < b;
  if (!b) return 0;
  int64_t quotient = a / b - (a % b != 0 && (a < 0) != (b < 0));
  if (!strcmp(op, "floordiv")) return quotient;
  if (!strcmp(op, "floormod")) return a - quotient * b;
  if (!strcmp(op, "ceildiv")) return quotient + (a != quotient * b);
  fail("operator %s is not known here", op);
}

static int64_t evaluate(const json_t *e) {
  if (json_is_integer(e)) return json_integer_value(e);
  if (json_is_string(e)) {
    for (size_t i = symbol_count; i > 0; i--) { /* a kernel's own before those of the function */
      if (!strcmp(symbols[i - 1].name, json_string_value(e))) return symbols[i - 1].is;
    }
    fail("symbol %s has no value", json_string_value(e));
  }
  if (json_array_size(e) != 3) fail("an expression of %zu parts", json_array_size(e));
  return operate(json_string_value(json_array_get(e, 0)), evaluate(json_array_get(e, 1)), evaluate(json_array_get(e, 2)));
}

/* --- values --- */

static value *find(const char *name) {
  for (size_t i = value_count; i > 0; i--) {
    if (!strcmp(values[i - 1].name, name)) return &values[i - 1];
  }
  fail("there is no value %s", name);
}

static size_t element_bytes(const char *dtype) {
  if (!strcmp(dtype, "bool")) return 1;
  return (size_t)atoi(dtype + strcspn(dtype, "0123456789")) / 8;
}

/* A value of TYPE; symbols of extents have their values. */
static value *define(const char *name, const json_t *type) {
  if (value_count == MOST) fail("too many values");
  value *v = &values[value_count++];
  *v = (value){.name = name};
  if (!json_is_object(type) || !json_object_get(type, "dtype")) return v; /* storage */
  const json_t *shape = json_object_get(type, "shape");
  v->rank = json_array_size(shape);
  v->at.element = v->at.bytes = element_bytes(text(type, "dtype"));
  for (size_t i = 0; i < v->rank; i++) v->at.bytes *= (size_t)(v->dims[i] = evaluate(json_array_get(shape, i)));
  return v;
}

/* What extents of a parameter say of the symbols that stand alone in them. */
static void bind(const json_t *type, const int64_t *dims) {
  size_t i;
  const json_t *dim;
  json_array_foreach(json_object_get(type, "shape"), i, dim) {
    if (!json_is_string(dim) || symbol_count == MOST) continue;
    symbols[symbol_count].name = json_string_value(dim);
    symbols[symbol_count++].is = dims[i];
  }
}

/* --- steps --- */

static void storage(const json_t *step, const json_t *results) {
  const json_t *bytes = json_object_get(step, "bytes"), *live = json_object_get(step, "live");
  size_t count = json_array_size(bytes), end = 0, at[MOST], size[MOST];
  for (size_t i = 0; i < count; i++) {
    at[i] = 0;
    size[i] = (size_t)evaluate(json_array_get(bytes, i));
    for (size_t again = 1; again;) { /* up, until it meets nothing that is needed at the same time */
      again = 0;
      for (size_t k = 0; k < i; k++) {
        const json_t *a = json_array_get(live, i), *b = json_array_get(live, k);
        int apart = live && (json_integer_value(json_array_get(a, 0)) > json_integer_value(json_array_get(b, 1)) ||
                             json_integer_value(json_array_get(b, 0)) > json_integer_value(json_array_get(a, 1)));
        if (apart || at[i] >= at[k] + size[k] || at[k] >= at[i] + size[i]) continue;
        at[i] = (at[k] + size[k] + 63) / 64 * 64;
        again = 1;
      }
    }
    if (at[i] + size[i] > end) end = at[i] + size[i];
  }
  memory *block = device_take(end);
  for (size_t i = 0; i < count; i++) define(text(json_array_get(results, i), "name"), NULL)->at = (slice){block, at[i], size[i], 1};
}

static void start(const json_t *step) {
  const json_t *kernel = NULL, *item, *parameter;
  size_t i;
  json_array_foreach(json_object_get(root, "kernels"), i, item) {
    if (!strcmp(text(item, "name"), text(step, "callee"))) kernel = item;
  }
  const json_t *grid = json_object_get(kernel, "grid"), *arguments = json_object_get(step, "arguments");
  launch l = {.entry = text(grid, "entry")};
  size_t outer = symbol_count;
  int64_t explicit[16];
  json_array_foreach(json_object_get(kernel, "parameters"), i, parameter) {
    if (i < 16 && json_object_get(parameter, "symbol")) explicit[i] = evaluate(json_array_get(arguments, i));
  }
  json_array_foreach(json_object_get(kernel, "parameters"), i, parameter) {
    if (json_object_get(parameter, "symbol")) {
      symbols[symbol_count].name = text(parameter, "symbol");
      symbols[symbol_count++].is = explicit[i];
    } else {
      const value *v = find(json_string_value(json_array_get(arguments, i)));
      l.buffers[l.buffer_count++] = v->at;
      bind(json_object_get(parameter, "type"), v->dims);
    }
  }
  json_array_foreach(json_object_get(grid, "scalars"), i, item) l.scalars[l.scalar_count++] = evaluate(json_object_get(item, "symbol"));
  int some = 1;
  for (i = 0; i < 3; i++) {
    l.groups[i] = evaluate(json_array_get(json_object_get(grid, "groups"), i));
    l.local[i] = json_integer_value(json_array_get(json_object_get(grid, "local"), i));
    some &= l.groups[i] > 0;
  }
  if (some) device_launch(&l);
  symbol_count = outer;
}

static void run(const json_t *step) {
  const char *kind = text(step, "step");
  const json_t *results = json_object_get(step, "results"), *first = json_array_get(results, 0);
  if (!strcmp(kind, "storage")) return storage(step, results);
  if (!strcmp(kind, "launch")) return start(step);
  if (!strcmp(kind, "free")) return;
  if (!strcmp(kind, "copy")) return device_copy(find(text(step, "to"))->at, find(text(step, "from"))->at);
  value *v = define(text(first, "name"), json_object_get(first, "type"));
  if (!strcmp(kind, "constant")) {
    size_t i;
    const json_t *constant;
    json_array_foreach(json_object_get(root, "constants"), i, constant) {
      if (!strcmp(text(constant, "name"), text(step, "constant"))) v->at.offset = (size_t)json_integer_value(json_object_get(constant, "offset"));
    }
    v->at.block = blob;
  } else if (!strcmp(kind, "tensor")) {
    const slice in = find(text(step, "storage"))->at;
    v->at.block = in.block;
    v->at.offset = in.offset + (size_t)evaluate(json_object_get(step, "offset"));
  } else if (!strcmp(kind, "view")) {
    const slice in = find(text(step, "x"))->at;
    v->at.block = in.block;
    v->at.offset = in.offset;
  } else if (!strcmp(kind, "result") || !strcmp(kind, "alloc")) {
    v->at.block = device_take(v->at.bytes);
  } else {
    fail("step %s is not known here", kind);
  }
}

/* --- files --- */

static char *load(const char *path, size_t *length) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END)) fail("cannot open %s", path);
  *length = (size_t)ftell(file);
  char *bytes = calloc(*length + 1, 1);
  rewind(file);
  if (fread(bytes, 1, *length, file) != *length) fail("cannot read %s", path);
  fclose(file);
  return bytes;
}

static void load_constants(const char *manifest) {
  const char *name = text(root, "constants_file"), *slash = strrchr(manifest, '/');
  if (!name) return;
  char path[4096];
  snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash + 1 - manifest) : 0, manifest, name);
  char *bytes = load(path, &blob_bytes);
  blob = device_take(blob_bytes);
  device_write((slice){blob, 0, blob_bytes, 1}, bytes);
}

int main(int argc, char **argv) {
  if (argc != 4) fail("usage: %s manifest.json kernels extents < input > output", argv[0]);
  json_error_t error;
  root = json_load_file(argv[1], 0, &error);
  if (!root) fail("%s: %s", argv[1], error.text);
  size_t length, i;
  char *code = load(argv[2], &length);
  device_open(code, length);
  load_constants(argv[1]);
  const json_t *function = NULL, *item;
  json_array_foreach(json_object_get(root, "functions"), i, item) {
    if (!strcmp(text(item, "name"), "main")) function = item;
  }
  const json_t *input = json_array_get(json_object_get(function, "parameters"), 0);
  int64_t dims[RANK] = {0};
  char *at = argv[3];
  for (i = 0; i < RANK && *at; i++, at += *at == ',') dims[i] = strtoll(at, &at, 10);
  bind(json_object_get(input, "type"), dims);
  value *x = define(text(input, "name"), json_object_get(input, "type"));
  char *bytes = calloc(x->at.bytes, 1);
  if (fread(bytes, 1, x->at.bytes, stdin) != x->at.bytes) fail("the input has fewer than %zu bytes", x->at.bytes);
  x->at.block = device_take(x->at.bytes);
  device_write(x->at, bytes);
  const json_t *steps = json_object_get(function, "steps"), *last = json_array_get(steps, json_array_size(steps) - 1);
  json_array_foreach(steps, i, item) {
    if (item != last) run(item);
  }
  const value *y = find(json_string_value(json_array_get(json_object_get(last, "values"), 0)));
  bytes = calloc(y->at.bytes, 1);
  device_read(bytes, y->at);
  return fwrite(bytes, 1, y->at.bytes, stdout) != y->at.bytes;
}
