// SPDX-License-Identifier: Apache-2.0
/* targets/spirv/encode.c - instructions as words, in sections that are put together at the end. */
#include "targets/spirv/emit.h"

void sv_put(ir_arena *arena, sv_words *words, SpvOp op, size_t count, const uint32_t *operands) {
  *ir_push(arena, words) = (uint32_t)(count + 1) << SpvWordCountShift | (uint32_t)op;
  for (size_t i = 0; i < count; i++) *ir_push(arena, words) = operands[i];
}

/* Four bytes a word, the first one lowest, with a NUL at the end. */
void sv_put_text(ir_arena *arena, sv_words *words, const char *text) {
  size_t length = strlen(text);
  for (size_t i = 0; i <= length; i += 4) {
    uint32_t word = 0;
    for (size_t k = 0; k < 4 && i + k < length; k++) word |= (uint32_t)(uint8_t)text[i + k] << (8 * k);
    *ir_push(arena, words) = word;
  }
}

/* An instruction that ends with TEXT, behind OPERANDS. */
static void put_with_text(sv_module *m, sv_section section, SpvOp op, size_t count, const uint32_t *operands, const char *text) {
  sv_words words = {0};
  for (size_t i = 0; i < count; i++) *ir_push(m->arena, &words) = operands[i];
  sv_put_text(m->arena, &words, text);
  sv_put(m->arena, &m->sections[section], op, words.count, words.at);
}

/* --- what is there once --- */

typedef struct entry {
  SpvOp op;
  sv_id type, id;
  size_t count;
  const uint32_t *operands;
} entry;

static bool same(const void *object, const void *key) {
  const entry *a = object, *b = key;
  return a->op == b->op && a->type == b->type && a->count == b->count && (!a->count || !memcmp(a->operands, b->operands, a->count * sizeof *a->operands));
}

static entry *find(sv_module *m, SpvOp op, sv_id type, size_t count, const uint32_t *operands, bool *fresh) {
  const entry key = {op, type, 0, count, operands};
  uint64_t hash = ir_hash_mix(ir_hash_mix(7, op), type);
  for (size_t i = 0; i < count; i++) hash = ir_hash_mix(hash, operands[i]);
  void **slot = ir_intern_slot(m->arena, &m->interned, hash, &key, same);
  *fresh = !*slot;
  if (*slot) return *slot;
  entry *made = ir_new(m->arena, entry);
  *made = key;
  made->operands = ir_arena_copy(m->arena, operands, count * sizeof *operands);
  return *slot = made;
}

sv_id sv_intern(sv_module *m, sv_section section, SpvOp op, sv_id type, size_t count, const uint32_t *operands, bool *fresh) {
  bool is_new;
  entry *found = find(m, op, type, count, operands, &is_new);
  if (fresh) *fresh = is_new;
  if (!is_new) return found->id;
  found->id = ++m->ids;
  sv_words words = {0};
  if (type) *ir_push(m->arena, &words) = type;
  *ir_push(m->arena, &words) = found->id;
  for (size_t i = 0; i < count; i++) *ir_push(m->arena, &words) = operands[i];
  sv_put(m->arena, &m->sections[section], op, words.count, words.at);
  return found->id;
}

void sv_capability(sv_module *m, SpvCapability capability) {
  bool fresh;
  const uint32_t operand = (uint32_t)capability;
  find(m, SpvOpCapability, 0, 1, &operand, &fresh);
  if (fresh) sv_put(m->arena, &m->sections[SV_CAPABILITIES], SpvOpCapability, 1, &operand);
}

void sv_extension(sv_module *m, const char *name) {
  bool fresh;
  sv_words words = {0};
  sv_put_text(m->arena, &words, name);
  find(m, SpvOpExtension, 0, words.count, words.at, &fresh);
  if (fresh) sv_put(m->arena, &m->sections[SV_EXTENSIONS], SpvOpExtension, words.count, words.at);
}

sv_id sv_import(sv_module *m) {
  sv_words words = {0};
  sv_put_text(m->arena, &words, "GLSL.std.450");
  return sv_intern(m, SV_IMPORTS, SpvOpExtInstImport, 0, words.count, words.at, NULL);
}

void sv_name(sv_module *m, sv_id id, const char *name) { put_with_text(m, SV_NAMES, SpvOpName, 1, &id, name); }

void sv_decorate(sv_module *m, sv_id id, SpvDecoration decoration, size_t count, const uint32_t *operands) {
  sv_words words = {0};
  *ir_push(m->arena, &words) = id;
  *ir_push(m->arena, &words) = (uint32_t)decoration;
  for (size_t i = 0; i < count; i++) *ir_push(m->arena, &words) = operands[i];
  sv_put(m->arena, &m->sections[SV_DECORATIONS], SpvOpDecorate, words.count, words.at);
}

/* --- the whole --- */

static void write_words(ir_text *out, const uint32_t *words, size_t count) {
  if (count) ir_text_bytes(out, (const char *)words, count * sizeof *words);
}

void sv_write(sv_module *m, ir_text *out) {
  static const uint32_t versions[] = {0x10300, 0x10300, 0x10500, 0x10600};
  const uint32_t header[] = {SpvMagicNumber, versions[m->options.vulkan], 0, m->ids + 1, 0};
  const uint32_t model[] = {3 << SpvWordCountShift | SpvOpMemoryModel, SpvAddressingModelLogical, SpvMemoryModelGLSL450};
  write_words(out, header, ir_count_of(header));
  for (int i = 0; i < SV_SECTION_COUNT; i++) {
    if (i == SV_ENTRIES) write_words(out, model, ir_count_of(model));
    write_words(out, m->sections[i].at, m->sections[i].count);
  }
}
