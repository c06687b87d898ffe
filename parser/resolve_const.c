// SPDX-License-Identifier: Apache-2.0
/* parser/resolve_const.c - the elements of constants and resources. Needs parser/resolve.h. */
#include "base/checked.h"
#include "ir/print.h"
#include "parser/resolve.h"

struct filling {
  ir_parser *p;
  ir_dtype dtype;
  size_t rank;
  int64_t extents[IR_PARSE_MAX_RANK];
  uint8_t *bytes;
  size_t at; /* the next element */
};

static bool put(struct filling *f, const ir_node *node) {
  uint64_t bits;
  if (!ir_resolve_number(f->p, node, f->dtype, &bits)) return false;
  unsigned width = ir_dtypes[f->dtype].bits;
  if (width == 4)
    f->bytes[f->at / 2] |= (uint8_t)(bits << (f->at % 2 * 4));
  else
    memcpy(f->bytes + f->at * (width / 8), &bits, width / 8);
  f->at++;
  return true;
}

static bool fill(struct filling *f, const ir_node *node, size_t axis) {
  if (axis == f->rank) {
    if (node->kind != N_LIST) return put(f, node);
    ir_parse_error(f->p, node->range, "expected a number, found a list: the type has %zu ax%s", f->rank,
                   f->rank == 1 ? "is" : "es");
    return false;
  }
  bool fits = node->kind == N_LIST && node->kids.count == f->extents[axis];
  if (!fits) {
    if (node->kind == N_LIST) {
      ir_parse_error(f->p, node->range, "expected %lld elements along axis %zu, found %u", (long long)f->extents[axis],
                     axis, node->kids.count);
    } else {
      ir_parse_error(f->p, node->range, "expected a list of %lld elements along axis %zu, found %s",
                     (long long)f->extents[axis], axis, ir_node_describe(f->p, node));
    }
    return false;
  }
  ir_each_node(kid, node->kids) {
    if (!fill(f, kid, axis + 1)) return false;
  }
  return true;
}

/* The type that the literal has by itself: its nesting, and bool, f32 or i64. */
static const ir_type *literal_type(ir_parser *p, const ir_node *node) {
  const ir_expr *dims[IR_PARSE_MAX_RANK];
  size_t rank = 0;
  const ir_node *at = node;
  for (; at && at->kind == N_LIST && rank < IR_PARSE_MAX_RANK; at = at->kids.first)
    dims[rank++] = ir_expr_i64(p->context, at->kids.count);
  bool is_bool = at && at->kind == N_ID && at->typed;
  return ir_type_tensor(p->context,
                        is_bool                              ? IR_BOOL
                        : node->floats || (at && at->floats) ? IR_F32
                                                             : IR_I64,
                        rank, dims);
}

static const ir_attr *of_resource(ir_parser *p, const ir_node *node, const ir_type **type) {
  const ir_string *name = ir_parse_name(p, node->range);
  ir_item *item = ir_find_item(p, name);
  if (!item || item->kind != IR_ITEM_RESOURCE) {
    ir_unknown_item(p, node->range, "resource", 1 << IR_ITEM_RESOURCE);
    return NULL;
  }
  const ir_resource *resource = (const ir_resource *)item;
  if (!*type) *type = resource->type;
  if (*type != resource->type) {
    ir_diag *diag =
        ir_parse_error(p, node->range, "the constant has type %s, resource '@%s' has type %s",
                       ir_type_text(&p->scratch, *type), name->text, ir_type_text(&p->scratch, resource->type));
    ir_note(p->diags, diag, item->range, "the resource is defined here");
    return NULL;
  }
  return ir_attr_global(p->context, name);
}

const ir_attr *ir_resolve_data(ir_parser *p, const ir_node *node, const ir_type **type) {
  if (node->kind == N_GLOBAL) return of_resource(p, node, type);
  if (node->kind == N_ELLIPSIS) {
    ir_parse_error(p, node->range, "the elements of this constant have been left out");
    return NULL;
  }
  if (!*type) *type = literal_type(p, node);
  struct filling f = {.p = p, .dtype = ir_type_dtype(*type), .rank = (*type)->count};
  int64_t count, bytes;
  bool fits = ir_is_tensor(*type) && f.rank <= IR_PARSE_MAX_RANK && f.dtype != IR_DTYPE_UNKNOWN &&
              (*type)->lanes == 1 && ir_type_static_dims(*type, f.extents, &count) &&
              ir_dtype_bytes(f.dtype, count, &bytes);
  if (!fits) {
    ir_parse_error(p, node->range, "a constant has a tensor type with a dtype and constant extents, found %s",
                   ir_type_text(&p->scratch, *type));
    return NULL;
  }
  bool empty = !count && node->kind == N_LIST && !node->kids.count;
  /* A wrong extent is found before that many bytes are asked for: every element takes a byte of text. */
  if (!empty && (uint64_t)count > p->source->length) {
    ir_parse_error(p, node->range, "%s has %lld elements: more than are written here", ir_type_text(&p->scratch, *type),
                   (long long)count);
    return NULL;
  }
  f.bytes = ir_arena_alloc_aligned(&p->module->arena, (size_t)(empty ? 0 : bytes), 64);
  if (!empty && !fill(&f, node, 0)) return NULL;
  return ir_attr_data(p->context, (ir_data){f.dtype, f.bytes, (size_t)(empty ? 0 : bytes)});
}

/* --- resources --- */

static int base64_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Fills SIZE bytes from TEXT, which must be exactly what encodes them. */
static bool base64(ir_slice text, uint8_t *bytes, size_t size) {
  if (text.length != (size + 2) / 3 * 4) return false;
  size_t at = 0;
  for (size_t i = 0; i < text.length; i += 4) {
    size_t take = size - at < 3 ? size - at : 3;
    unsigned group = 0;
    for (size_t k = 0; k < 4; k++) {
      char c = text.at[i + k];
      int digit = k <= take ? base64_digit(c) : c == '=' ? 0 : -1;
      if (digit < 0) return false;
      group = group << 6 | (unsigned)digit;
    }
    for (size_t k = 0; k < take; k++) bytes[at++] = (uint8_t)(group >> (16 - 8 * k));
    if (take < 3 && group & ((1u << (24 - 8 * take)) - 1)) return false; /* bits that belong to no byte */
  }
  return true;
}

/* Bools are 0 or 1, and half a byte too many is 0. */
static bool is_canonical(ir_dtype dtype, int64_t count, const uint8_t *bytes, size_t size) {
  if (ir_dtypes[dtype].bits == 4) return !(count & 1) || !(bytes[size - 1] >> 4);
  for (size_t i = 0; dtype == IR_BOOL && i < size; i++) {
    if (bytes[i] > 1) return false;
  }
  return true;
}

static bool bytes_of(ir_parser *p, const ir_node *node, ir_resource *resource) {
  const ir_node *arg = node->kids.first;
  if (node->kids.count != 1 || arg->kind != N_STRING) {
    ir_parse_error(p, node->range, "expected base64(\"...\")");
    return false;
  }
  int64_t count = 0, size = 0;
  bool fits =
      ir_type_static_dims(resource->type, NULL, &count) && ir_dtype_bytes(ir_type_dtype(resource->type), count, &size);
  ir_slice quoted = ir_text_at(p, arg->range), text = {quoted.at + 1, quoted.length - 2};
  if (!fits || (size_t)size / 3 > text.length || text.length != ((size_t)size + 2) / 3 * 4) {
    ir_parse_error(p, arg->range, "%s takes %lld bytes, %lld characters of base64, found %zu",
                   ir_type_text(&p->scratch, resource->type), (long long)size, (long long)((size + 2) / 3 * 4),
                   text.length);
    return false;
  }
  uint8_t *bytes = ir_arena_alloc_aligned(&p->module->arena, (size_t)size, 64);
  if (!base64(text, bytes, (size_t)size)) {
    ir_parse_error(p, arg->range, "malformed base64");
    return false;
  }
  if (!is_canonical(ir_type_dtype(resource->type), count, bytes, (size_t)size)) {
    ir_parse_error(p, arg->range, "bytes that no element of %s has", ir_dtype_name(ir_type_dtype(resource->type)));
    return false;
  }
  resource->kind = IR_RESOURCE_BYTES;
  resource->bytes = bytes;
  resource->size = (size_t)size;
  return true;
}

static bool file_of(ir_parser *p, const ir_node *node, ir_resource *resource) {
  const ir_node *path = node->kids.first, *key = path ? path->next : NULL;
  bool fine = path && path->kind == N_STRING && node->kids.count <= 2;
  if (key) fine &= key->kind == N_ENTRY && ir_slice_is(ir_node_name(p, key), "key") && key->other->kind == N_STRING;
  if (!fine) {
    ir_parse_error(p, node->range, "expected file(\"path\", key=\"name\")");
    return false;
  }
  resource->kind = IR_RESOURCE_FILE;
  resource->file = ir_parse_string(p, path->range);
  resource->key = key ? ir_parse_string(p, key->other->range) : NULL;
  return true;
}

static bool contents(ir_parser *p, const ir_node *node, ir_resource *resource) {
  ir_slice name = ir_node_name(p, node);
  if (node->kind == N_CALL && ir_slice_is(name, "base64")) return bytes_of(p, node, resource);
  if (node->kind == N_CALL && ir_slice_is(name, "file")) return file_of(p, node, resource);
  bool elided = node->kind == N_ID && ir_slice_is(name, "elided");
  if (!elided) ir_parse_error(p, node->range, "expected base64(\"...\"), file(\"path\", key=\"name\") or elided");
  if (elided && !p->options.allow_elided)
    ir_parse_error(p, node->range, "the bytes of this resource have been left out: --allow-elided takes it where nothing needs them");
  resource->kind = IR_RESOURCE_ELIDED;
  return elided && p->options.allow_elided;
}

/* --- items without a body --- */

/* The item at NAME where it has been declared ahead; otherwise a new one of SIZE bytes, added to the module, with
 * *fresh set. NULL where another item has the name. */
static ir_item *item_at(ir_parser *p, ir_range range, ir_item_kind kind, size_t size, bool *fresh) {
  const ir_string *name = ir_parse_name(p, range);
  ir_item *known = ir_module_find(p->module, name);
  *fresh = false;
  if (known && known->range.begin == range.begin) return known;
  if (known) {
    ir_taken_item(p, range, known);
    return NULL;
  }
  ir_item *item = ir_arena_alloc(&p->module->arena, size);
  item->kind = kind;
  item->name = name;
  item->range = range;
  ir_module_add(p->module, item, NULL);
  *fresh = true;
  return item;
}

void ir_resolve_device(ir_parser *p, ir_range name, ir_node *value) {
  bool fresh;
  p->func = NULL;
  ir_item *item = item_at(p, name, IR_ITEM_DEVICE, sizeof(ir_item), &fresh);
  if (item && fresh) {
    if (value->kind != N_DICT)
      ir_parse_error(p, value->range, "expected a dictionary, found %s", ir_node_describe(p, value));
    else
      item->attrs = ir_resolve_attr(p, value, NULL);
  }
  ir_arena_reset(&p->scratch, p->item_mark);
}

void ir_resolve_resource(ir_parser *p, ir_range name, ir_node *type, ir_node *value) {
  bool fresh;
  ir_scope_begin(p, NULL);
  ir_resource *resource = (ir_resource *)item_at(p, name, IR_ITEM_RESOURCE, sizeof(ir_resource), &fresh);
  if (resource && fresh) {
    resource->type = ir_resolve_type(p, type, NULL);
    bool fits = resource->type && ir_is_tensor(resource->type) && ir_type_dtype(resource->type) != IR_DTYPE_UNKNOWN &&
                ir_type_static_dims(resource->type, NULL, &(int64_t){0}) && resource->type->lanes == 1;
    if (resource->type && !fits)
      ir_parse_error(p, type->range, "a resource has a tensor type with a dtype and constant extents");
    if (!resource->type) resource->type = p->context->any_type;
    if (fits) contents(p, value, resource);
  }
  ir_arena_reset(&p->scratch, p->item_mark);
}
