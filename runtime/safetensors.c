// SPDX-License-Identifier: Apache-2.0
/* runtime/safetensors.c - safetensors files: 8 bytes of header length, a JSON header, the data. Needs base/, ir/dtype,
 * runtime/npy (sizes of shapes) and jansson; maps and writes files. The rules are those of the format's own library: at
 * most 100 MB of header, and tensors that cover the data in order of their offsets, neither overlapping nor apart. */
#include "runtime/safetensors.h"

#include "base/file.h"
#include "base/vec.h"
#include "runtime/npy.h"

#include <jansson.h>
#include <stdlib.h>

enum { LENGTH_SIZE = 8, MAX_HEADER = 100000000, SHOWN_NAME = 120 };

static const char *const format_names[IR_DTYPE_COUNT] = {
    [IR_BOOL] = "BOOL", [IR_I8] = "I8",   [IR_I16] = "I16", [IR_I32] = "I32",        [IR_I64] = "I64",
    [IR_U8] = "U8",     [IR_U16] = "U16", [IR_U32] = "U32", [IR_U64] = "U64",        [IR_F16] = "F16",
    [IR_BF16] = "BF16", [IR_F32] = "F32", [IR_F64] = "F64", [IR_F8E4M3] = "F8_E4M3", [IR_F8E5M2] = "F8_E5M2",
};

struct entry {
  ir_safetensor tensor;
  uint64_t begin, end; /* within the data */
};

struct ir_safetensors {
  ir_arena arena;
  ir_file file;          /* of ir_safetensors_open */
  struct entry *entries; /* in the order of the header */
  const struct entry **by_name;
  size_t count;
};

/* A name cut and escaped for a message. */
static const char *shown(ir_arena *arena, ir_slice name) {
  ir_text text = {0};
  ir_text_put(&text, "");
  bool cut = name.length > SHOWN_NAME;
  if (cut) name.length = SHOWN_NAME;
  ir_text_escaped(&text, name);
  if (cut) ir_text_put(&text, "...");
  const char *copy = ir_arena_copy(arena, text.at, text.length);
  ir_text_free(&text);
  return copy;
}

static int compare_names(ir_slice a, ir_slice b) {
  size_t shorter = a.length < b.length ? a.length : b.length;
  int order = shorter ? memcmp(a.at, b.at, shorter) : 0;
  return order ? order : a.length < b.length ? -1 : a.length > b.length;
}

static int by_name(const void *left, const void *right) {
  const struct entry *a = *(const struct entry *const *)left, *b = *(const struct entry *const *)right;
  return compare_names(a->tensor.name, b->tensor.name);
}

/* Reading. */

struct reader {
  ir_diags *diags;
  const char *name;
  const char *tensor; /* the name of the tensor at hand, for messages */
  const uint8_t *data;
  uint64_t size;
  ir_safetensors *file;
};

#define REFUSE(r, ...) (ir_error_in((r)->diags, (r)->name, __VA_ARGS__), false)

static bool read_dtype(struct reader *r, json_t *value, ir_safetensor *tensor) {
  const char *name = json_string_value(value);
  if (!name) return REFUSE(r, "tensor '%s': expected 'dtype' to be a string", r->tensor);
  for (int d = 0; d < IR_DTYPE_COUNT; d++) {
    if (!format_names[d] || strcmp(format_names[d], name) != 0) continue;
    tensor->dtype = (ir_dtype)d;
    return true;
  }
  return REFUSE(r, "tensor '%s': element type '%s' has no counterpart in Rill", r->tensor,
                shown(&r->file->arena, ir_slice_of(name)));
}

static bool read_shape(struct reader *r, json_t *value, ir_safetensor *tensor) {
  if (!json_is_array(value)) return REFUSE(r, "tensor '%s': expected 'shape' to be an array", r->tensor);
  if (json_array_size(value) > IR_SAFETENSORS_MAX_RANK) {
    return REFUSE(r, "tensor '%s': rank %zu, at most %d is possible", r->tensor, json_array_size(value),
                  IR_SAFETENSORS_MAX_RANK);
  }
  tensor->rank = (int)json_array_size(value);
  for (int i = 0; i < tensor->rank; i++) {
    json_t *extent = json_array_get(value, (size_t)i);
    if (!json_is_integer(extent) || json_integer_value(extent) < 0) {
      return REFUSE(r, "tensor '%s': extent %d is not an integer of at least 0", r->tensor, i);
    }
    tensor->dims[i] = json_integer_value(extent);
  }
  return true;
}

static bool read_offsets(struct reader *r, json_t *value, struct entry *entry) {
  json_t *begin = json_array_get(value, 0), *end = json_array_get(value, 1);
  if (json_array_size(value) != 2 || !json_is_integer(begin) || !json_is_integer(end)) {
    return REFUSE(r, "tensor '%s': expected 'data_offsets' to be two integers", r->tensor);
  }
  json_int_t from = json_integer_value(begin), to = json_integer_value(end);
  if (from < 0 || to < from || (uint64_t)to > r->size) {
    return REFUSE(r, "tensor '%s': offsets %lld to %lld are out of the %llu bytes of data", r->tensor, (long long)from,
                  (long long)to, (unsigned long long)r->size);
  }
  entry->begin = (uint64_t)from;
  entry->end = (uint64_t)to;
  return true;
}

static bool check_size(struct reader *r, struct entry *entry) {
  ir_safetensor *tensor = &entry->tensor;
  int64_t count, bytes;
  if (!ir_npy_extent(tensor->dtype, tensor->rank, tensor->dims, &count, &bytes)) {
    return REFUSE(r, "tensor '%s': its size passes 63 bits", r->tensor);
  }
  if ((uint64_t)bytes != entry->end - entry->begin) {
    return REFUSE(r, "tensor '%s': shape and element type ask for %lld bytes, its offsets give %llu", r->tensor,
                  (long long)bytes, (unsigned long long)(entry->end - entry->begin));
  }
  tensor->bytes = r->data + entry->begin;
  tensor->size = (size_t)bytes;
  for (size_t i = 0; tensor->dtype == IR_BOOL && i < tensor->size; i++) {
    if (tensor->bytes[i] > 1) {
      return REFUSE(r, "tensor '%s': element %zu is %u, expected 0 or 1 for a bool", r->tensor, i, tensor->bytes[i]);
    }
  }
  return true;
}

static bool read_tensor(struct reader *r, ir_slice name, json_t *value, struct entry *entry) {
  r->tensor = shown(&r->file->arena, name);
  json_t *dtype = json_object_get(value, "dtype"), *shape = json_object_get(value, "shape"),
         *offsets = json_object_get(value, "data_offsets");
  if (!dtype || !shape || !offsets || json_object_size(value) != 3) {
    return REFUSE(r, "tensor '%s': expected an object of 'dtype', 'shape' and 'data_offsets'", r->tensor);
  }
  entry->tensor.name = (ir_slice){ir_arena_copy(&r->file->arena, name.at, name.length), name.length};
  return read_dtype(r, dtype, &entry->tensor) && read_shape(r, shape, &entry->tensor) &&
         read_offsets(r, offsets, entry) && check_size(r, entry);
}

static bool check_metadata(struct reader *r, json_t *value) {
  const char *key;
  json_t *text;
  if (!json_is_object(value)) return REFUSE(r, "expected '__metadata__' to be an object");
  json_object_foreach(value, key, text) {
    if (!json_is_string(text)) {
      return REFUSE(r, "expected '%s' of '__metadata__' to be a string", shown(&r->file->arena, ir_slice_of(key)));
    }
  }
  return true;
}

static int by_offsets(const void *left, const void *right) {
  const struct entry *a = *(const struct entry *const *)left, *b = *(const struct entry *const *)right;
  if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
  if (a->end != b->end) return a->end < b->end ? -1 : 1;
  return a < b ? -1 : a > b;
}

/* The entries in another order. */
static const struct entry **sorted(ir_safetensors *file, int (*order)(const void *, const void *)) {
  const struct entry **entries = ir_new_array(&file->arena, const struct entry *, file->count);
  for (size_t i = 0; i < file->count; i++) entries[i] = &file->entries[i];
  if (file->count) qsort(entries, file->count, sizeof *entries, order);
  return entries;
}

static bool check_coverage(struct reader *r) {
  ir_arena *arena = &r->file->arena;
  ir_arena_mark mark = ir_arena_get_mark(arena);
  const struct entry **entries = sorted(r->file, by_offsets);
  uint64_t at = 0;
  for (size_t i = 0; i < r->file->count; at = entries[i++]->end) {
    uint64_t begin = entries[i]->begin;
    if (begin == at) continue;
    const char *name = shown(arena, entries[i]->tensor.name);
    if (begin < at) return REFUSE(r, "tensor '%s' overlaps '%s'", name, shown(arena, entries[i - 1]->tensor.name));
    return REFUSE(r, "bytes %llu to %llu of the data, before tensor '%s', belong to no tensor", (unsigned long long)at,
                  (unsigned long long)begin, name);
  }
  ir_arena_reset(arena, mark);
  if (at == r->size) return true;
  return REFUSE(r, "the last %llu bytes of the data belong to no tensor", (unsigned long long)(r->size - at));
}

static bool read_header(struct reader *r, json_t *header) {
  if (!json_is_object(header)) return REFUSE(r, "expected the header to be a JSON object");
  r->file->entries = ir_new_array(&r->file->arena, struct entry, json_object_size(header));
  const char *key;
  size_t length;
  json_t *value;
  json_object_keylen_foreach(header, key, length, value) {
    ir_slice name = {key, length};
    if (ir_slice_is(name, "__metadata__")) {
      if (!check_metadata(r, value)) return false;
      continue;
    }
    struct entry *entry = &r->file->entries[r->file->count];
    if (!read_tensor(r, name, value, entry)) return false;
    r->file->count++;
  }
  if (!check_coverage(r)) return false;
  r->file->by_name = sorted(r->file, by_name);
  return true;
}

static json_t *load_header(struct reader *r, const uint8_t *at, size_t length) {
  json_error_t error;
  json_t *header = json_loadb((const char *)at, length, JSON_REJECT_DUPLICATES, &error);
  if (header) return header;
  const char *what = shown(&r->file->arena, ir_slice_of(error.text));
  ir_error_in(r->diags, r->name, "at byte %zu of the header: %s", (size_t)LENGTH_SIZE + (size_t)error.position, what);
  return NULL;
}

static bool read_file(struct reader *r, const uint8_t *file, size_t size) {
  if (size < LENGTH_SIZE) return REFUSE(r, "not a safetensors file: it has %zu bytes, expected at least 8", size);
  uint64_t length = 0;
  for (int i = 0; i < LENGTH_SIZE; i++) length |= (uint64_t)file[i] << (8 * i);
  if (length > MAX_HEADER || length > size - LENGTH_SIZE) {
    return REFUSE(r, "not a safetensors file: it starts with a header length of %llu, the file has %zu bytes",
                  (unsigned long long)length, size);
  }
  if (!length || file[LENGTH_SIZE] != '{') return REFUSE(r, "not a safetensors file: expected '{' at byte 8");
  r->data = file + LENGTH_SIZE + length;
  r->size = size - LENGTH_SIZE - length;
  json_t *header = load_header(r, file + LENGTH_SIZE, (size_t)length);
  if (!header) return false;
  bool read = read_header(r, header);
  json_decref(header);
  return read;
}

ir_safetensors *ir_safetensors_parse(ir_diags *diags, const char *name, const uint8_t *file, size_t size) {
  ir_safetensors *result = ir_heap_alloc(sizeof *result);
  *result = (ir_safetensors){0};
  struct reader r = {.diags = diags, .name = name, .file = result};
  if (read_file(&r, file, size)) return result;
  ir_safetensors_close(result);
  return NULL;
}

ir_safetensors *ir_safetensors_open(ir_diags *diags, const char *path) {
  ir_file file;
  if (!ir_file_open(diags, path, &file)) return NULL;
  ir_safetensors *result = ir_safetensors_parse(diags, path, file.bytes, file.size);
  if (result) {
    result->file = file;
  } else {
    ir_file_close(&file);
  }
  return result;
}

void ir_safetensors_close(ir_safetensors *file) {
  if (file->file.bytes) ir_file_close(&file->file);
  ir_arena_free(&file->arena);
  ir_heap_free(file);
}

size_t ir_safetensors_count(const ir_safetensors *file) { return file->count; }
const ir_safetensor *ir_safetensors_at(const ir_safetensors *file, size_t index) {
  return &file->entries[index].tensor;
}

const ir_safetensor *ir_safetensors_find(const ir_safetensors *file, ir_slice name) {
  size_t low = 0, high = file->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int order = compare_names(file->by_name[middle]->tensor.name, name);
    if (!order) return &file->by_name[middle]->tensor;
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return NULL;
}

/* Writing. */

static bool check_name(struct reader *r, ir_slice name) {
  if (ir_slice_is(name, "__metadata__") || (name.length >= strlen(IR_SAFETENSORS_PADDING) &&
                                            !memcmp(name.at, IR_SAFETENSORS_PADDING, strlen(IR_SAFETENSORS_PADDING)))) {
    return REFUSE(r, "tensor '%s': safetensors files keep this name for themselves", r->tensor);
  }
  for (ir_slice rest = name; rest.length;) {
    size_t length = ir_utf8_length(rest);
    if (!length || !rest.at[0]) return REFUSE(r, "tensor '%s': a name in safetensors is UTF-8 without NUL", r->tensor);
    rest = (ir_slice){rest.at + length, rest.length - length};
  }
  return true;
}

static bool check_tensor(struct reader *r, const ir_safetensor *tensor) {
  if (tensor->dtype >= IR_DTYPE_COUNT || !format_names[tensor->dtype]) {
    return REFUSE(r, "tensor '%s': safetensors has no element type for %s", r->tensor, ir_dtype_name(tensor->dtype));
  }
  int64_t count, bytes;
  bool sized = tensor->rank >= 0 && tensor->rank <= IR_SAFETENSORS_MAX_RANK &&
               ir_npy_extent(tensor->dtype, tensor->rank, tensor->dims, &count, &bytes) &&
               (uint64_t)bytes == tensor->size;
  if (!sized) {
    return REFUSE(r, "tensor '%s': its shape does not fit %zu bytes of %s", r->tensor, tensor->size,
                  ir_dtype_name(tensor->dtype));
  }
  return check_name(r, tensor->name);
}

static void put_json_string(ir_text *text, ir_slice string) {
  ir_text_char(text, '"');
  for (size_t i = 0; i < string.length; i++) {
    uint8_t c = (uint8_t)string.at[i];
    if (c == '"' || c == '\\') ir_text_char(text, '\\');
    if (c < 0x20) {
      ir_text_printf(text, "\\u%04x", c);
    } else {
      ir_text_char(text, (char)c);
    }
  }
  ir_text_char(text, '"');
}

static void put_entry(ir_text *text, const ir_safetensor *tensor, uint64_t begin) {
  ir_text_put(text, text->length > 1 ? "," : "");
  put_json_string(text, tensor->name);
  ir_text_printf(text, ":{\"dtype\":\"%s\",\"shape\":[", format_names[tensor->dtype]);
  for (int i = 0; i < tensor->rank; i++) {
    ir_text_printf(text, "%s%lld", i ? "," : "", (long long)tensor->dims[i]);
  }
  ir_text_printf(text, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)begin,
                 (unsigned long long)(begin + tensor->size));
}

static size_t padding_of(uint64_t size) { return (size_t)(-size % IR_SAFETENSORS_ALIGN); }

/* The header for TENSORS with the padding between them, filled up with spaces so that the data is aligned. */
static void put_header(ir_text *text, const ir_safetensor *tensors, size_t count) {
  uint64_t at = 0;
  unsigned paddings = 0;
  ir_text_char(text, '{');
  for (size_t i = 0; i < count; i++) {
    size_t gap = padding_of(at);
    if (gap && tensors[i].size) {
      char name[64];
      snprintf(name, sizeof name, IR_SAFETENSORS_PADDING "%u", paddings++);
      const ir_safetensor padding = {ir_slice_of(name), IR_U8, 1, {(int64_t)gap}, NULL, gap};
      put_entry(text, &padding, at);
      at += gap;
    }
    put_entry(text, &tensors[i], at);
    at += tensors[i].size;
  }
  ir_text_char(text, '}');
  for (size_t spaces = padding_of(LENGTH_SIZE + text->length); spaces; spaces--) ir_text_char(text, ' ');
}

static bool check_tensors(struct reader *r, const ir_safetensor *tensors, size_t count) {
  r->file->entries = ir_new_array(&r->file->arena, struct entry, count);
  for (size_t i = 0; i < count; i++) {
    r->tensor = shown(&r->file->arena, tensors[i].name);
    if (!check_tensor(r, &tensors[i])) return false;
    r->file->entries[r->file->count++].tensor.name = tensors[i].name;
  }
  const struct entry **entries = sorted(r->file, by_name);
  for (size_t i = 1; i < count; i++) {
    ir_slice name = entries[i]->tensor.name;
    if (compare_names(entries[i - 1]->tensor.name, name)) continue;
    return REFUSE(r, "tensor '%s' occurs twice", shown(&r->file->arena, name));
  }
  return true;
}

bool ir_safetensors_put(ir_diags *diags, ir_output *output, const char *name, const ir_safetensor *tensors,
                        size_t count) {
  ir_safetensors scratch = {0};
  struct reader r = {.diags = diags, .name = name, .file = &scratch};
  bool fine = check_tensors(&r, tensors, count);
  ir_arena_free(&scratch.arena);
  if (!fine) return false;
  ir_text header = {0};
  put_header(&header, tensors, count);
  if (header.length > MAX_HEADER) {
    ir_text_free(&header);
    return REFUSE(&r, "a header of more than %d bytes, which safetensors does not allow", MAX_HEADER);
  }
  uint8_t length[LENGTH_SIZE];
  for (int i = 0; i < LENGTH_SIZE; i++) length[i] = (uint8_t)((uint64_t)header.length >> (8 * i));
  ir_output_bytes(output, length, sizeof length);
  ir_output_bytes(output, header.at, header.length);
  ir_text_free(&header);
  uint64_t at = 0;
  for (size_t i = 0; i < count; i++) {
    size_t gap = tensors[i].size ? padding_of(at) : 0;
    ir_output_zeros(output, gap);
    ir_output_bytes(output, tensors[i].bytes, tensors[i].size);
    at += gap + tensors[i].size;
  }
  return ir_output_ok(output);
}

bool ir_safetensors_write(ir_diags *diags, const char *path, const ir_safetensor *tensors, size_t count) {
  ir_output *output = ir_output_open(diags, path);
  if (!output) return false;
  if (ir_safetensors_put(diags, output, path, tensors, count)) return ir_output_commit(output);
  ir_output_discard(output);
  return false;
}
