// SPDX-License-Identifier: Apache-2.0
/* runtime/npy.c - NumPy's .npy files (numpy/lib/format.py describes them). Needs base/ and ir/dtype; reads and writes
 * files. The header is a Python dictionary; of Python it takes exactly what NumPy writes: three keys, a string, a
 * truth value and a flat tuple of integers. */
#include "runtime/npy.h"

#include "base/checked.h"
#include "base/file.h"
#include "base/vec.h"

enum { MAGIC_SIZE = 6, MAX_HEADER = 65535, DATA_ALIGN = 64, GROWTH_DIGITS = 21 };
static const char magic[] = "\x93NUMPY";

static const struct element {
  ir_dtype dtype;
  const char *name; /* kind and bytes, as after the byte order in 'descr' */
} elements[] = {
    {IR_BOOL, "b1"}, {IR_I8, "i1"},  {IR_I16, "i2"}, {IR_I32, "i4"}, {IR_I64, "i8"}, {IR_U8, "u1"},
    {IR_U16, "u2"},  {IR_U32, "u4"}, {IR_U64, "u8"}, {IR_F16, "f2"}, {IR_F32, "f4"}, {IR_F64, "f8"},
};

/* What np.save writes for kinds of elements that Rill has no type for. */
static const struct {
  char kind;
  const char *what;
} foreign[] = {
    {'V', "raw bytes, as NumPy saves bf16, f8 and 4-bit integers"},
    {'O', "Python objects, which only unpickling could read"},
    {'c', "complex numbers"},
    {'U', "text"},
    {'S', "byte strings"},
    {'a', "byte strings"},
    {'M', "dates"},
    {'m', "time spans"},
};

struct header {
  ir_diags *diags;
  const char *name;
  const uint8_t *start, *at, *end;
  bool has_dtype, has_order, has_shape;
  bool big_endian, fortran, python2;
  ir_npy *array;
};

bool ir_npy_extent(ir_dtype dtype, int rank, const int64_t *dims, int64_t *count, int64_t *bytes) {
  int64_t nonzero = 1;
  bool empty = false;
  for (int i = 0; i < rank; i++) {
    if (!dims[i]) empty = true;
    if (dims[i] < 0 || (dims[i] && !ir_mul_i64(nonzero, dims[i], &nonzero))) return false;
  }
  if (!ir_dtype_bytes(dtype, nonzero, bytes)) return false;
  *count = empty ? 0 : nonzero;
  if (empty) *bytes = 0;
  return true;
}

/* Reading. */

static void skip_space(struct header *h) {
  while (h->at < h->end && (*h->at == ' ' || *h->at == '\t' || *h->at == '\n' || *h->at == '\r')) h->at++;
}

static bool unexpected(struct header *h, const char *wanted) {
  ir_text found = {0};
  if (h->at == h->end) {
    ir_text_put(&found, "its end");
  } else {
    ir_text_char(&found, '\'');
    ir_text_escaped(&found, (ir_slice){(const char *)h->at, 1});
    ir_text_char(&found, '\'');
  }
  ir_error_in(h->diags, h->name, "at byte %zu of the header: expected %s, found %s", (size_t)(h->at - h->start), wanted,
              found.at);
  ir_text_free(&found);
  return false;
}

static bool take(struct header *h, char c) {
  skip_space(h);
  if (h->at == h->end || *h->at != (uint8_t)c) return false;
  h->at++;
  return true;
}

static bool take_word(struct header *h, const char *word) {
  skip_space(h);
  size_t length = strlen(word);
  if ((size_t)(h->end - h->at) < length || memcmp(h->at, word, length) != 0) return false;
  h->at += length;
  return true;
}

static bool take_string(struct header *h, const char *wanted, ir_slice *text) {
  skip_space(h);
  if (h->at == h->end || (*h->at != '\'' && *h->at != '"')) return unexpected(h, wanted);
  const uint8_t *open = h->at++;
  while (h->at < h->end && *h->at != *open && *h->at != '\\' && *h->at != '\n') h->at++;
  if (h->at == h->end || *h->at != *open) return unexpected(h, "the quote that ends a string");
  *text = (ir_slice){(const char *)open + 1, (size_t)(h->at - open) - 1};
  h->at++;
  return true;
}

static bool take_extent(struct header *h, int64_t *extent) {
  int64_t value = 0;
  const uint8_t *first = h->at;
  if (h->at < h->end && *h->at == '-') {
    ir_error_in(h->diags, h->name, "extent %d of the shape is negative", h->array->rank);
    return false;
  }
  for (; h->at < h->end && *h->at >= '0' && *h->at <= '9'; h->at++) {
    if (!ir_mul_i64(value, 10, &value) || !ir_add_i64(value, *h->at - '0', &value)) {
      ir_error_in(h->diags, h->name, "extent %d of the shape passes 63 bits", h->array->rank);
      return false;
    }
  }
  if (h->at == first) return unexpected(h, "an extent or ')'");
  if (h->python2 && h->at < h->end && *h->at == 'L') h->at++;
  *extent = value;
  return true;
}

static bool take_shape(struct header *h) {
  ir_npy *array = h->array;
  if (!take(h, '(')) return unexpected(h, "'(' of the shape");
  bool comma = true;
  while (!take(h, ')')) {
    if (!comma) return unexpected(h, "',' or ')'");
    if (array->rank == IR_NPY_MAX_RANK) {
      ir_error_in(h->diags, h->name, "the shape has more than %d extents", IR_NPY_MAX_RANK);
      return false;
    }
    if (!take_extent(h, &array->dims[array->rank])) return false;
    array->rank++;
    comma = take(h, ',');
  }
  if (array->rank == 1 && !comma) {
    h->at--;
    return unexpected(h, "',' after the only extent");
  }
  return h->has_shape = true;
}

static bool take_order(struct header *h) {
  if (!take_word(h, "True") && !take_word(h, "False")) return unexpected(h, "True or False");
  h->fortran = h->at[-2] == 'u';
  return h->has_order = true;
}

static bool refuse_dtype(struct header *h, ir_slice descr, char kind) {
  const char *what = "not an element type of Rill";
  for (size_t i = 0; i < ir_count_of(foreign); i++) {
    if (foreign[i].kind == kind) what = foreign[i].what;
  }
  ir_text shown = {0};
  ir_text_put(&shown, "");
  ir_text_escaped(&shown, descr.length > 40 ? (ir_slice){descr.at, 40} : descr);
  ir_error_in(h->diags, h->name, "element type '%s' (%s): expected b1, i1 to i8, u1 to u8, f2, f4 or f8", shown.at,
              what);
  ir_text_free(&shown);
  return false;
}

static bool take_dtype(struct header *h) {
  skip_space(h);
  if (h->at < h->end && (*h->at == '[' || *h->at == '(' || *h->at == '{')) {
    ir_error_in(h->diags, h->name, "structured element type: expected a single b1, i1 to i8, u1 to u8, f2, f4 or f8");
    return false;
  }
  ir_slice descr;
  if (!take_string(h, "the element type as a string", &descr)) return false;
  char order = descr.length && strchr("<>=|", descr.at[0]) ? descr.at[0] : '=';
  ir_slice code = descr;
  if (descr.length && strchr("<>=|", descr.at[0])) code = (ir_slice){descr.at + 1, descr.length - 1};
  for (size_t i = 0; i < ir_count_of(elements); i++) {
    if (!ir_slice_is(code, elements[i].name)) continue;
    bool single = elements[i].name[1] == '1';
    if (order == '|' && !single) break;
    h->array->dtype = elements[i].dtype;
    h->big_endian = order == '>' && !single;
    return h->has_dtype = true;
  }
  return refuse_dtype(h, descr, code.length ? code.at[0] : 0);
}

static bool take_entry(struct header *h) {
  static const struct {
    const char *key;
    size_t seen;
    bool (*read)(struct header *h);
  } entries[] = {
      {"descr", offsetof(struct header, has_dtype), take_dtype},
      {"fortran_order", offsetof(struct header, has_order), take_order},
      {"shape", offsetof(struct header, has_shape), take_shape},
  };
  ir_slice key;
  if (!take_string(h, "a key", &key)) return false;
  for (size_t i = 0; i < ir_count_of(entries); i++) {
    if (!ir_slice_is(key, entries[i].key)) continue;
    if (*((const bool *)((const char *)h + entries[i].seen))) {
      ir_error_in(h->diags, h->name, "the header has '%s' twice", entries[i].key);
      return false;
    }
    return take(h, ':') ? entries[i].read(h) : unexpected(h, "':'");
  }
  h->at -= key.length + 2;
  return unexpected(h, "the key 'descr', 'fortran_order' or 'shape'");
}

static bool parse_header(struct header *h) {
  if (!take(h, '{')) return unexpected(h, "'{'");
  bool comma = true;
  while (!take(h, '}')) {
    if (!comma) return unexpected(h, "',' or '}'");
    if (!take_entry(h)) return false;
    comma = take(h, ',');
  }
  skip_space(h);
  if (h->at < h->end) return unexpected(h, "nothing after '}'");
  const char *missing = !h->has_dtype ? "descr" : !h->has_order ? "fortran_order" : !h->has_shape ? "shape" : NULL;
  if (missing) ir_error_in(h->diags, h->name, "the header lacks '%s'", missing);
  return !missing;
}

/* Finds where the header lies; *data is the offset behind it. */
static bool find_header(struct header *h, const uint8_t *file, size_t size, size_t *data) {
  if (size < MAGIC_SIZE || memcmp(file, magic, MAGIC_SIZE) != 0) {
    ir_error_in(h->diags, h->name, "not a .npy file: it does not start with \\x93NUMPY");
    return false;
  }
  size_t field = size > MAGIC_SIZE && file[MAGIC_SIZE] == 1 ? 2 : 4, before = MAGIC_SIZE + 2 + field;
  if (size < before) {
    ir_error_in(h->diags, h->name, "the file ends within the first %zu bytes of a .npy file", before);
    return false;
  }
  unsigned major = file[MAGIC_SIZE], minor = file[MAGIC_SIZE + 1];
  if (major < 1 || major > 3 || minor) {
    ir_error_in(h->diags, h->name, "format %u.%u of .npy: expected 1.0, 2.0 or 3.0", major, minor);
    return false;
  }
  size_t length = 0;
  for (size_t i = 0; i < field; i++) length |= (size_t)file[MAGIC_SIZE + 2 + i] << (8 * i);
  if (length > size - before) {
    ir_error_in(h->diags, h->name, "the header says that it has %zu bytes, the file has %zu after its start", length,
                size - before);
    return false;
  }
  if (length > MAX_HEADER) {
    ir_error_in(h->diags, h->name, "a header of %zu bytes: expected at most %d", length, MAX_HEADER);
    return false;
  }
  h->python2 = major < 3;
  h->start = file;
  h->at = file + before;
  h->end = h->at + length;
  *data = before + length;
  return true;
}

static void copy_element(uint8_t *to, const uint8_t *from, size_t width, bool swapped) {
  if (!swapped) {
    memcpy(to, from, width);
    return;
  }
  for (size_t i = 0; i < width; i++) to[i] = from[width - 1 - i];
}

/* Walks the elements in C order and steps through the file with the strides of Fortran order. */
static void gather(uint8_t *to, const uint8_t *from, const ir_npy *array, size_t count, size_t width, bool swapped) {
  size_t stride[IR_NPY_MAX_RANK], offset = 0;
  int64_t index[IR_NPY_MAX_RANK] = {0};
  size_t step = width;
  for (int axis = 0; axis < array->rank; axis++) {
    stride[axis] = step;
    step *= (size_t)array->dims[axis];
  }
  for (size_t i = 0; i < count; i++) {
    copy_element(to + i * width, from + offset, width, swapped);
    for (int axis = array->rank - 1; axis >= 0; axis--) {
      offset += stride[axis];
      if (++index[axis] < array->dims[axis]) break;
      offset -= stride[axis] * (size_t)array->dims[axis];
      index[axis] = 0;
    }
  }
}

static void convert(const struct header *h, uint8_t *to, const uint8_t *from, size_t count, size_t width) {
  if (h->fortran && h->array->rank > 1) {
    gather(to, from, h->array, count, width, h->big_endian);
  } else if (h->big_endian) {
    for (size_t i = 0; i < count; i++) copy_element(to + i * width, from + i * width, width, true);
  } else if (count) {
    memcpy(to, from, count * width);
  }
  if (h->array->dtype != IR_BOOL) return;
  for (size_t i = 0; i < count; i++) to[i] = to[i] != 0;
}

bool ir_npy_parse(ir_diags *diags, ir_arena *arena, const char *name, const uint8_t *file, size_t size, ir_npy *array) {
  *array = (ir_npy){.dtype = IR_DTYPE_UNKNOWN};
  struct header h = {.diags = diags, .name = name, .array = array};
  size_t data;
  if (!find_header(&h, file, size, &data) || !parse_header(&h)) return false;
  int64_t count, bytes;
  if (!ir_npy_extent(array->dtype, array->rank, array->dims, &count, &bytes)) {
    ir_error_in(diags, name, "the size of the array passes 63 bits");
    return false;
  }
  if ((uint64_t)bytes != size - data) {
    ir_error_in(diags, name, "the header asks for %lld bytes of elements, the file has %zu", (long long)bytes,
                size - data);
    return false;
  }
  uint8_t *to = ir_arena_alloc_aligned(arena, (size_t)bytes, DATA_ALIGN);
  convert(&h, to, file + data, (size_t)count, ir_dtypes[array->dtype].bits / 8u);
  array->bytes = to;
  array->size = (size_t)bytes;
  return true;
}

bool ir_npy_read(ir_diags *diags, ir_arena *arena, const char *path, ir_npy *array) {
  ir_file file;
  if (!ir_file_open(diags, path, &file)) return false;
  bool read = ir_npy_parse(diags, arena, path, file.bytes, file.size, array);
  ir_file_close(&file);
  return read;
}

/* Writing. */

/* The dictionary, and spaces that NumPy keeps free for an array that grows along its first axis. */
static void put_dictionary(ir_text *text, const char *element, const ir_npy *array) {
  char order = element[1] == '1' ? '|' : '<';
  ir_text_printf(text, "{'descr': '%c%s', 'fortran_order': False, 'shape': (", order, element);
  for (int i = 0; i < array->rank; i++) {
    ir_text_printf(text, "%s%lld", i ? ", " : "", (long long)array->dims[i]);
  }
  ir_text_printf(text, "%s), }", array->rank == 1 ? "," : "");
  if (!array->rank) return;
  int digits = snprintf(NULL, 0, "%lld", (long long)array->dims[0]);
  ir_text_printf(text, "%*s", GROWTH_DIGITS - digits, "");
}

bool ir_npy_put(ir_diags *diags, ir_output *output, const char *name, const ir_npy *array) {
  const char *element = NULL;
  for (size_t i = 0; i < ir_count_of(elements); i++) {
    if (elements[i].dtype == array->dtype) element = elements[i].name;
  }
  if (!element) {
    ir_error_in(diags, name,
                "NumPy has no element type for %s: convert it first (f32 holds bf16 and f8, i8 holds i4, "
                "u8 holds u4)",
                ir_dtype_name(array->dtype));
    return false;
  }
  int64_t count, bytes;
  bool sized = array->rank >= 0 && array->rank <= IR_NPY_MAX_RANK &&
               ir_npy_extent(array->dtype, array->rank, array->dims, &count, &bytes) && (uint64_t)bytes == array->size;
  if (!sized) {
    ir_error_in(diags, name, "the shape does not fit %zu bytes of %s", array->size, ir_dtype_name(array->dtype));
    return false;
  }
  ir_text text = {0};
  put_dictionary(&text, element, array);
  size_t used = MAGIC_SIZE + 4 + text.length + 1;
  /* NumPy pads by 64, not 0, where the header ends on the boundary by itself. */
  size_t padding = DATA_ALIGN - used % DATA_ALIGN, length = text.length + padding + 1;
  const uint8_t size_field[2] = {(uint8_t)(length & 0xff), (uint8_t)(length >> 8)};
  ir_output_bytes(output, magic, MAGIC_SIZE);
  ir_output_bytes(output, "\x01\x00", 2);
  ir_output_bytes(output, size_field, 2);
  ir_output_bytes(output, text.at, text.length);
  ir_output_printf(output, "%*s\n", (int)padding, "");
  ir_output_bytes(output, array->bytes, array->size);
  ir_text_free(&text);
  return ir_output_ok(output);
}
