// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/host_value.c - values of graph functions and their memory. */
#include "targets/llvm/host.h"

#include "ir/print.h"

#define B (h->f.builder)

host_value *host_get(host *h, ir_value *value) {
  host_value *found = ir_map_get(&h->values, value);
  if (found) return found;
  /* An inline scalar. */
  found = host_new(h, h->f.source->item.range, value->type);
  if (found) found->data = emit_scalar(&h->f, value).value;
  return found;
}

void host_set(host *h, const ir_value *value, host_value *found) {
  emit_function *f = &h->f;
  ir_map_put(&f->arena, &h->values, value, found);
  if (ir_is_scalar(found->type)) emit_bind(f, value, emit_uniform_value(found->data));
  if (!ir_is_tensor(found->type)) return;
  emit_buffer *buffer = ir_new(&f->arena, emit_buffer);
  *buffer = (emit_buffer){.data = found->data,
                          .dtype = ir_type_dtype(found->type),
                          .lanes = 1,
                          .rank = found->count,
                          .dims = found->dims,
                          .type_dims = ir_type_dims(found->type),
                          .width = 1};
  ir_map_put(&f->arena, &f->buffers, value, buffer);
}

host_value *host_new(host *h, ir_range range, const ir_type *type) {
  emit_function *f = &h->f;
  bool sized = (ir_is_tensor(type) || type->kind == IR_TYPE_SHAPE) && type->ranked;
  bool storage = type->kind == IR_TYPE_STORAGE;
  bool fixed = sized || storage || ir_is_scalar(type) || type->kind == IR_TYPE_TUPLE;
  bool typed = !ir_is_tensor(type) || type->dtype != IR_DTYPE_UNKNOWN;
  if (!fixed || !typed) {
    emit_cannot(f, range, "hold a value of type %s: not implemented on llvm", ir_type_text(&f->arena, type));
    return NULL;
  }
  if ((ir_is_tensor(type) || ir_is_scalar(type)) && type->lanes > 1) {
    emit_cannot(f, range, "hold a value of type %s: vectors are not implemented on llvm", ir_type_text(&f->arena, type));
    return NULL;
  }
  host_value *value = ir_new(&f->arena, host_value);
  value->type = type;
  value->count = ir_is_scalar(type) ? 0 : storage ? 1 : type->count;
  if (type->kind == IR_TYPE_TUPLE) {
    value->fields = ir_new_array(&f->arena, host_value *, value->count);
  } else if (value->count) {
    value->dims = ir_new_array(&f->arena, LLVMValueRef, value->count);
  }
  return value;
}

/* --- owners --- */

void host_owners_add(host *h, host_owners *owners, host_owner *owner) {
  for (size_t i = 0; i < owners->count; i++) {
    if (owners->at[i] == owner) return;
  }
  *ir_push(&h->f.arena, owners) = owner;
}

host_owner *host_own(host *h, ir_region *home) {
  host_owner *owner = ir_new(&h->f.arena, host_owner);
  *owner = (host_owner){emit_slot(&h->f), home};
  *ir_push(&h->f.arena, &h->owners) = owner;
  return owner;
}

void host_move(host *h, const host_value *value, const ir_region *home, LLVMValueRef slot) {
  LLVMTypeRef ptr = h->f.unit->ptr;
  LLVMBuildStore(B, LLVMConstNull(ptr), slot);
  for (size_t i = 0; i < value->owners.count; i++) {
    const host_owner *owner = value->owners.at[i];
    if (owner->home != home) continue;
    LLVMValueRef held = LLVMBuildLoad2(B, ptr, owner->slot, "");
    LLVMValueRef same = LLVMBuildICmp(B, LLVMIntEQ, held, value->data, "");
    LLVMBasicBlockRef take = emit_block(&h->f, "take"), join = emit_block(&h->f, "join");
    LLVMBuildCondBr(B, same, take, join);
    emit_at(&h->f, take);
    LLVMBuildStore(B, held, slot);
    LLVMBuildStore(B, LLVMConstNull(ptr), owner->slot);
    LLVMBuildBr(B, join);
    emit_at(&h->f, join);
  }
}

/* --- memory --- */

LLVMValueRef host_bytes(host *h, ir_range range, const host_value *tensor, bool exists) {
  bool known = exists || ir_map_has(&h->sized, tensor->type);
  ir_text text = {0};
  ir_print_type(&text, tensor->type);
  LLVMValueRef bytes = emit_bytes(&h->f, range, text.at, ir_type_dtype(tensor->type), 1, tensor->count, tensor->dims, known);
  ir_text_free(&text);
  return bytes;
}

void host_note_size(host *h, const ir_type *type) {
  /* Inside of regions it may not be reached, and symbols may stand for something else later. */
  if (h->region != h->f.source->body || !ir_is_tensor(type)) return;
  for (size_t i = 0; i < type->count; i++) {
    if (!ir_type_dim(type, i)) return;
  }
  ir_map_put(&h->f.arena, &h->sized, type, h);
}

void host_allocate(host *h, ir_range range, host_value *tensor) {
  host_owner *owner = host_own(h, h->region);
  int64_t count;
  if (ir_type_static_dims(tensor->type, NULL, &count)) {
    tensor->data = emit_allocate(&h->f, owner->slot, host_bytes(h, range, tensor, count <= IR_EXTENT_MAX));
  } else {
    const char *what = ir_type_text(&h->f.scratch, tensor->type);
    tensor->data = emit_allocate_tensor(&h->f, owner->slot, range, what, ir_type_dtype(tensor->type), tensor->count, tensor->dims);
  }
  host_note_size(h, tensor->type);
  tensor->owners = (host_owners){0};
  host_owners_add(h, &tensor->owners, owner);
}

void host_copy(host *h, LLVMValueRef to, LLVMValueRef from, LLVMValueRef bytes) {
  LLVMBuildMemCpy(B, to, 1, from, 1, bytes);
}

LLVMValueRef host_load(host *h, LLVMValueRef pointer, ir_dtype dtype) {
  LLVMValueRef value = LLVMBuildLoad2(B, emit_memory_type(h->f.unit, dtype, 1), pointer, "");
  LLVMSetAlignment(value, emit_size(dtype));
  return emit_from_memory(&h->f, value, dtype);
}

void host_store(host *h, LLVMValueRef value, LLVMValueRef pointer, ir_dtype dtype) {
  LLVMSetAlignment(LLVMBuildStore(B, emit_to_memory(&h->f, value, dtype), pointer), emit_size(dtype));
}

LLVMValueRef host_scalar(host *h, ir_value *value) {
  host_value *found = host_get(h, value);
  if (!found) return LLVMGetPoison(h->f.unit->i64);
  return ir_is_scalar(found->type) ? found->data : host_load(h, found->data, ir_type_dtype(found->type));
}

LLVMValueRef host_pointer(host *h, ir_value *value) {
  host_value *found = host_get(h, value);
  if (!found) return LLVMConstNull(h->f.unit->ptr);
  if (!ir_is_scalar(found->type)) return found->data;
  ir_dtype dtype = ir_type_dtype(found->type);
  LLVMValueRef memory = emit_stack(&h->f, emit_memory_type(h->f.unit, dtype, 1), emit_size(dtype), "scalar");
  host_store(h, found->data, memory, dtype);
  return memory;
}
