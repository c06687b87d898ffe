// SPDX-License-Identifier: Apache-2.0
/* runtime/interp/exec_memory.c - loads, stores, atomics and allocations. Nothing here touches memory outside of a buffer:
 * whatever is not known to be in range is checked, for a strip at once where lanes walk memory evenly. */
#include "runtime/interp/exec.h"

#include "base/checked.h"

#include <inttypes.h>

int64_t ir_linear_base(const ir_exec *exec, const ir_linear *linear) {
  uint64_t sum = (uint64_t)linear->constant;
  for (uint32_t i = 0; i < linear->uniform; i++) {
    sum += *(const uint64_t *)exec->at[linear->terms[i].reg] * (uint64_t)linear->terms[i].scale;
  }
  return (int64_t)sum;
}

static int64_t at_lane(const ir_exec *exec, const ir_linear *linear, int64_t base, int64_t lane) {
  uint64_t sum = (uint64_t)base + (uint64_t)linear->lane * (uint64_t)lane;
  for (uint32_t i = linear->uniform; i < linear->uniform + linear->varying; i++) {
    sum += ((const uint64_t *)exec->at[linear->terms[i].reg])[lane] * (uint64_t)linear->terms[i].scale;
  }
  return (int64_t)sum;
}

/* Whether all lanes of [lo, hi), active or not, have indices in range. */
static bool in_range(const ir_exec *exec, const ir_access *access, int64_t lo, int64_t hi) {
  const ir_buffer *buffer = &exec->plan->buffers[access->buffer];
  for (uint32_t i = 0; i < access->check_count; i++) {
    const ir_linear *index = &access->checks[i].index;
    int64_t extent = buffer->dims[access->checks[i].dim], base = ir_linear_base(exec, index);
    if (access->vector && access->checks[i].dim + 1 == buffer->rank) extent -= access->width - 1;
    if (index->varying) {
      for (int64_t lane = lo; lane < hi; lane++) {
        int64_t value = at_lane(exec, index, base, lane);
        if (value < 0 || value >= extent) return false;
      }
      continue;
    }
    int64_t first = base, last = base, move;
    if (index->lane) {
      if (!ir_mul_i64(index->lane, lo, &move) || !ir_add_i64(base, move, &first)) return false;
      if (!ir_mul_i64(index->lane, hi - 1, &move) || !ir_add_i64(base, move, &last)) return false;
    }
    if (first < 0 || first >= extent || last < 0 || last >= extent) return false;
  }
  return true;
}

/* The element that LANE touches, one axis after the other. Out of range: an error where checked; else the nearest
 * element for CLAMP, or none (*element is -1). */
static bool locate(ir_exec *exec, const ir_access *access, int64_t lane, bool clamp, int64_t *element) {
  const ir_buffer *buffer = &exec->plan->buffers[access->buffer];
  int64_t sum = access->own ? lane * buffer->count : 0;
  *element = -1;
  for (uint32_t i = 0; i < buffer->rank; i++) {
    const ir_linear *linear = &access->indices[i];
    int64_t index = at_lane(exec, linear, ir_linear_base(exec, linear), lane), extent = buffer->dims[i];
    if (access->vector && i + 1 == buffer->rank) extent -= access->width - 1;
    if (index < 0 || index >= extent) {
      if (exec->checked) {
        return ir_exec_fail(exec, access->op, "index %" PRId64 " is out of range for axis %u of '%s', whose extent is %" PRId64,
                            index, i, buffer->name, buffer->dims[i]);
      }
      if (!clamp || extent <= 0) return true;
      index = index < 0 ? 0 : extent - 1;
    }
    sum += index * buffer->strides[i];
  }
  *element = sum * buffer->width;
  return true;
}

static bool is_active(const ir_exec *exec, const ir_instr *instr, int64_t lane) {
  return !instr->varying || !exec->mask || exec->mask[lane];
}

/* One lane after the other: what is masked, watched, or not in range everywhere. Elements go to exec->raw. */
static bool load_each(ir_exec *exec, const ir_instr *instr, const ir_access *access, int64_t lo, int64_t hi) {
  const ir_buffer *buffer = &exec->plan->buffers[access->buffer];
  size_t size = ir_stored_size((ir_dtype)buffer->dtype) * access->width;
  bool packed = ir_dtypes[buffer->dtype].bits == 4;
  for (int64_t lane = lo; lane < hi; lane++) {
    if (!is_active(exec, instr, lane)) continue;
    int64_t element;
    uint8_t *to = exec->raw + (size_t)(lane - lo) * size;
    if (!locate(exec, access, lane, true, &element)) return false;
    if (element < 0) {
      memset(to, 0, size);
      continue;
    }
    if (access->watched && !ir_exec_touch(exec, access, element, lane, IR_TOUCH_READ)) return false;
    if (packed) {
      ir_unpack4(buffer->dtype == IR_I4, to, exec->data[access->buffer], element, 1, access->width);
    } else {
      memcpy(to, exec->data[access->buffer] + (size_t)element * (size / access->width), size);
    }
  }
  return true;
}

static void fill_offsets(ir_exec *exec, const ir_linear *offset, int64_t lo, int64_t hi) {
  const ir_kernels *kernels = exec->kernels;
  int64_t base = ir_linear_base(exec, offset) + offset->lane * lo;
  size_t n = (size_t)(hi - lo);
  if (offset->lane) {
    for (size_t i = 0; i < n; i++) exec->offsets[i] = base + offset->lane * (int64_t)i;
  } else {
    kernels->splat[3](exec->offsets, &base, NULL, NULL, n);
  }
  for (uint32_t i = offset->uniform; i < offset->uniform + offset->varying; i++) {
    const int64_t *values = (const int64_t *)exec->at[offset->terms[i].reg] + lo;
    kernels->add_scaled(exec->offsets, values, &offset->terms[i].scale, NULL, n);
  }
}

/* Elements of lanes that are all in range, to TO as they are stored. */
static void load_evenly(ir_exec *exec, const ir_access *access, int64_t lo, int64_t hi, uint8_t *to) {
  const ir_buffer *buffer = &exec->plan->buffers[access->buffer];
  unsigned size = ir_stored_size((ir_dtype)buffer->dtype), class = ir_size_class(size);
  size_t n = (size_t)(hi - lo), bytes = size * access->width;
  const uint8_t *data = exec->data[access->buffer];
  const ir_linear *offset = &access->offset;
  bool packed = ir_dtypes[buffer->dtype].bits == 4;
  if (offset->varying) {
    fill_offsets(exec, offset, lo, hi);
    if (access->width == 1 && !packed) {
      exec->kernels->gather[class](to, data, exec->offsets, NULL, n);
      return;
    }
    for (size_t i = 0; i < n; i++) {
      if (packed) ir_unpack4(buffer->dtype == IR_I4, to + i * bytes, data, exec->offsets[i], 1, access->width);
      else memcpy(to + i * bytes, data + (size_t)exec->offsets[i] * size, bytes);
    }
    return;
  }
  int64_t first = ir_linear_base(exec, offset) + offset->lane * lo;
  if (packed) {
    for (size_t i = 0; access->width > 1 && i < n; i++) {
      ir_unpack4(buffer->dtype == IR_I4, to + i * bytes, data, first + (int64_t)i * offset->lane, 1, access->width);
    }
    if (access->width == 1) ir_unpack4(buffer->dtype == IR_I4, to, data, first, offset->lane, n);
    return;
  }
  data += (size_t)first * size;
  if (access->width == 1) {
    if (offset->lane) ir_copy_strided(class, to, data, offset->lane, n);
    else exec->kernels->splat[class](to, data, NULL, NULL, n);
    return;
  }
  for (size_t i = 0; i < n; i++) memcpy(to + i * bytes, data + (ptrdiff_t)i * offset->lane * (ptrdiff_t)size, bytes);
}

bool ir_exec_load(ir_exec *exec, const ir_instr *instr) {
  const ir_access *access = instr->info;
  const ir_reg_info *info = &exec->plan->regs[instr->d];
  int64_t lo = instr->varying ? exec->lo : 0, hi = instr->varying ? exec->hi : 1;
  uint8_t *own = exec->plan->memory + info->offset;
  exec->at[instr->d] = own;
  own += (size_t)lo * info->size;
  ir_strip *convert = exec->kernels->load[info->dtype];
  bool each = access->watched || (exec->mask && access->offset.varying) || (access->check_count && !in_range(exec, access, lo, hi));
  if (each) {
    if (!load_each(exec, instr, access, lo, hi)) return false;
    if (convert) convert(own, exec->raw, NULL, NULL, (size_t)(hi - lo) * access->width);
    else memcpy(own, exec->raw, (size_t)(hi - lo) * info->size);
    return true;
  }
  if (convert) {
    load_evenly(exec, access, lo, hi, exec->raw);
    convert(own, exec->raw, NULL, NULL, (size_t)(hi - lo) * access->width);
    return true;
  }
  if (access->direct && instr->varying && !access->offset.varying && access->offset.lane == access->width &&
      ir_dtypes[info->dtype].bits >= 8) {
    exec->at[instr->d] = exec->data[access->buffer] + ir_linear_base(exec, &access->offset) * (int64_t)(info->size / access->width);
    return true;
  }
  load_evenly(exec, access, lo, hi, own);
  return true;
}

/* --- stores --- */
static void put_one(const ir_buffer *buffer, uint8_t *data, int64_t element, unsigned width, const uint8_t *from) {
  if (ir_dtypes[buffer->dtype].bits == 4) {
    for (unsigned i = 0; i < width; i++) {
      uint8_t *byte = &data[(element + i) / 2];
      *byte = (element + i) & 1 ? (uint8_t)((*byte & 0x0f) | from[i] << 4) : (uint8_t)((*byte & 0xf0) | (from[i] & 15));
    }
    return;
  }
  size_t size = ir_stored_size((ir_dtype)buffer->dtype);
  memcpy(data + (size_t)element * size, from, size * width);
}

static bool store_each(ir_exec *exec, const ir_instr *instr, const ir_access *access, int64_t lo, int64_t hi, const uint8_t *from) {
  const ir_buffer *buffer = &exec->plan->buffers[access->buffer];
  size_t size = ir_stored_size((ir_dtype)buffer->dtype) * access->width;
  for (int64_t lane = lo; lane < hi; lane++) {
    if (!is_active(exec, instr, lane)) continue;
    int64_t element;
    if (!locate(exec, access, lane, false, &element)) return false;
    if (element < 0) continue;
    if (access->watched && !ir_exec_touch(exec, access, element, lane, IR_TOUCH_WRITE)) return false;
    put_one(buffer, exec->data[access->buffer], element, access->width, from + (size_t)(lane - lo) * size);
  }
  return true;
}

static void store_evenly(ir_exec *exec, const ir_instr *instr, const ir_access *access, int64_t lo, int64_t hi, const uint8_t *from) {
  const ir_buffer *buffer = &exec->plan->buffers[access->buffer];
  unsigned size = ir_stored_size((ir_dtype)buffer->dtype);
  size_t n = (size_t)(hi - lo), bytes = size * access->width;
  uint8_t *data = exec->data[access->buffer];
  const ir_linear *offset = &access->offset;
  if (!offset->varying && !exec->mask && ir_dtypes[buffer->dtype].bits >= 8) {
    data += (ir_linear_base(exec, offset) + offset->lane * lo) * (int64_t)size;
    if (offset->lane == access->width) {
      memmove(data, from, n * bytes);
      return;
    }
    if (offset->lane == 0) {
      memcpy(data, from + (n - 1) * bytes, bytes);
      return;
    }
    if (access->width == 1) {
      ir_store_strided(ir_size_class(size), data, from, offset->lane, n);
      return;
    }
    for (size_t i = 0; i < n; i++) memcpy(data + (ptrdiff_t)i * offset->lane * (ptrdiff_t)size, from + i * bytes, bytes);
    return;
  }
  fill_offsets(exec, offset, lo, hi);
  for (size_t i = 0; i < n; i++) {
    if (is_active(exec, instr, lo + (int64_t)i)) put_one(buffer, data, exec->offsets[i], access->width, from + i * bytes);
  }
}

bool ir_exec_store(ir_exec *exec, const ir_instr *instr) {
  const ir_access *access = instr->info;
  const ir_reg_info *info = &exec->plan->regs[instr->a];
  int64_t lo = instr->varying ? exec->lo : 0, hi = instr->varying ? exec->hi : 1;
  const uint8_t *from = exec->at[instr->a] + (size_t)lo * info->size;
  ir_strip *convert = exec->kernels->store[info->dtype];
  if (convert) {
    convert(exec->raw, from, NULL, NULL, (size_t)(hi - lo) * access->width);
    from = exec->raw;
  }
  bool each = access->watched || (exec->mask && access->offset.varying) || (access->check_count && !in_range(exec, access, lo, hi));
  if (each) return store_each(exec, instr, access, lo, hi, from);
  store_evenly(exec, instr, access, lo, hi, from);
  return true;
}

bool ir_exec_atomic(ir_exec *exec, const ir_instr *instr) {
  const ir_atomic *atomic = instr->info;
  const ir_access *access = &atomic->access;
  const ir_buffer *buffer = &exec->plan->buffers[access->buffer];
  const ir_reg_info *info = &exec->plan->regs[instr->a];
  const ir_kernels *kernels = exec->kernels;
  int64_t lo = instr->varying ? exec->lo : 0, hi = instr->varying ? exec->hi : 1;
  for (int64_t lane = lo; lane < hi; lane++) {
    if (!is_active(exec, instr, lane)) continue;
    int64_t element;
    uint64_t stored = 0, value = 0;
    if (!locate(exec, access, lane, false, &element)) return false;
    if (element < 0) continue;
    if (access->watched && !ir_exec_touch(exec, access, element, lane, IR_TOUCH_ATOMIC)) return false;
    uint8_t *data = exec->data[access->buffer];
    unsigned size = ir_stored_size((ir_dtype)buffer->dtype);
    if (ir_dtypes[buffer->dtype].bits == 4) ir_unpack4(buffer->dtype == IR_I4, (uint8_t *)&stored, data, element, 1, 1);
    else memcpy(&stored, data + (size_t)element * size, size);
    if (kernels->load[info->dtype]) kernels->load[info->dtype](&value, &stored, NULL, NULL, 1);
    else value = stored;
    atomic->combine(&value, &value, exec->at[instr->a] + (size_t)lane * info->size, NULL, 1);
    if (atomic->narrow) atomic->narrow(&value, &value, NULL, NULL, 1);
    if (kernels->store[info->dtype]) kernels->store[info->dtype](&stored, &value, NULL, NULL, 1);
    else stored = value;
    put_one(buffer, data, element, 1, (const uint8_t *)&stored);
  }
  return true;
}

/* Fresh memory holds ones: NaN, -1, true. It is not initialised, but every run must see the same. */
bool ir_exec_alloc(ir_exec *exec, const ir_instr *instr) {
  const ir_buffer *buffer = &exec->plan->buffers[instr->b];
  ir_tensor **owned = &exec->owned[instr->b];
  if (!*owned) {
    int64_t count = buffer->count, lanes = buffer->own ? exec->plan->lanes : 1;
    if (!ir_mul_i64(count, buffer->width, &count) || !ir_mul_i64(count, lanes, &count)) count = INT64_MAX;
    *owned = ir_tensor_new(exec->meter, (ir_dtype)buffer->dtype, 1, &count);
    if (!*owned) return ir_exec_fail(exec, instr->info, "no memory for '%s': the budget of bytes is spent", buffer->name);
    exec->data[instr->b] = (*owned)->data;
  }
  memset((*owned)->data, buffer->dtype == IR_BOOL ? 1 : 0xff, (*owned)->size);
  return true;
}
