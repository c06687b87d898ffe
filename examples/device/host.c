/* SPDX-License-Identifier: Apache-2.0
 * Runs a model on a device from what ir-translate writes, the kernels and the manifest (docs/spec/manifest.md), without Rill:
 *
 *     ir-translate --to-opencl --opt cls.rill -o cls.cl --manifest=cls.json
 *     cc -o host host.c opencl.c -ljansson -lOpenCL && ./host cls.json cls.cl 2,3,48,192 < x.bin > y.bin
 *
 * It takes one input of the given extents and writes the first result. What such models don't have is refused; memory of
 * tensors that nobody needs any more is not used again. */
#include "device.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANK = 8 };

/* A symbol, which is dims[0], or a tensor, or storage, which tensors lie in. */
typedef struct value {
  const char *name;
  json_int_t dims[RANK];
  slice at;
} value;

static value values[4096];
static size_t count, used; /* bytes of the device's memory */

void fail(const char *format, ...) {
  va_list args;
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
  exit(1);
}

/* json_unpack, for manifests that may be anything. */
#define unpack(json, ...) \
  do { \
    json_error_t error; \
    if (json_unpack_ex(json, &error, 0, __VA_ARGS__)) fail("manifest: %s", error.text); \
  } while (0)

static json_t *item(json_t *list, const char *name) {
  size_t i;
  json_t *each;
  json_array_foreach(list, i, each) {
    const char *its;
    unpack(each, "{s:s}", "name", &its);
    if (!strcmp(its, name)) return each;
  }
  fail("manifest: nothing is called %s", name);
}

static value *find(const json_t *name) {
  const char *text = json_is_string(name) ? json_string_value(name) : "(nothing)";
  for (size_t i = count; i > 0; i--) { /* a kernel's symbols before those of the function */
    if (!strcmp(values[i - 1].name, text)) return &values[i - 1];
  }
  fail("manifest: nothing is called %s", text);
}

static value *add(const char *name) {
  if (count == sizeof values / sizeof *values) fail("there are too many values");
  values[count] = (value){.name = name};
  return &values[count++];
}

static json_int_t evaluate(json_t *e) {
  if (json_is_integer(e)) return json_integer_value(e);
  if (json_is_string(e)) return find(e)->dims[0];
  const char *op;
  json_t *x, *y;
  unpack(e, "[soo!]", &op, &x, &y);
  json_int_t a = evaluate(x), b = evaluate(y);
  if (!strcmp(op, "+")) return a + b;
  if (!strcmp(op, "-")) return a - b;
  if (!strcmp(op, "*")) return a * b;
  if (!strcmp(op, "min")) return a < b ? a : b;
  if (!strcmp(op, "max")) return a > b ? a : b;
  if (!strcmp(op, "<=")) return a <= b;
  if (!strcmp(op, ">=")) return a >= b;
  if (!strcmp(op, "==")) return a == b;
  if (!strcmp(op, "floordiv") && a >= 0 && b > 0) return a / b;
  if (!strcmp(op, "ceildiv") && a >= 0 && b > 0) return a / b + (a % b > 0);
  fail("manifest: %s is not known here, or not of %lld and %lld", op, (long long)a, (long long)b);
}

/* --- tensors --- */

static slice take(json_int_t bytes) {
  if (bytes < 0 || bytes > (json_int_t)(ROOM - ALIGN - used)) fail("more than %d bytes are needed", ROOM);
  const slice taken = {used, (size_t)bytes, 1};
  used += ((size_t)bytes / ALIGN + 1) * ALIGN;
  return taken;
}

/* A parameter or the result of a step, a tensor; IN is where it lies, NULL: in memory of its own. */
static value *define(json_t *tensor, const slice *in, json_int_t offset) {
  const char *name, *dtype;
  json_t *shape, *dim;
  unpack(tensor, "{s:s, s:{s:s, s:o}}", "name", &name, "type", "dtype", &dtype, "shape", &shape);
  value *v = add(name);
  size_t i, element = strcmp(dtype, "bool") ? strtoul(dtype + strcspn(dtype, "0123456789"), NULL, 10) / 8 : 1;
  json_int_t bytes = (json_int_t)element;
  if (!element || json_array_size(shape) > RANK) fail("manifest: tensors like %s are not known here", name);
  json_array_foreach(shape, i, dim) {
    v->dims[i] = evaluate(dim);
    if (v->dims[i] < 0 || v->dims[i] > ROOM || (bytes *= v->dims[i]) > ROOM) fail("%s needs more than %d bytes", name, ROOM);
  }
  v->at = in ? (slice){in->at + (size_t)offset, (size_t)bytes, 1} : take(bytes);
  v->at.element = element;
  if (offset < 0 || offset % (json_int_t)element || (in && v->at.at + v->at.bytes > in->at + in->bytes)) fail("manifest: %s is not in its storage", name);
  return v;
}

/* Extents that are symbols alone are those of DIMS, the others have to be. */
static void bind(json_t *parameter, const json_int_t *dims) {
  json_t *shape, *dim;
  size_t i;
  unpack(parameter, "{s:{s:o}}", "type", "shape", &shape);
  json_array_foreach(shape, i, dim) {
    if (i == RANK) fail("manifest: there are tensors of more than %d axes", RANK);
    if (json_is_string(dim)) add(json_string_value(dim))->dims[0] = dims[i];
  }
  json_array_foreach(shape, i, dim) {
    if (evaluate(dim) != dims[i]) fail("extent %zu is %lld, expected %lld", i, (long long)dims[i], (long long)evaluate(dim));
  }
}

/* --- steps --- */

static void start(json_t *kernel, json_t *arguments) {
  launch l = {0};
  json_t *parameters, *groups, *local, *scalars, *each;
  size_t i, outer = count;
  unpack(kernel, "{s:o, s:{s:s, s:o, s:o, s:o}}", "parameters", &parameters, "grid", "entry", &l.entry, "groups", &groups, "local", &local, "scalars", &scalars);
  if (json_object_get(json_object_get(kernel, "grid"), "asserts")) fail("%s checks assertions, which this program does not", l.entry);
  if (json_array_size(parameters) > MOST || json_array_size(scalars) > MOST) fail("%s takes more than %d buffers or scalars", l.entry, MOST);
  json_array_foreach(parameters, i, each) {
    json_t *argument = json_array_get(arguments, i);
    const json_t *symbol = json_object_get(each, "symbol");
    if (symbol) {
      json_int_t is = evaluate(argument);
      add(json_is_string(symbol) ? json_string_value(symbol) : "")->dims[0] = is;
    } else {
      const value *v = find(argument);
      l.buffers[l.buffer_count++] = v->at;
      bind(each, v->dims);
    }
  }
  json_array_foreach(scalars, i, each) l.scalars[l.scalar_count++] = evaluate(json_object_get(each, "symbol"));
  for (i = 0; i < 3; i++) {
    l.groups[i] = evaluate(json_array_get(groups, i));
    l.local[i] = evaluate(json_array_get(local, i));
    if (l.groups[i] < 0 || l.local[i] < 1) fail("manifest: %s has no grid", l.entry);
  }
  if (l.groups[0] && l.groups[1] && l.groups[2]) device_launch(&l);
  count = outer;
}

static void run(json_t *root, json_t *step, const slice *constants) {
  const char *kind, *name;
  json_t *list, *result = json_array_get(json_object_get(step, "results"), 0), *in = NULL, *offset = NULL;
  unpack(step, "{s:s, s?o, s?o, s?o}", "step", &kind, "storage", &in, "x", &in, "offset", &offset);
  if (!strcmp(kind, "launch")) {
    unpack(step, "{s:s, s:o}", "callee", &name, "arguments", &list);
    start(item(json_object_get(root, "kernels"), name), list);
  } else if (!strcmp(kind, "constant")) {
    json_int_t place;
    unpack(step, "{s:s}", "constant", &name);
    unpack(item(json_object_get(root, "constants"), name), "{s:I}", "offset", &place);
    define(result, constants, place);
  } else if (!strcmp(kind, "storage")) {
    size_t i;
    json_t *each;
    unpack(step, "{s:o}", "results", &list);
    json_array_foreach(list, i, each) {
      unpack(each, "{s:s}", "name", &name);
      add(name)->at = take(evaluate(json_array_get(json_object_get(step, "bytes"), i)));
    }
  } else if (!strcmp(kind, "tensor") || !strcmp(kind, "view")) {
    const slice place = find(in)->at;
    define(result, &place, offset ? evaluate(offset) : 0);
  } else if (!strcmp(kind, "result") || !strcmp(kind, "alloc")) {
    define(result, NULL, 0);
  } else if (strcmp(kind, "free")) {
    fail("manifest: step %s is not known here", kind);
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

static slice load_constants(const json_t *root, const char *manifest) {
  const char *name = json_string_value(json_object_get(root, "constants_file")), *slash = strrchr(manifest, '/');
  if (!name) return (slice){0};
  char path[4096];
  snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash + 1 - manifest) : 0, manifest, name);
  size_t length;
  const char *bytes = load(path, &length);
  const slice constants = take((json_int_t)length);
  device_write(constants, bytes);
  return constants;
}

int main(int argc, char **argv) {
  if (argc != 4) fail("usage: %s manifest.json kernels extents < input > output", argv[0]);
  json_error_t error;
  json_t *root = json_load_file(argv[1], 0, &error), *parameters, *steps, *each;
  if (!root) fail("%s:%d: %s", argv[1], error.line, error.text);
  size_t length, i;
  const char *code = load(argv[2], &length);
  device_open(code, length);
  const slice constants = load_constants(root, argv[1]);
  json_t *function = item(json_object_get(root, "functions"), "main"), *input, *bounds = NULL;
  unpack(function, "{s:[o!], s:o, s?o}", "parameters", &input, "steps", &steps, "where", &bounds);
  json_int_t dims[RANK] = {0};
  char *at = argv[3];
  for (i = 0; i < RANK && *at; i++, at += *at == ',') dims[i] = strtoll(at, &at, 10);
  bind(input, dims);
  json_array_foreach(bounds, i, each) {
    if (!evaluate(each)) fail("the extents are out of bounds");
  }
  const value *x = define(input, NULL, 0), *y = NULL;
  char *bytes = calloc(x->at.bytes + 1, 1);
  if (fread(bytes, 1, x->at.bytes, stdin) != x->at.bytes) fail("the input has fewer than %zu bytes", x->at.bytes);
  device_write(x->at, bytes);
  json_array_foreach(steps, i, each) {
    if (json_unpack(each, "{s:[o]}", "values", &parameters)) run(root, each, &constants);
    else y = find(parameters);
  }
  if (!y) fail("manifest: nothing is returned");
  bytes = calloc(y->at.bytes + 1, 1);
  device_read(bytes, y->at);
  return fwrite(bytes, 1, y->at.bytes, stdout) != y->at.bytes;
}
