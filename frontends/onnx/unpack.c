// SPDX-License-Identifier: Apache-2.0
/* frontends/onnx/unpack.c - bytes as messages on an arena. No string of a message is NULL: what is not there is empty. */
#include "frontends/onnx/importer.h"

static char nothing[1];

static void *take(void *arena, size_t size) { return ir_arena_alloc(arena, size); }
static void leave(void *arena, void *memory) { (void)arena, (void)memory; }

static void fill(ProtobufCMessage *message);

static void fill_field(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field) {
  char *at = (char *)message + field->offset;
  bool chosen = !(field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) || *(uint32_t *)(void *)((char *)message + field->quantifier_offset) == field->id;
  if (!chosen) return;
  if (field->label == PROTOBUF_C_LABEL_REPEATED) {
    size_t count = *(size_t *)(void *)((char *)message + field->quantifier_offset);
    for (size_t i = 0; field->type == PROTOBUF_C_TYPE_MESSAGE && i < count; i++) fill((*(ProtobufCMessage ***)(void *)at)[i]);
  } else if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
    if (*(ProtobufCMessage **)(void *)at) fill(*(ProtobufCMessage **)(void *)at);
  } else if (field->type == PROTOBUF_C_TYPE_STRING && !*(char **)(void *)at) {
    *(char **)(void *)at = nothing;
  }
}

static void fill(ProtobufCMessage *message) {
  for (unsigned i = 0; i < message->descriptor->n_fields; i++) fill_field(message, &message->descriptor->fields[i]);
}

void *ir_onnx_unpack(ir_arena *arena, const ProtobufCMessageDescriptor *kind, size_t size, const uint8_t *bytes) {
  ProtobufCAllocator allocator = {.alloc = take, .free = leave, .allocator_data = arena};
  ProtobufCMessage *message = protobuf_c_message_unpack(kind, &allocator, size, bytes);
  if (message) fill(message);
  return message;
}
