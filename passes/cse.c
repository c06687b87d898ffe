// SPDX-License-Identifier: Apache-2.0
/* passes/cse.c - merge equal pure operations where the first dominates the second. Allocations are never merged, nor
 * what checks or writes, nor what is overwritten in place. Needs nothing, keeps everything. */
#include "passes/pass.h"

enum { MERGED };

struct entry {
  ir_op *op;
  struct entry *next;
};

struct table {
  ir_pass_run *run;
  ir_map buckets; /* hash -> entry */
};

static bool is_candidate(const ir_op *op) {
  return op->result_count && !op->region_count && !ir_has(op, IR_TERMINATOR) && ir_op_is_pure(op) &&
         !(op->flags & IR_OP_HAS_DICT);
}

static bool same_attr(const ir_attr *a, const ir_attr *b) {
  if (a == b) return true;
  if (!a || !b || a->kind != IR_ATTR_DATA || b->kind != IR_ATTR_DATA) return false;
  return a->data.dtype == b->data.dtype && a->data.size == b->data.size && !memcmp(a->data.bytes, b->data.bytes, a->data.size);
}

static void operands_of(const ir_op *op, const ir_value *pair[2]) {
  pair[0] = op->operand_count > 0 ? ir_op_operand(op, 0) : NULL;
  pair[1] = op->operand_count > 1 ? ir_op_operand(op, 1) : NULL;
  if (ir_has(op, IR_COMMUTATIVE) && (uintptr_t)pair[0] > (uintptr_t)pair[1]) {
    const ir_value *first = pair[0];
    pair[0] = pair[1];
    pair[1] = first;
  }
}

static bool same_op(const ir_op *a, const ir_op *b) {
  if (a->code != b->code || a->operand_count != b->operand_count || a->result_count != b->result_count) return false;
  if ((a->flags & IR_OP_INLINE) != (b->flags & IR_OP_INLINE)) return false;
  const ir_value *first[2], *second[2];
  operands_of(a, first);
  operands_of(b, second);
  if (first[0] != second[0] || first[1] != second[1]) return false;
  for (size_t i = 2; i < a->operand_count; i++) {
    if (ir_op_operand(a, i) != ir_op_operand(b, i)) return false;
  }
  for (size_t i = 0; i < a->result_count; i++) {
    if (ir_op_result(a, i)->type != ir_op_result(b, i)->type) return false;
  }
  for (size_t i = 0; i < ir_op_row(a)->attr_count; i++) {
    if (!same_attr(ir_op_slots(a)[i], ir_op_slots(b)[i])) return false;
  }
  return true;
}

static uint64_t hash_of(const ir_op *op) {
  const ir_value *pair[2];
  operands_of(op, pair);
  uint64_t hash = ir_hash_mix(op->code, (uint64_t)(uintptr_t)pair[0]);
  hash = ir_hash_mix(hash, (uint64_t)(uintptr_t)pair[1]);
  for (size_t i = 2; i < op->operand_count; i++) hash = ir_hash_mix(hash, (uint64_t)(uintptr_t)ir_op_operand(op, i));
  for (size_t i = 0; i < op->result_count; i++) hash = ir_hash_mix(hash, (uint64_t)(uintptr_t)ir_op_result(op, i)->type);
  for (size_t i = 0; i < ir_op_row(op)->attr_count; i++) {
    const ir_attr *attr = ir_op_slots(op)[i];
    bool data = attr && attr->kind == IR_ATTR_DATA;
    hash = ir_hash_mix(hash, data ? ir_hash_bytes(attr->data.bytes, attr->data.size) : (uint64_t)(uintptr_t)attr);
  }
  return hash | 1;
}

static bool encloses(const ir_region *outer, const ir_region *inner) {
  for (; inner; inner = inner->parent ? inner->parent->region : NULL) {
    if (inner == outer) return true;
  }
  return false;
}

static bool is_overwritten(const ir_op *op) {
  for (size_t i = 0; i < op->result_count; i++) {
    if (ir_value_is_overwritten(ir_op_result(op, i))) return true;
  }
  return false;
}

static void visit(struct table *t, ir_op *op) {
  const void *key = (const void *)(uintptr_t)hash_of(op);
  void **bucket = ir_map_slot(t->run->scratch, &t->buckets, key);
  for (struct entry *entry = *bucket; entry; entry = entry->next) {
    if (!encloses(entry->op->region, op->region) || !same_op(entry->op, op)) continue;
    for (size_t i = 0; i < op->result_count; i++) ir_value_replace(ir_op_result(op, i), ir_op_result(entry->op, i));
    ir_op_erase(op);
    ir_count(t->run, MERGED);
    return;
  }
  struct entry *added = ir_new(t->run->scratch, struct entry);
  *added = (struct entry){op, *bucket};
  *bucket = added;
}

static void visit_region(struct table *t, ir_region *region) {
  ir_each_op(op, region) {
    if (is_candidate(op)) {
      if (!is_overwritten(op)) visit(t, op);
      continue;
    }
    for (size_t i = 0; i < op->region_count; i++) visit_region(t, ir_op_region(op, i));
  }
}

static bool cse(ir_pass_run *run, ir_func *func) {
  struct table table = {.run = run};
  visit_region(&table, func->body);
  return run->stats[MERGED] > 0;
}

const ir_pass ir_pass_cse = {
    .name = "cse",
    .doc = "Merge equal pure operations where the first dominates the second.",
    .each_func = cse,
    .stats = STATS({"merged", "operations merged into an equal one"}),
};
