// SPDX-License-Identifier: Apache-2.0
/* frontends/onnx/tensor.c - TensorProto as constants. Weights stay slices of the mapped file. Needs base/path. */
#include "base/checked.h"
#include "base/path.h"
#include "frontends/onnx/importer.h"

#include <errno.h>
#include <stdlib.h>

static const struct {
  int32_t onnx;
  ir_dtype dtype;
} dtypes[] = {
    {ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, IR_F32},   {ONNX__TENSOR_PROTO__DATA_TYPE__UINT8, IR_U8},
    {ONNX__TENSOR_PROTO__DATA_TYPE__INT8, IR_I8},     {ONNX__TENSOR_PROTO__DATA_TYPE__UINT16, IR_U16},
    {ONNX__TENSOR_PROTO__DATA_TYPE__INT16, IR_I16},   {ONNX__TENSOR_PROTO__DATA_TYPE__INT32, IR_I32},
    {ONNX__TENSOR_PROTO__DATA_TYPE__INT64, IR_I64},   {ONNX__TENSOR_PROTO__DATA_TYPE__BOOL, IR_BOOL},
    {ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16, IR_F16}, {ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE, IR_F64},
    {ONNX__TENSOR_PROTO__DATA_TYPE__UINT32, IR_U32},  {ONNX__TENSOR_PROTO__DATA_TYPE__UINT64, IR_U64},
    {ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16, IR_BF16},
};

ir_dtype ir_onnx_dtype(int32_t type) {
  for (size_t i = 0; i < ir_count_of(dtypes); i++) {
    if (dtypes[i].onnx == type) return dtypes[i].dtype;
  }
  return IR_DTYPE_UNKNOWN;
}

__attribute__((format(printf, 3, 4))) static bool fail(ir_onnx_importer *im, const Onnx__TensorProto *tensor, const char *format, ...) {
  ir_text text = {0};
  va_list args;
  va_start(args, format);
  ir_text_vprintf(&text, format, args);
  va_end(args);
  ir_error(im->diags, (ir_range){0, 0}, "tensor '%s': %s", tensor->name, text.at);
  ir_text_free(&text);
  return false;
}

static void close_file(void *file) { ir_file_close(file); }

static bool parse_number(const char *text, size_t *value) {
  char *end;
  errno = 0;
  unsigned long long number = strtoull(text, &end, 10);
  *value = (size_t)number;
  return *text >= '0' && *text <= '9' && !*end && !errno;
}

/* Bytes in another file of the model's folder. */
static bool external(ir_onnx_importer *im, const Onnx__TensorProto *tensor, const uint8_t **bytes, size_t *size) {
  const char *location = NULL;
  size_t offset = 0, length = 0;
  bool has_length = false;
  for (size_t i = 0; i < tensor->n_external_data; i++) {
    const Onnx__StringStringEntryProto *entry = tensor->external_data[i];
    if (!strcmp(entry->key, "location")) location = entry->value;
    if (!strcmp(entry->key, "offset") && !parse_number(entry->value, &offset)) return fail(im, tensor, "external data: bad offset '%s'", entry->value);
    if (!strcmp(entry->key, "length")) {
      has_length = parse_number(entry->value, &length);
      if (!has_length) return fail(im, tensor, "external data: bad length '%s'", entry->value);
    }
  }
  if (!location) return fail(im, tensor, "external data without a location");
  const char *path = ir_path_confined(im->diags, &im->arena, im->path, location);
  if (!path) return false;
  const ir_string *key = ir_intern(im->context, ir_slice_of(path));
  void **slot = ir_map_slot(&im->module->arena, &im->module->files, key);
  if (!*slot) {
    ir_file *file = ir_new(&im->module->arena, ir_file);
    if (!ir_file_open(im->diags, path, file)) return false;
    ir_module_own(im->module, file, close_file);
    *slot = file;
  }
  const ir_file *file = *slot;
  if (offset > file->size || (has_length && length > file->size - offset)) return fail(im, tensor, "external data past the end of '%s'", location);
  *bytes = file->bytes + offset;
  *size = has_length ? length : file->size - offset;
  return true;
}

/* The repeated fields that small tensors use instead of bytes. */
static bool from_fields(ir_onnx_importer *im, const Onnx__TensorProto *t, ir_dtype dtype, int64_t count, uint8_t *out) {
  size_t width = ir_dtypes[dtype].bits / 8, have;
  bool wide = dtype == IR_U32 || dtype == IR_U64;
  have = dtype == IR_F32 ? t->n_float_data : dtype == IR_F64 ? t->n_double_data : dtype == IR_I64 ? t->n_int64_data : wide ? t->n_uint64_data : t->n_int32_data;
  if (have != (size_t)count) return fail(im, t, "has %zu elements, its extents ask for %lld", have, (long long)count);
  for (size_t i = 0; i < have; i++) {
    uint64_t bits = 0;
    if (dtype == IR_F32) {
      memcpy(&bits, &t->float_data[i], 4);
    } else if (dtype == IR_F64) {
      memcpy(&bits, &t->double_data[i], 8);
    } else if (dtype == IR_I64) {
      bits = (uint64_t)t->int64_data[i];
    } else if (wide) {
      bits = t->uint64_data[i];
    } else {
      bits = (uint64_t)(int64_t)t->int32_data[i];
      if (dtype == IR_BOOL) bits = bits != 0;
    }
    memcpy(out + i * width, &bits, width);
  }
  return true;
}

bool ir_onnx_tensor_data(ir_onnx_importer *im, const Onnx__TensorProto *tensor, ir_data *data, const ir_type **type) {
  ir_dtype dtype = ir_onnx_dtype(tensor->data_type);
  if (dtype == IR_DTYPE_UNKNOWN) return fail(im, tensor, "not implemented: element type %d", tensor->data_type);
  if (tensor->segment) return fail(im, tensor, "not implemented: segments");
  int64_t count = 1, wanted;
  const ir_expr **dims = ir_new_array(&im->arena, const ir_expr *, tensor->n_dims + 1);
  for (size_t i = 0; i < tensor->n_dims; i++) {
    if (tensor->dims[i] < 0 || !ir_mul_i64(count, tensor->dims[i], &count)) return fail(im, tensor, "extent %lld", (long long)tensor->dims[i]);
    dims[i] = ir_expr_i64(im->context, tensor->dims[i]);
  }
  if (!ir_dtype_bytes(dtype, count, &wanted)) return fail(im, tensor, "too large");
  *type = ir_type_tensor(im->context, dtype, tensor->n_dims, dims);
  *data = (ir_data){dtype, NULL, (size_t)wanted};
  const uint8_t *bytes = NULL;
  size_t size = 0;
  if (tensor->has_data_location && tensor->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL) {
    if (!external(im, tensor, &bytes, &size)) return false;
  } else if (tensor->has_raw_data) {
    bytes = ir_onnx_wire_payload(&im->wire, tensor->raw_data.data, tensor->raw_data.len, &size);
  } else {
    if ((size_t)count > im->wire.size) return fail(im, tensor, "has no elements, its extents ask for %lld", (long long)count);
    uint8_t *made = ir_arena_alloc(&im->module->arena, (size_t)wanted + 1);
    data->bytes = made;
    return from_fields(im, tensor, dtype, count, made);
  }
  if (size != (size_t)wanted) return fail(im, tensor, "has %zu bytes, its type asks for %lld", size, (long long)wanted);
  if (dtype == IR_BOOL) {
    uint8_t *clean = ir_arena_alloc(&im->module->arena, size + 1);
    for (size_t i = 0; i < size; i++) clean[i] = bytes[i] != 0;
    bytes = clean;
  } else if (size <= 4096 || (uintptr_t)bytes % (ir_dtypes[dtype].bits / 8)) {
    bytes = ir_arena_copy(&im->module->arena, bytes, size); /* aligned, and free of the message's life */
  }
  data->bytes = bytes;
  return true;
}

enum { INLINE_BYTES = 1024 };

ir_value *ir_onnx_constant(ir_onnx_importer *im, const Onnx__TensorProto *tensor, const char *name) {
  ir_data data;
  const ir_type *type;
  if (!ir_onnx_tensor_data(im, tensor, &data, &type)) return NULL;
  ir_value *value;
  /* Constants stand at the beginning, where every region may use them. */
  ir_builder b = im->b;
  b.loc = NULL;
  if (data.size <= INLINE_BYTES) {
    value = ir_build_const(&b, type, data);
  } else {
    ir_resource *resource = ir_new(&im->module->arena, ir_resource);
    resource->item.kind = IR_ITEM_RESOURCE;
    resource->item.name = ir_module_fresh_name(im->module, ir_slice_of(name && *name ? name : "weight"));
    resource->type = type;
    resource->bytes = data.bytes;
    resource->size = data.size;
    ir_module_add(im->module, &resource->item, NULL);
    ir_op *op = ir_build_with(&b, IR_CONST, NULL, 0, IR_SET({"value", ir_attr_global(im->context, resource->item.name)}), NULL, 0, &type, 1);
    value = ir_op_result(op, 0);
  }
  if (name && *name && !value->name) value->name = ir_intern(im->context, ir_slice_of(name));
  return value;
}

ir_onnx_known *ir_onnx_known_of(ir_onnx_importer *im, const Onnx__TensorProto *tensor) {
  enum { MOST = 64 };
  ir_dtype dtype = ir_onnx_dtype(tensor->data_type);
  if (!(ir_is_integer(dtype) || dtype == IR_BOOL) || dtype == IR_U64 || tensor->n_dims > 1 || (tensor->n_dims == 1 && (tensor->dims[0] < 0 || tensor->dims[0] > MOST))) return NULL;
  ir_data data;
  const ir_type *type;
  if (!ir_onnx_tensor_data(im, tensor, &data, &type)) return NULL;
  size_t width = ir_dtypes[dtype].bits / 8, count = data.size / width;
  ir_onnx_known *known = ir_onnx_known_new(im, dtype, (int)tensor->n_dims, count);
  for (size_t i = 0; i < count; i++) {
    uint64_t bits = 0;
    memcpy(&bits, (const uint8_t *)data.bytes + i * width, width);
    known->elements[i] = ir_expr_i64(im->context, ir_int_from_bits(dtype, bits));
  }
  return known;
}

static bool all_constant(const ir_onnx_known *known) {
  int64_t ignored;
  for (size_t i = 0; i < known->count; i++) {
    if (!ir_expr_is_int(known->elements[i], &ignored)) return false;
  }
  return true;
}

/* No element is negative. */
static bool are_extents(ir_onnx_importer *im, const ir_onnx_known *known) {
  const ir_expr *zero = ir_expr_i64(im->context, 0);
  for (size_t i = 0; i < known->count; i++) {
    const ir_expr *natural = ir_expr_binary(im->context, IR_S_GE, known->elements[i], zero);
    if (ir_prove(im->context, ir_func_facts(im->func), natural) != IR_PROVEN) return false;
  }
  return true;
}

ir_value *ir_onnx_materialize(ir_onnx_importer *im, const ir_onnx_known *known) {
  ir_context *context = im->context;
  const ir_expr *extent = ir_expr_i64(context, (int64_t)known->count);
  if (all_constant(known)) {
    size_t width = ir_dtypes[known->dtype].bits / 8;
    uint8_t *bytes = ir_arena_alloc(&im->module->arena, known->count * width + 8);
    for (size_t i = 0; i < known->count; i++) {
      int64_t value = 0;
      ir_expr_is_int(known->elements[i], &value);
      uint64_t bits = ir_int_to_bits(known->dtype, value);
      memcpy(bytes + i * width, &bits, width);
    }
    const ir_type *type = ir_type_tensor(context, known->dtype, (size_t)known->rank, &extent);
    return ir_build_const(&im->b, type, (ir_data){known->dtype, bytes, known->count * width});
  }
  ir_value **elements = ir_new_array(&im->arena, ir_value *, known->count), *tensor;
  for (size_t i = 0; i < known->count; i++) elements[i] = ir_build_scalar(&im->b, known->elements[i], NULL, 0);
  if (are_extents(im, known)) {
    ir_value *shape = ir_build1(&im->b, IR_SHAPE, elements, known->count, IR_NO_ATTRS);
    tensor = shape ? ir_build1(&im->b, IR_SHAPE_TO_TENSOR, IR_OPERANDS(shape), IR_NO_ATTRS) : NULL;
  } else {
    const ir_expr *one = ir_expr_i64(context, 1);
    for (size_t i = 0; i < known->count; i++) {
      elements[i] = ir_build1(&im->b, IR_FULL, IR_OPERANDS(elements[i]), IR_SET({"shape", ir_attr_dims(context, 1, &one)}));
    }
    tensor = ir_build1(&im->b, IR_CONCAT, elements, known->count, IR_NO_ATTRS);
  }
  if (tensor && known->rank == 0) tensor = ir_build1(&im->b, IR_RESHAPE, IR_OPERANDS(tensor), IR_SET({"shape", ir_attr_dims(context, 0, NULL)}));
  if (tensor && known->dtype != IR_I64) tensor = ir_build1(&im->b, IR_ASTYPE, IR_OPERANDS(tensor), IR_SET({"dtype", ir_attr_dtype(context, known->dtype)}));
  return tensor;
}

bool ir_onnx_read_tensor(ir_context *context, ir_arena *arena, const char *path, ir_dtype *dtype, size_t *rank, int64_t *dims, const void **bytes) {
  ir_onnx_importer im = {.context = context, .diags = context->diags, .path = path, .module = ir_module_new(context)};
  ir_file file;
  bool fine = ir_file_open(im.diags, path, &file);
  const Onnx__TensorProto *tensor = fine ? ir_onnx_unpack(&im.arena, &onnx__tensor_proto__descriptor, file.size, file.bytes) : NULL;
  if (fine && !tensor) ir_error_in(im.diags, path, "not a TensorProto: the bytes do not unpack");
  ir_diags_set_where(im.diags, path);
  ir_data data;
  const ir_type *type;
  im.wire.size = fine ? file.size : 0;
  bool read = tensor && ir_onnx_tensor_data(&im, tensor, &data, &type);
  if (read && type->count > IR_ONNX_TENSOR_RANK) read = fail(&im, tensor, "rank %u", type->count);
  if (read) {
    *dtype = data.dtype;
    *rank = type->count;
    ir_type_static_dims(type, dims, NULL);
    *bytes = ir_arena_copy(arena, data.bytes, data.size);
  }
  ir_diags_set_where(im.diags, NULL);
  if (fine) ir_file_close(&file);
  ir_arena_free(&im.arena);
  ir_module_free(im.module);
  return read;
}
