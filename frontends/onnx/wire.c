// SPDX-License-Identifier: Apache-2.0
/* frontends/onnx/wire.c - a check of the encoding of ONNX models, and copies of them without their weights. Needs
 * base/. Walks the messages with a stack of its own, once; the rows of wire.def say which fields are messages. */
#include "frontends/onnx/wire.h"

#include "base/vec.h"

enum { VARINT_BYTES = 10, LENGTH_BYTES = 5, TAG_BYTES = 5, MARK_SIZE = 16, MAX_FIELD = 32 };
static const uint8_t mark_prefix[8] = {0x93, 'r', 'i', 'l', 'l', 'r', 'a', 'w'};

enum wire_type { WIRE_VARINT, WIRE_FIXED64, WIRE_LENGTH, WIRE_GROUP, WIRE_END_GROUP, WIRE_FIXED32 };

enum kind {
  UNKNOWN,
  VARINT,
  VARINTS,
  FIXED32,
  FIXED32S,
  FIXED64S,
  STRING,
  STRINGS,
  BYTES,
  BYTESS,
  RAW,
  MESSAGE,
  MESSAGES
};

/* The wire type of a single element of each kind, and whether elements may also come packed. */
static const struct {
  enum wire_type type;
  bool packable, repeated;
} kinds[] = {
    [VARINT] = {WIRE_VARINT, false, false},   [VARINTS] = {WIRE_VARINT, true, true},
    [FIXED32] = {WIRE_FIXED32, false, false}, [FIXED32S] = {WIRE_FIXED32, true, true},
    [FIXED64S] = {WIRE_FIXED64, true, true},  [STRING] = {WIRE_LENGTH, false, false},
    [STRINGS] = {WIRE_LENGTH, false, true},   [BYTES] = {WIRE_LENGTH, false, false},
    [BYTESS] = {WIRE_LENGTH, false, true},    [RAW] = {WIRE_LENGTH, false, false},
    [MESSAGE] = {WIRE_LENGTH, false, false},  [MESSAGES] = {WIRE_LENGTH, false, true},
};

enum message {
  NONE,
#define WIRE_MESSAGE(ID) ID,
#include "frontends/onnx/wire.def"
  MESSAGE_COUNT
};

static const struct field {
  const char *name;
  uint8_t kind, of;
} fields[MESSAGE_COUNT][MAX_FIELD] = {
#define WIRE(ID, number, text, shape, message) [ID][number] = {text, shape, message},
#include "frontends/onnx/wire.def"
};

/* What changes in a stripped copy: the length of a message, or a raw_data with its length. */
struct ir_onnx_wire_edit {
  size_t at;        /* of the length */
  size_t old_bytes; /* that the length, and a payload after it, take now */
  uint64_t value;   /* the new length of a message, or the number of a slice */
  bool is_raw;
};

struct frame {
  enum message message;
  size_t tag, length_at, begin, end; /* offsets of the field's tag, its length, the content */
  uint32_t number;                   /* of the field that this message is, in the frame below */
  uint32_t seen;                     /* fields that may occur once and did, by number */
  size_t edit, saved;                /* the edit kept for this message's length; bytes that edits inside save */
};

struct walk {
  ir_diags *diags;
  ir_arena *arena;
  const uint8_t *bytes;
  size_t at, keep;
  size_t depth, graphs, messages;
  const char *name;
  ir_vec(ir_onnx_wire_slice) slices;
  ir_vec(ir_onnx_wire_edit) edits;
  struct frame stack[IR_ONNX_MAX_DEPTH];
};

/* A field as it stands in the bytes. */
struct item {
  size_t tag, length_at, begin, end; /* of the content; length_at is begin but for WIRE_LENGTH */
  uint32_t number;
  enum wire_type type;
};

static struct frame *top(struct walk *w) { return &w->stack[w->depth - 1]; }

static const struct field *field_of(enum message message, uint32_t number) {
  static const struct field unknown;
  return number < MAX_FIELD ? &fields[message][number] : &unknown;
}

/* Reads a varint of at most MOST bytes that ends before END; false where it does not. */
static bool read_varint(const uint8_t *bytes, size_t *at, size_t end, int most, uint64_t *value) {
  uint64_t result = 0;
  size_t next = *at;
  for (int i = 0; i < most && next < end; i++) {
    uint8_t byte = bytes[next++];
    result |= (uint64_t)(byte & 0x7f) << (7 * i);
    if (byte & 0x80) continue;
    *at = next;
    *value = result;
    return true;
  }
  return false;
}

static size_t varint_size(uint64_t value) {
  size_t size = 1;
  while (value >>= 7) size++;
  return size;
}

/* Reads tag and extent of the field at AT; says what is wrong with it, or NULL. *problem is where. */
static const char *read_item(const uint8_t *bytes, size_t at, size_t end, struct item *item, size_t *problem) {
  uint64_t tag, length;
  item->tag = *problem = at;
  if (!read_varint(bytes, &at, end, TAG_BYTES, &tag) || tag > UINT32_MAX) return "a field key that does not end";
  item->number = (uint32_t)(tag >> 3);
  item->type = (enum wire_type)(tag & 7);
  if (!item->number) return "field number 0";
  item->length_at = item->begin = *problem = at;
  size_t left = end - at;
  switch (item->type) {
  case WIRE_VARINT:
    if (!read_varint(bytes, &at, end, VARINT_BYTES, &length)) return "a varint that does not end";
    item->end = at;
    return NULL;
  case WIRE_FIXED64:
    item->end = at + 8;
    return left < 8 ? "a 64-bit number that does not fit the message around it" : NULL;
  case WIRE_FIXED32:
    item->end = at + 4;
    return left < 4 ? "a 32-bit number that does not fit the message around it" : NULL;
  case WIRE_LENGTH:
    if (!read_varint(bytes, &at, end, LENGTH_BYTES, &length)) return "a length that does not end";
    if (length > end - at) return "a length that passes the end of the message around it";
    item->begin = at;
    item->end = at + (size_t)length;
    return NULL;
  case WIRE_GROUP:
  case WIRE_END_GROUP: *problem = item->tag; return "a group, which ONNX does not use";
  }
  *problem = item->tag;
  return "a wire type that does not exist";
}

/* How many fields like the one at TAG precede it in the message around it, all known to be well formed. */
static size_t index_of(const struct walk *w, const struct frame *around, const struct frame *inner) {
  size_t count = 0, problem;
  struct item item = {0};
  for (size_t at = around->begin; at < inner->tag; at = item.end) {
    if (read_item(w->bytes, at, around->end, &item, &problem)) break;
    count += item.number == inner->number;
  }
  return count;
}

/* "graph.node[3].attribute[0]": the messages on the stack; the middle of a long path is left out. */
static void put_path(const struct walk *w, ir_text *text) {
  enum { FIRST = 8, LAST = 5 };
  bool cut = w->depth > FIRST + LAST + 1;
  for (size_t i = 1; i < w->depth; i++) {
    if (cut && i == FIRST) {
      ir_text_put(text, "...");
      i = w->depth - LAST;
    }
    const struct frame *around = &w->stack[i - 1], *inner = &w->stack[i];
    const struct field *field = field_of(around->message, inner->number);
    ir_text_printf(text, "%s%s", i > 1 ? "." : "", field->name);
    if (kinds[field->kind].repeated) ir_text_printf(text, "[%zu]", index_of(w, around, inner));
  }
}

static bool refuse(struct walk *w, size_t at, const struct field *field, const char *what) {
  ir_text place = {0};
  put_path(w, &place);
  if (field && field->name) ir_text_printf(&place, "%s%s", place.length ? "." : "", field->name);
  ir_error_in(w->diags, w->name, "not a well-formed ONNX model: at byte %zu%s%s: %s", at, place.length ? ", in " : "",
              place.length ? place.at : "", what);
  ir_text_free(&place);
  return false;
}

/* Packed numbers: whole ones only. */
static bool check_packed(struct walk *w, const struct item *item, const struct field *field) {
  enum wire_type element = kinds[field->kind].type;
  size_t size = item->end - item->begin;
  if (element == WIRE_FIXED32 && size % 4)
    return refuse(w, item->length_at, field, "a length that is no multiple of 4");
  if (element == WIRE_FIXED64 && size % 8)
    return refuse(w, item->length_at, field, "a length that is no multiple of 8");
  if (element != WIRE_VARINT) return true;
  uint64_t value;
  for (size_t at = item->begin; at < item->end;) {
    if (!read_varint(w->bytes, &at, item->end, VARINT_BYTES, &value)) {
      return refuse(w, at, field, "a varint that does not end");
    }
  }
  return true;
}

static bool check_once(struct walk *w, const struct item *item, const struct field *field) {
  struct frame *frame = top(w);
  uint32_t bit = UINT32_C(1) << (frame->message == TYPE ? 0 : item->number);
  if (frame->seen & bit) {
    const char *what = frame->message == TYPE ? "a second type in one place" : "a field that may occur once, again";
    return refuse(w, item->tag, field, what);
  }
  frame->seen |= bit;
  return true;
}

static bool is_mark(const uint8_t *bytes, size_t length) {
  return length == MARK_SIZE && !memcmp(bytes, mark_prefix, sizeof mark_prefix);
}

static bool take_raw(struct walk *w, const struct item *item, const struct field *field) {
  if (!check_once(w, item, field)) return false;
  size_t length = item->end - item->begin, number = w->slices.count;
  *ir_push(w->arena, &w->slices) = (ir_onnx_wire_slice){top(w)->begin, item->begin, length};
  if (length <= w->keep && !is_mark(w->bytes + item->begin, length)) return true;
  size_t old_bytes = item->end - item->length_at;
  *ir_push(w->arena, &w->edits) = (ir_onnx_wire_edit){item->length_at, old_bytes, number, true};
  top(w)->saved += old_bytes - (1 + MARK_SIZE);
  return true;
}

static bool enter(struct walk *w, const struct item *item, const struct field *field) {
  if (w->depth == IR_ONNX_MAX_DEPTH) return refuse(w, item->tag, field, "more than 256 messages within each other");
  if (field->of == GRAPH && w->graphs == IR_ONNX_MAX_GRAPHS) {
    return refuse(w, item->tag, field, "more than 64 graphs within each other");
  }
  if (w->messages == IR_ONNX_MAX_MESSAGES) return refuse(w, item->tag, field, "more than 16777216 messages");
  w->graphs += field->of == GRAPH;
  w->messages++;
  w->stack[w->depth++] = (struct frame){.message = (enum message)field->of,
                                        .tag = item->tag,
                                        .length_at = item->length_at,
                                        .begin = item->begin,
                                        .end = item->end,
                                        .number = item->number,
                                        .edit = w->edits.count};
  *ir_push(w->arena, &w->edits) =
      (ir_onnx_wire_edit){.at = item->length_at, .old_bytes = item->begin - item->length_at};
  w->at = item->begin;
  return true;
}

/* The length of a message that is over: an edit where one inside changed it, else none. */
static void leave(struct walk *w) {
  struct frame *frame = top(w);
  w->graphs -= frame->message == GRAPH;
  w->depth--;
  if (!w->depth) return;
  if (w->edits.count == frame->edit + 1) {
    w->edits.count--;
    return;
  }
  ir_onnx_wire_edit *edit = &w->edits.at[frame->edit];
  edit->value = frame->end - frame->begin - frame->saved;
  top(w)->saved += frame->saved + edit->old_bytes - varint_size(edit->value);
}

static bool take_item(struct walk *w, const struct item *item) {
  const struct field *field = field_of(top(w)->message, item->number);
  w->at = item->end;
  if (!field->kind) return true;
  bool packed = item->type == WIRE_LENGTH && kinds[field->kind].packable;
  if (item->type != kinds[field->kind].type && !packed) {
    char what[64];
    snprintf(what, sizeof what, "wire type %d, expected %d", (int)item->type, (int)kinds[field->kind].type);
    return refuse(w, item->tag, field, what);
  }
  switch ((enum kind)field->kind) {
  case UNKNOWN:
  case VARINT:
  case FIXED32:
  case BYTES:
  case BYTESS: return true;
  case VARINTS:
  case FIXED32S:
  case FIXED64S: return !packed || check_packed(w, item, field);
  case STRING:
  case STRINGS: {
    size_t length = item->end - item->begin;
    const uint8_t *nul = length ? memchr(w->bytes + item->begin, 0, length) : NULL;
    return !nul || refuse(w, (size_t)(nul - w->bytes), field, "a NUL byte in a string");
  }
  case RAW: return take_raw(w, item, field);
  case MESSAGE: return check_once(w, item, field) && enter(w, item, field);
  case MESSAGES: return enter(w, item, field);
  }
  return true;
}

static bool walk_all(struct walk *w) {
  while (w->depth) {
    if (w->at == top(w)->end) {
      leave(w);
      continue;
    }
    struct item item = {0};
    size_t problem;
    const char *what = read_item(w->bytes, w->at, top(w)->end, &item, &problem);
    if (what) return refuse(w, problem, field_of(top(w)->message, item.number), what);
    if (!take_item(w, &item)) return false;
  }
  return true;
}

bool ir_onnx_wire_check(ir_diags *diags, ir_arena *arena, const char *name, const uint8_t *bytes, size_t size,
                        size_t keep, ir_onnx_wire *wire) {
  struct walk w = {.diags = diags, .arena = arena, .bytes = bytes, .name = name, .depth = 1, .messages = 1};
  w.keep = keep < MARK_SIZE ? MARK_SIZE : keep;
  w.stack[0] = (struct frame){.message = MODEL, .end = size};
  if (!walk_all(&w)) return false;
  *wire = (ir_onnx_wire){name, bytes, size, w.slices.at, w.slices.count, w.messages, w.edits.at, w.edits.count};
  return true;
}

/* Stripped copies. */

static uint8_t *put_varint(uint8_t *to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) *to++ = (uint8_t)(value | 0x80);
  *to++ = (uint8_t)value;
  return to;
}

static size_t stripped_size(const ir_onnx_wire *wire) {
  size_t size = wire->size;
  for (size_t i = 0; i < wire->edit_count; i++) {
    const ir_onnx_wire_edit *edit = &wire->edits[i];
    size = size - edit->old_bytes + (edit->is_raw ? 1 + MARK_SIZE : varint_size(edit->value));
  }
  return size;
}

static uint8_t *put_edit(uint8_t *to, const ir_onnx_wire_edit *edit) {
  if (!edit->is_raw) return put_varint(to, edit->value);
  *to++ = MARK_SIZE;
  memcpy(to, mark_prefix, sizeof mark_prefix);
  to += sizeof mark_prefix;
  for (int i = 0; i < 8; i++) *to++ = (uint8_t)(edit->value >> (8 * i));
  return to;
}

const uint8_t *ir_onnx_wire_strip(ir_diags *diags, ir_arena *arena, const ir_onnx_wire *wire, size_t *size) {
  *size = stripped_size(wire);
  if (*size > INT32_MAX) {
    ir_error_in(diags, wire->name, "%zu bytes besides raw tensor data: Protocol Buffers end at 2 GiB", *size);
    return NULL;
  }
  if (!wire->edit_count) return wire->bytes;
  uint8_t *copy = ir_arena_alloc(arena, *size), *to = copy;
  size_t from = 0;
  for (size_t i = 0; i < wire->edit_count; i++) {
    const ir_onnx_wire_edit *edit = &wire->edits[i];
    memcpy(to, wire->bytes + from, edit->at - from);
    to = put_edit(to + (edit->at - from), edit);
    from = edit->at + edit->old_bytes;
  }
  memcpy(to, wire->bytes + from, wire->size - from);
  return copy;
}

const uint8_t *ir_onnx_wire_payload(const ir_onnx_wire *wire, const uint8_t *raw, size_t raw_length, size_t *length) {
  uint64_t number = 0;
  bool mark = is_mark(raw, raw_length);
  for (int i = 0; mark && i < 8; i++) number |= (uint64_t)raw[8 + i] << (8 * i);
  if (!mark || number >= wire->slice_count) {
    *length = raw_length;
    return raw;
  }
  *length = wire->slices[number].length;
  return wire->bytes + wire->slices[number].offset;
}
