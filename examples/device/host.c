/* SPDX-License-Identifier: Apache-2.0
 * Runs a model on a device from what ir-translate writes (docs/spec/manifest.md), without Rill:
 *
 *     ir-translate --to-opencl --opt cls.rill -o cls.cl --manifest=cls.json
 *     cc -o host host.c opencl.c -ljansson -lOpenCL && ./host cls.json cls.cl cls.constants.bin 2 192 < x.bin > y.bin
 *
 * It takes the symbols of @main and one input, and writes the first result. What such models don't have is refused; memory
 * of tensors that nobody needs any more is not used again. */
#include "device.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

static json_t *kernels, *constants; /* of the manifest */
static json_t *values; /* by their names: symbols, which are integers; tensors and storage: [at, bytes, element] */
static slice blob; /* of constants */
static long long used; /* bytes of the device's memory */

/* json_unpack, for manifests that may be anything. */
static json_error_t error;
#define unpack(json, ...) (json_unpack_ex(json, &error, 0, __VA_ARGS__) ? errx(1, "manifest: %s", error.text) : (void)0)

static json_t *find(json_t *name) {
  json_t *value = json_object_get(values, json_string_value(name));
  if (!value) errx(1, "manifest: nothing is called %s", json_is_string(name) ? json_string_value(name) : "so");
  return value;
}

static slice place_of(json_t *name) {
  slice s;
  unpack(find(name), "[III]", &s.at, &s.bytes, &s.element);
  return s;
}

static long long evaluate(json_t *e) {
  if (json_is_string(e)) e = find(e);
  if (json_is_integer(e)) return json_integer_value(e);
  const char *op;
  json_t *x, *y;
  unpack(e, "[soo!]", &op, &x, &y);
  long long a = evaluate(x), b = evaluate(y);
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
  errx(1, "manifest: %s is not known here, or not of %lld and %lld", op, a, b);
}

static slice take(long long bytes) {
  if (bytes < 0 || bytes > ROOM - ALIGN - used) errx(1, "more than %d bytes are needed", ROOM);
  const slice taken = {used, bytes, 1};
  used += (bytes / ALIGN + 1) * ALIGN;
  return taken;
}

/* A parameter or the result of a step, a tensor, at OFFSET of IN; NULL: in memory of its own. */
static slice define(json_t *tensor, const slice *in, long long offset) {
  const char *name, *dtype;
  json_t *shape, *dim;
  unpack(tensor, "{s:s, s:{s:s, s:o}}", "name", &name, "type", "dtype", &dtype, "shape", &shape);
  const int element = strcmp(dtype, "bool") ? atoi(dtype + strcspn(dtype, "0123456789")) / 8 : 1;
  long long bytes = element;
  size_t i;
  json_array_foreach(shape, i, dim) {
    const long long extent = evaluate(dim);
    if (extent < 0 || extent > ROOM || (bytes *= extent) > ROOM) errx(1, "%s needs more than %d bytes", name, ROOM);
  }
  if (element < 1 || offset < 0 || offset % element || (in && offset + bytes > in->bytes)) errx(1, "%s has no place", name);
  const slice is = {in ? in->at + offset : take(bytes).at, bytes, element};
  json_object_set_new(values, name, json_pack("[III]", is.at, is.bytes, is.element));
  return is;
}

static void start(json_t *step) {
  launch l = {0};
  const char *kernel;
  json_t *groups[3], *buffers, *scalars, *asserts = NULL, *each;
  size_t i;
  unpack(step, "{s:s, s:o, s:o, s:[ooo]}", "callee", &kernel, "buffers", &buffers, "scalars", &scalars, "groups", &groups[0],
         &groups[1], &groups[2]);
  unpack(json_object_get(kernels, kernel), "{s:{s:s, s:[III], s?o}}", "grid", "entry", &l.entry, "local", &l.local[0],
         &l.local[1], &l.local[2], "asserts", &asserts);
  if (asserts) errx(1, "%s checks assertions, which this program does not", l.entry);
  if (json_array_size(buffers) > MOST || json_array_size(scalars) > MOST) errx(1, "%s takes too many", l.entry);
  json_array_foreach(buffers, i, each) l.buffers[l.buffer_count++] = place_of(each);
  json_array_foreach(scalars, i, each) l.scalars[l.scalar_count++] = evaluate(each);
  for (i = 0; i < 3; i++) if ((l.groups[i] = evaluate(groups[i])) < 0 || l.local[i] < 1) errx(1, "%s has no grid", l.entry);
  if (l.groups[0] && l.groups[1] && l.groups[2]) device_launch(&l);
}

static void run(json_t *step) {
  const char *kind, *name;
  json_t *result = NULL, *in = NULL, *offset = NULL, *each;
  unpack(step, "{s:s, s?[o], s?o, s?o, s?o}", "step", &kind, "results", &result, "storage", &in, "x", &in, "offset", &offset);
  if (!strcmp(kind, "launch")) {
    start(step);
  } else if (!strcmp(kind, "constant")) {
    long long at;
    unpack(step, "{s:s}", "constant", &name);
    unpack(json_object_get(constants, name), "{s:I}", "offset", &at);
    define(result, &blob, at);
  } else if (!strcmp(kind, "storage")) {
    size_t i;
    json_array_foreach(json_object_get(step, "bytes"), i, each) {
      unpack(json_array_get(json_object_get(step, "results"), i), "{s:s}", "name", &name);
      const slice is = take(evaluate(each));
      json_object_set_new(values, name, json_pack("[III]", is.at, is.bytes, is.element));
    }
  } else if (!strcmp(kind, "tensor") || !strcmp(kind, "view")) {
    const slice place = place_of(in);
    define(result, &place, offset ? evaluate(offset) : 0);
  } else if (!strcmp(kind, "result") || !strcmp(kind, "alloc")) {
    define(result, NULL, 0);
  } else if (strcmp(kind, "free")) {
    errx(1, "manifest: step %s is not known here", kind);
  }
}

/* So many bytes, which have to be all that there are. */
static char *load(const char *path, long long bytes) {
  FILE *file = fopen(path, "rb");
  char *data = bytes >= 0 && bytes <= ROOM ? calloc((size_t)bytes + 1, 1) : NULL;
  if (!file || !data || fread(data, 1, (size_t)bytes + 1, file) != (size_t)bytes) errx(1, "%s has not %lld bytes", path, bytes);
  fclose(file);
  return data;
}

int main(int argc, char **argv) {
  if (argc < 4) errx(1, "usage: %s manifest.json kernels constants symbols... < input > output", argv[0]);
  json_t *root = json_load_file(argv[1], 0, &error), *input, *symbols, *where, *steps, *each, *last = NULL;
  if (!root) errx(1, "%s:%d: %s", argv[1], error.line, error.text);
  long long code_bytes, blob_bytes = 0;
  unpack(root, "{s:{s:I}, s?{s:I}, s:o, s:o}", "artifact", "bytes", &code_bytes, "constants_file", "bytes", &blob_bytes,
         "constants", &constants, "kernels", &kernels);
  unpack(root, "{s:{s:{s:o, s:o, s:[o!], s:o}}}", "functions", "main", "symbols", &symbols, "where", &where,
         "parameters", &input, "steps", &steps);
  device_open(load(argv[2], code_bytes), (size_t)code_bytes);
  blob = take(blob_bytes);
  device_write(blob, load(argv[3], blob_bytes));
  values = json_object();
  if (json_array_size(symbols) != (size_t)argc - 4) errx(1, "there are %zu symbols", json_array_size(symbols));
  size_t i;
  json_array_foreach(symbols, i, each) json_object_set_new(values, json_string_value(each), json_integer(atoll(argv[4 + i])));
  const slice x = define(input, NULL, 0);
  json_array_foreach(where, i, each) if (!evaluate(each)) errx(1, "the symbols are out of bounds");
  device_write(x, load("/dev/stdin", x.bytes));
  json_array_foreach(steps, i, each) {
    if (json_unpack(each, "{s:[o]}", "values", &last)) run(each);
  }
  const slice y = place_of(last);
  char *bytes = calloc((size_t)y.bytes + 1, 1);
  device_read(bytes, y);
  return fwrite(bytes, 1, (size_t)y.bytes, stdout) != (size_t)y.bytes;
}
