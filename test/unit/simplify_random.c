// SPDX-License-Identifier: Apache-2.0
/* ir/simplify on random expressions under random facts: values before and after are compared by an evaluator of the
 * test's own (128-bit arithmetic, cut to the dtype), which judges ir/eval too. `simplify_random CASES SEED` runs more.
 */
#include "base/vec.h"
#include "ir/eval.h"
#include "ir/simplify.h"
#include "ir/type.h"
#include "test/unit/check.h"
#include "test/unit/expr_text.h"

#include <stdlib.h>

__extension__ typedef __int128 wide;

static ir_context *context;
static ir_arena arena;

static const char *text_of(const ir_expr *expr) { return expr_text(&arena, expr); }

/* --- the test's own evaluator --- */

static wide cut(ir_dtype dtype, wide number) {
  if (dtype == IR_BOOL) return number != 0;
  int width = ir_dtypes[dtype].bits;
  wide modulus = (wide)1 << width, low = ((number % modulus) + modulus) % modulus;
  return ir_is_signed(dtype) && low >= modulus / 2 ? low - modulus : low;
}

static wide floor_of(wide a, wide b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

static wide leaf_values[8]; /* of the leaves, by number */
static const ir_expr *leaves[8];
static size_t leaf_count;

static wide two_power(wide by, wide number) { return by >= 64 ? 0 : number * ((wide)1 << by); }

static wide times(ir_dtype dtype, wide a, wide b) {
  return dtype == IR_U64 ? (wide)((uint64_t)a * (uint64_t)b) : a * b;
}

static wide operate(const ir_expr *expr, const wide *in) {
  wide a = in[0], b = in[1];
  int width = ir_dtypes[expr->dtype].bits;
  wide amount = b < 0 ? width : b;
  switch ((int)expr->code) {
  case IR_S_CAST: return a;
  case IR_S_OR: return a || b;
  case IR_S_AND: return a && b;
  case IR_S_NOT: return !a;
  case IR_S_EQ: return a == b;
  case IR_S_NE: return a != b;
  case IR_S_LT: return a < b;
  case IR_S_LE: return a <= b;
  case IR_S_GT: return a > b;
  case IR_S_GE: return a >= b;
  case IR_S_ADD: return a + b;
  case IR_S_SUB: return a - b;
  case IR_S_MUL: return times((ir_dtype)expr->dtype, a, b);
  case IR_S_NEG: return -a;
  case IR_S_MAD: return times((ir_dtype)expr->dtype, a, b) + in[2];
  case IR_S_TRUNCDIV: return b ? a / b : 0;
  case IR_S_FLOORDIV: return b ? floor_of(a, b) : 0;
  case IR_S_CEILDIV: return b ? -floor_of(-a, b) : 0;
  case IR_S_TRUNCMOD: return b ? a % b : 0;
  case IR_S_FLOORMOD: return b ? a - floor_of(a, b) * b : 0;
  case IR_S_MIN: return a < b ? a : b;
  case IR_S_MAX: return a > b ? a : b;
  case IR_S_BCAST: return a == 1 ? b : a;
  case IR_S_SELECT:
  case IR_S_GUARD: return a ? b : in[2];
  case IR_S_SHL: return amount >= width ? 0 : two_power(amount, a % ((wide)1 << (width - (int)amount)));
  case IR_S_SHR: return amount >= width ? (a < 0 ? -1 : 0) : floor_of(a, (wide)1 << amount);
  case IR_S_BITAND: return a & b;
  case IR_S_BITOR: return a | b;
  case IR_S_BITXOR: return a ^ b;
  case IR_S_BITNOT: return expr->dtype == IR_BOOL ? !a : ~a;
  case IR_S_ABS: return a < 0 ? -a : a;
  case IR_S_SIGN: return (a > 0) - (a < 0);
  default: printf("no rule for %s\n", ir_scalars[expr->code].name); exit(1);
  }
}

/* The product of two i64 values is one, too. */
static bool checked_product(wide a, wide b) {
  int64_t ignored;
  return !__builtin_mul_overflow((int64_t)a, (int64_t)b, &ignored);
}

static wide evaluate(const ir_expr *expr, bool *overflow) {
  if (expr->code == IR_S_CONST) {
    return cut((ir_dtype)expr->dtype, ir_int_from_bits((ir_dtype)expr->dtype, expr->bits));
  }
  for (size_t i = 0; i < leaf_count; i++) {
    if (leaves[i] == expr) return leaf_values[i];
  }
  wide in[3] = {0};
  for (size_t i = 0; i < expr->count; i++) in[i] = evaluate(expr->kids[i], overflow);
  wide exact = operate(expr, in), result = cut((ir_dtype)expr->dtype, exact);
  bool division = expr->code >= IR_S_TRUNCDIV && expr->code <= IR_S_FLOORMOD;
  bool bits = expr->code == IR_S_SHL || expr->code == IR_S_CAST;
  if (expr->code == IR_S_MAD) exact = checked_product(in[0], in[1]) ? exact : result + 1;
  *overflow |= (expr->dtype == IR_I64 && exact != result && !bits) || (division && !in[1]);
  /* ir_scalar_eval says the same of this operator. */
  uint64_t operands[3], found;
  for (size_t i = 0; i < expr->count; i++) operands[i] = ir_int_to_bits((ir_dtype)expr->kids[i]->dtype, (int64_t)in[i]);
  ir_dtype operand = (ir_dtype)expr->kids[expr->code == IR_S_SELECT || expr->code == IR_S_GUARD]->dtype;
  bool same =
      ir_scalar_eval(context, (ir_scalar_code)expr->code, operand, (ir_dtype)expr->dtype, false, operands, &found) &&
      found == ir_int_to_bits((ir_dtype)expr->dtype, (int64_t)result);
  if (!same && !CHECK(same)) printf("  ir_scalar_eval of %s\n", text_of(expr));
  return result;
}

/* --- random expressions --- */

static uint64_t state;

static uint32_t next(uint32_t below) {
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((state >> 33) % below);
}

static const ir_dtype integer_dtypes[] = {IR_I64, IR_I64, IR_I64, IR_I64, IR_I32, IR_I32,
                                          IR_I8,  IR_U8,  IR_U32, IR_U64, IR_I16};

static ir_dtype random_dtype(void) { return integer_dtypes[next(11)]; }

static int64_t random_number(ir_dtype dtype) {
  int width = ir_dtypes[dtype].bits;
  int64_t value;
  switch (next(8)) {
  case 0: value = (int64_t)(UINT64_C(1) << next((uint32_t)width)); break;
  case 1: value = (int64_t)((UINT64_C(1) << (width - 1)) - 1) - (int64_t)next(3); break;
  case 2: value = (int64_t)(~UINT64_C(0) << (width - 1)) + (int64_t)next(3); break;
  case 3: value = -(int64_t)next(20); break;
  case 4: value = (int64_t)next(300) - 150; break;
  default: value = (int64_t)next(10); break;
  }
  return ir_int_from_bits(dtype, ir_int_to_bits(dtype, value));
}

static const ir_expr *random_leaf(ir_dtype dtype) {
  if (dtype == IR_BOOL) return ir_expr_bool(context, next(2));
  for (int tries = 0; tries < 8 && next(4); tries++) {
    const ir_expr *leaf = leaves[next((uint32_t)leaf_count)];
    if (leaf->dtype == dtype) return leaf;
  }
  return ir_expr_int(context, dtype, random_number(dtype));
}

static const ir_expr *random_expr(ir_dtype dtype, int depth);

static const ir_expr *random_bool(int depth) {
  static const ir_scalar_code compare[] = {IR_S_EQ, IR_S_NE, IR_S_LT, IR_S_LE, IR_S_GT, IR_S_GE};
  static const ir_scalar_code logic[] = {IR_S_AND, IR_S_OR, IR_S_EQ, IR_S_NE, IR_S_BITAND, IR_S_BITOR, IR_S_BITXOR};
  uint32_t which = next(12);
  if (which == 0) return ir_expr_unary(context, next(4) ? IR_S_NOT : IR_S_BITNOT, random_expr(IR_BOOL, depth - 1));
  if (which < 4)
    return ir_expr_binary(context, logic[next(next(4) ? 2 : 7)], random_expr(IR_BOOL, depth - 1),
                          random_expr(IR_BOOL, depth - 1));
  ir_dtype dtype = random_dtype();
  if (which == 4) return ir_expr_cast(context, random_expr(dtype, depth - 1), IR_BOOL);
  return ir_expr_binary(context, compare[next(6)], random_expr(dtype, depth - 1), random_expr(dtype, depth - 1));
}

/* A quotient or remainder of a sum by a small number. */
static const ir_expr *random_division(ir_dtype dtype) {
  static const ir_scalar_code codes[] = {IR_S_FLOORDIV, IR_S_FLOORMOD, IR_S_CEILDIV,
                                         IR_S_TRUNCDIV, IR_S_TRUNCMOD, IR_S_FLOORDIV};
  const ir_expr *sum = random_leaf(dtype);
  for (uint32_t n = 1 + next(3); n-- > 0;) {
    const ir_expr *part = next(2) ? ir_expr_int(context, dtype, (int64_t)next(40) - 20) : random_leaf(dtype);
    if (next(2)) part = ir_expr_binary(context, IR_S_MUL, part, ir_expr_int(context, dtype, 1 + (int64_t)next(12)));
    sum = ir_expr_binary(context, next(4) ? IR_S_ADD : IR_S_SUB, sum, part);
    if (!next(4)) sum = ir_expr_binary(context, codes[next(6)], sum, ir_expr_int(context, dtype, 1 + (int64_t)next(8)));
  }
  return ir_expr_binary(context, codes[next(6)], sum, ir_expr_int(context, dtype, 1 + (int64_t)next(16)));
}

static const ir_expr *random_expr(ir_dtype dtype, int depth) {
  if (depth <= 0 || !next(7)) return random_leaf(dtype);
  if (dtype == IR_BOOL && next(8)) return random_bool(depth);
  if (dtype != IR_BOOL && !next(8)) return random_division(dtype);
  if (!next(12))
    return ir_expr_ternary(context, next(4) ? IR_S_SELECT : IR_S_GUARD, random_expr(IR_BOOL, depth - 1),
                           random_expr(dtype, depth - 1), random_expr(dtype, depth - 1));
  if (dtype == IR_BOOL) return random_bool(depth);
  if (!next(12)) return ir_expr_cast(context, random_expr(next(5) ? random_dtype() : IR_BOOL, depth - 1), dtype);
  static const ir_scalar_code codes[] = {IR_S_ADD,      IR_S_ADD,      IR_S_ADD,     IR_S_SUB,      IR_S_SUB,
                                         IR_S_MUL,      IR_S_MUL,      IR_S_MUL,     IR_S_FLOORDIV, IR_S_FLOORDIV,
                                         IR_S_FLOORMOD, IR_S_FLOORMOD, IR_S_CEILDIV, IR_S_CEILDIV,  IR_S_TRUNCDIV,
                                         IR_S_TRUNCMOD, IR_S_MIN,      IR_S_MAX,     IR_S_BCAST,    IR_S_SHL,
                                         IR_S_SHR,      IR_S_BITAND,   IR_S_BITOR,   IR_S_BITXOR};
  static const ir_scalar_code unary[] = {IR_S_NEG, IR_S_NEG, IR_S_ABS, IR_S_SIGN, IR_S_BITNOT};
  if (!next(10)) return ir_expr_unary(context, unary[next(5)], random_expr(dtype, depth - 1));
  if (!next(20))
    return ir_expr_ternary(context, IR_S_MAD, random_expr(dtype, depth - 1), random_expr(dtype, depth - 1),
                           random_expr(dtype, depth - 1));
  ir_scalar_code code = codes[next(24)];
  const ir_expr *a = random_expr(dtype, depth - 1), *b = random_expr(dtype, next(2) ? 0 : depth - 1);
  /* Divisors and factors that meet: where the rules are. */
  if (next(2) && ir_scalars[code].typing != IR_TYPING_LEAF)
    b = next(3) ? ir_expr_int(context, dtype, (int64_t)(UINT64_C(1) << next(5)))
                : ir_expr_int(context, dtype, 1 + (int64_t)next(12));
  return ir_expr_binary(context, code, a, b);
}

struct range {
  int64_t least, most;
};
static struct range ranges[8];

static wide random_value(size_t i) {
  ir_dtype dtype = (ir_dtype)leaves[i]->dtype;
  uint64_t span = (uint64_t)ranges[i].most - (uint64_t)ranges[i].least;
  int64_t drawn;
  switch (next(5)) {
  case 0: drawn = ranges[i].least; break;
  case 1: drawn = ranges[i].most; break;
  case 2: drawn = random_number(dtype); break;
  default: drawn = (int64_t)((uint64_t)ranges[i].least + next(12)); break;
  }
  bool inside = drawn >= ranges[i].least && drawn <= ranges[i].most;
  if (!inside) drawn = (int64_t)((uint64_t)ranges[i].least + (span == UINT64_MAX ? next(100) : next(100) % (span + 1)));
  return cut(dtype, drawn);
}

/* All values of DTYPE; of u64, the lower half, for which facts have numbers. */
static struct range whole_range(ir_dtype dtype) {
  int bits = ir_dtypes[dtype].bits - (ir_is_signed(dtype) || dtype == IR_U64);
  int64_t most = (int64_t)((UINT64_C(1) << bits) - 1);
  return (struct range){ir_is_signed(dtype) ? -most - 1 : 0, most};
}

static void random_leaves(ir_facts *facts) {
  leaf_count = 5;
  for (size_t i = 0; i < leaf_count; i++) {
    ir_dtype dtype = i < 3 ? IR_I64 : random_dtype();
    const char *name = ir_arena_printf(&arena, "%c", (char)('a' + i));
    leaves[i] = i < 2 ? ir_expr_symbol(context, ir_intern(context, ir_slice_of(name)))
                      : ir_expr_arg(context, (uint32_t)i, dtype, 1);
    ranges[i] = whole_range(dtype);
    int64_t least = ranges[i].least, most = ranges[i].most;
    uint32_t kind = next(8);
    if (kind >= 6) { /* close to an end */
      if (kind == 6)
        ranges[i].least = most - (int64_t)next(30);
      else
        ranges[i].most = least + (int64_t)next(30);
    }
    if (kind < 4) {
      ranges[i].least = kind == 3 ? random_number(dtype) : 0;
      int64_t near_by = (int64_t)((uint64_t)ranges[i].least + next(100));
      ranges[i].most = kind == 0 ? most : kind == 1 && dtype == IR_I64 ? IR_EXTENT_MAX : near_by;
      bool inside = ranges[i].least >= least && ranges[i].most <= most && ranges[i].most >= ranges[i].least;
      if (!inside) ranges[i] = (struct range){least, most};
    }
    bool narrower = ranges[i].least != least || ranges[i].most != most || dtype == IR_U64;
    if (narrower) ir_facts_range(facts, leaves[i], ranges[i].least, ranges[i].most);
  }
}

static const ir_expr *conditions[4];
static size_t condition_count;

static const ir_expr *random_condition(void) {
  ir_dtype dtype = IR_I64;
  const ir_expr *leaf = leaves[next(3)];
  if (!next(3)) {
    const ir_expr *by = ir_expr_int(context, dtype, 1 + (int64_t)next(8));
    bool ignored = false;
    const ir_expr *mod = ir_expr_binary(context, IR_S_FLOORMOD, leaf, by);
    return ir_expr_binary(context, IR_S_EQ, mod, ir_expr_int(context, dtype, (int64_t)evaluate(mod, &ignored)));
  }
  return next(2) ? random_bool(2) : random_bool(1);
}

static void random_facts(ir_facts *facts) {
  condition_count = 0;
  for (size_t i = 0; i < leaf_count; i++) leaf_values[i] = random_value(i);
  for (uint32_t n = next(4); n-- > 0;) {
    bool ignored = false;
    const ir_expr *condition = random_condition();
    if (!evaluate(condition, &ignored)) condition = ir_expr_unary(context, IR_S_NOT, condition);
    conditions[condition_count++] = condition;
    ir_facts_assume(facts, condition);
  }
}

/* Moves to other values that the facts allow. */
static wide index_value(size_t i);

static bool move(bool index) {
  wide kept[8];
  memcpy(kept, leaf_values, sizeof kept);
  for (size_t i = 0; i < leaf_count; i++) {
    if (next(2)) leaf_values[i] = index ? index_value(i) : random_value(i);
  }
  bool ignored = false, holds = !index || leaf_values[0] * leaf_values[1] <= IR_EXTENT_MAX;
  for (size_t i = 0; i < condition_count && holds; i++) holds = evaluate(conditions[i], &ignored) != 0;
  if (!holds) memcpy(leaf_values, kept, sizeof kept);
  return holds;
}

/* --- random index arithmetic: extents a, b of a tensor, arguments below products of them --- */

static const ir_expr *index_leaf(void) {
  return next(3) ? leaves[next((uint32_t)leaf_count)]
                 : ir_expr_i64(context, next(4) ? (int64_t)next(9) : random_number(IR_I64));
}

static const ir_expr *index_expr(int depth) {
  static const ir_scalar_code codes[] = {IR_S_ADD,      IR_S_ADD,     IR_S_ADD,      IR_S_SUB,      IR_S_MUL,
                                         IR_S_MUL,      IR_S_MUL,     IR_S_FLOORDIV, IR_S_FLOORDIV, IR_S_FLOORMOD,
                                         IR_S_FLOORMOD, IR_S_CEILDIV, IR_S_MIN,      IR_S_MAX};
  if (depth <= 0 || !next(6)) return index_leaf();
  if (!next(5)) {
    /* y * floordiv(x, y) + floormod(x, y), and pieces of it */
    const ir_expr *x = index_expr(depth - 2), *y = next(2) ? ir_expr_i64(context, 1 + (int64_t)next(8)) : index_leaf();
    const ir_expr *quotient = ir_expr_binary(context, IR_S_FLOORDIV, x, y), *by = next(4) ? y : index_leaf();
    const ir_expr *product = ir_expr_binary(context, IR_S_MUL, quotient, by);
    return ir_expr_binary(context, IR_S_ADD, product,
                          next(3) ? ir_expr_binary(context, IR_S_FLOORMOD, x, y) : index_leaf());
  }
  return ir_expr_binary(context, codes[next(14)], index_expr(depth - 1),
                        next(2) ? index_leaf() : index_expr(depth - 1));
}

static const ir_expr *index_condition(int depth) {
  static const ir_scalar_code compare[] = {IR_S_LT, IR_S_LT, IR_S_LE, IR_S_GE, IR_S_GT, IR_S_EQ, IR_S_NE};
  return ir_expr_binary(context, compare[next(7)], index_expr(depth), index_expr(depth));
}

/* Comparisons of a few sums with numbers, joined: some imply others. */
static const ir_expr *index_logic(int depth) {
  static const ir_scalar_code compare[] = {IR_S_LT, IR_S_LE, IR_S_GE, IR_S_GT, IR_S_LT, IR_S_GE, IR_S_EQ, IR_S_NE};
  if (depth > 0)
    return ir_expr_binary(context, next(2) ? IR_S_AND : IR_S_OR, index_logic(depth - 1), index_logic(depth - 1));
  const ir_expr *side = leaves[next(4)];
  if (next(2)) side = ir_expr_binary(context, next(2) ? IR_S_ADD : IR_S_SUB, side, leaves[next(2)]);
  const ir_expr *condition =
      ir_expr_binary(context, compare[next(8)], side, ir_expr_i64(context, (int64_t)next(8) - 2));
  return next(6) ? condition : ir_expr_unary(context, IR_S_NOT, condition);
}

/* Values below MOST, such that the extents multiply to IR_EXTENT_MAX at most. */
static wide index_value(size_t i) {
  static const int64_t extents_of[] = {0, 1, 2, 3, 4, 5, 8, 12, 16, 100, 1 << 12, 1 << 24};
  if (i == 1 && next(8) == 0 && leaf_values[0] < 2) return IR_EXTENT_MAX;
  if (i < 2) return extents_of[next(12)];
  if (ranges[i].least < 0) return (wide)next(20) - 9;
  wide most = i == 2 ? leaf_values[0] * leaf_values[1] : i == 3 ? leaf_values[1] : 1000;
  if (!next(4)) return most ? most - 1 : 0;
  return next(3) || most < 1 ? (wide)next(20) : (wide)next(1u << 30) % most;
}

static void index_facts(ir_facts *facts) {
  leaf_count = 5, condition_count = 0;
  for (size_t i = 0; i < leaf_count; i++) {
    const char *name = ir_arena_printf(&arena, "%c", (char)('a' + i));
    leaves[i] = i < 2 ? ir_expr_symbol(context, ir_intern(context, ir_slice_of(name)))
                      : ir_expr_arg(context, (uint32_t)i, IR_I64, 1);
    ranges[i] = i > 2 && !next(3) ? (struct range){-9, 10} : (struct range){0, INT64_MAX};
    leaf_values[i] = index_value(i);
    if (ranges[i].least < 0 && next(2)) ir_facts_range(facts, leaves[i], -9, 10);
  }
  ir_facts_tensor(facts, ir_type_tensor(context, IR_F32, 2, leaves));
  for (uint32_t n = next(5); n-- > 0 && condition_count < 4;) {
    bool ignored = false;
    const ir_expr *bounds[] = {
        ir_expr_binary(context, IR_S_LT, leaves[2], ir_expr_binary(context, IR_S_MUL, leaves[0], leaves[1])),
        ir_expr_binary(context, IR_S_LT, leaves[3], leaves[1]),
        ir_expr_binary(context, IR_S_GE, leaves[2 + next(3)], ir_expr_i64(context, 0)),
        ir_expr_binary(context, IR_S_GE, leaves[2 + next(3)], ir_expr_i64(context, 0)), index_condition(1)};
    const ir_expr *condition = bounds[next(5)];
    if (!evaluate(condition, &ignored)) condition = ir_expr_unary(context, IR_S_NOT, condition);
    conditions[condition_count++] = condition;
    ir_facts_assume(facts, condition);
  }
}

static bool leaf_value(void *user, const ir_expr *leaf, int64_t *value) {
  (void)user;
  for (size_t i = 0; i < leaf_count; i++) {
    if (leaves[i] == leaf) *value = (int64_t)leaf_values[i];
  }
  return true;
}

static void report(const char *what, const ir_expr *before, const ir_expr *after) {
  printf("  %s: %s\n  becomes: %s\n", what, text_of(before), text_of(after));
  for (size_t i = 0; i < leaf_count; i++)
    printf("  %s: %s = %lld in [%lld, %lld]\n", text_of(leaves[i]), ir_dtype_name((ir_dtype)leaves[i]->dtype),
           (long long)leaf_values[i], (long long)ranges[i].least, (long long)ranges[i].most);
  for (size_t i = 0; i < condition_count; i++) printf("  assumed: %s\n", text_of(conditions[i]));
}

static size_t changed, proven;

static void test_random(void) {
  ir_facts *facts = ir_facts_new(context, &arena, NULL);
  bool index = next(3) == 0;
  const ir_expr *expr;
  if (index) {
    index_facts(facts);
    expr = next(2) ? index_expr(2 + (int)next(4)) : index_condition(1 + (int)next(4));
    if (!next(3)) expr = index_logic(1 + (int)next(2));
  } else {
    random_leaves(facts);
    random_facts(facts);
    expr = random_expr(next(3) ? random_dtype() : IR_BOOL, 2 + (int)next(5));
  }
  if (expr->size > 200) return;
  const ir_expr *simple = ir_simplify(context, facts, expr);
  changed += simple != expr;
  if (!CHECK(ir_simplify(context, facts, simple) == simple)) {
    report("not a fixed point", expr, simple);
    report("then", simple, ir_simplify(context, facts, simple));
  }
  CHECK(simple->dtype == expr->dtype);
  int64_t least, most;
  ir_proof proof = IR_UNKNOWN;
  if (expr->dtype == IR_BOOL)
    proof = ir_prove(context, facts, expr);
  else
    ir_range_of(context, facts, expr, &least, &most);
  proven += proof != IR_UNKNOWN;
  for (int sample = 0; sample < 12; sample++) {
    if (sample && !move(index)) continue;
    bool overflow = false, ignored = false;
    wide before = evaluate(expr, &overflow), after = evaluate(simple, &ignored);
    int64_t computed;
    if (!CHECK(before == after)) return report("another value", expr, simple);
    if (!CHECK(proof == IR_UNKNOWN || (proof == IR_PROVEN) == (before != 0)))
      return report("wrong proof", expr, simple);
    if (expr->dtype != IR_BOOL &&
        !CHECK((before >= least || least == INT64_MAX) && (before <= most || most == INT64_MAX)))
      return report("out of range", expr, simple);
    bool has_value = ir_evaluate(expr, leaf_value, NULL, &computed);
    if (!CHECK(has_value || overflow)) return report("no value", expr, simple);
    if (has_value && !CHECK(cut((ir_dtype)expr->dtype, computed) == before)) return report("ir_evaluate", expr, simple);
  }
}

/* --- random floats: bits before and after, where any NaN equals any other --- */

static uint64_t float_leaves[3];

static const ir_expr *float_expr(ir_dtype dtype, int depth);

static const ir_expr *float_test(ir_dtype dtype, int depth) {
  static const ir_scalar_code codes[] = {IR_S_EQ, IR_S_NE, IR_S_LT, IR_S_LE, IR_S_GT, IR_S_GE};
  if (!next(6)) return ir_expr_unary(context, IR_S_NOT, float_test(dtype, depth - 1));
  if (!next(6)) return ir_expr_unary(context, next(2) ? IR_S_ISNAN : IR_S_ISFINITE, float_expr(dtype, depth - 1));
  if (!next(6)) return ir_expr_cast(context, float_expr(dtype, depth - 1), IR_BOOL);
  if (depth > 1 && !next(4))
    return ir_expr_binary(context, next(2) ? IR_S_AND : IR_S_OR, float_test(dtype, depth - 1),
                          float_test(dtype, depth - 1));
  return ir_expr_binary(context, codes[next(6)], float_expr(dtype, depth - 1), float_expr(dtype, depth - 1));
}

static const ir_expr *float_expr(ir_dtype dtype, int depth) {
  static const double numbers[] = {0.0, -0.0, 1, -1, 2, 0.5, 4, -8, 3, 0.1, 1e30, 0x1p-130, 1.0 / 0.0, 0.0 / 0.0};
  static const ir_scalar_code unary[] = {IR_S_NEG, IR_S_NEG, IR_S_ABS, IR_S_SIGN, IR_S_FLOOR, IR_S_RINT, IR_S_SQRT};
  static const ir_scalar_code binary[] = {IR_S_ADD, IR_S_ADD, IR_S_SUB, IR_S_SUB, IR_S_MUL,      IR_S_MUL,     IR_S_DIV,
                                          IR_S_DIV, IR_S_MIN, IR_S_MAX, IR_S_MAX, IR_S_FLOORDIV, IR_S_FLOORMOD};
  static const ir_dtype others[] = {IR_F16, IR_F32, IR_F64, IR_BF16, IR_I32, IR_I8, IR_U8, IR_I64, IR_BOOL};
  if (depth <= 0 || !next(6)) {
    if (!next(2)) return ir_expr_float(context, dtype, numbers[next(14)]);
    return ir_expr_cast(context, ir_expr_arg(context, next(3), IR_F32, 1), dtype);
  }
  if (!next(7))
    return ir_expr_cast(context, ir_expr_cast(context, float_expr(dtype, depth - 1), others[next(9)]), dtype);
  if (!next(7))
    return ir_expr_ternary(context, IR_S_SELECT, float_test(dtype, depth - 1), float_expr(dtype, depth - 1),
                           float_expr(dtype, depth - 1));
  if (!next(6))
    return ir_expr_ternary(context, next(2) ? IR_S_MAD : IR_S_FMA, float_expr(dtype, depth - 1),
                           float_expr(dtype, depth - 1), float_expr(dtype, depth - 1));
  if (!next(4)) return ir_expr_unary(context, unary[next(7)], float_expr(dtype, depth - 1));
  return ir_expr_binary(context, binary[next(13)], float_expr(dtype, depth - 1), float_expr(dtype, depth - 1));
}

static uint64_t float_value(const ir_expr *expr, bool fma) {
  if (expr->code == IR_S_CONST) return expr->bits;
  if (expr->code == IR_S_ARG) return float_leaves[expr->arg];
  uint64_t in[3], value = 0;
  for (size_t i = 0; i < expr->count; i++) in[i] = float_value(expr->kids[i], fma);
  ir_dtype operand = (ir_dtype)expr->kids[expr->code == IR_S_SELECT]->dtype;
  CHECK(ir_scalar_eval(context, (ir_scalar_code)expr->code, operand, (ir_dtype)expr->dtype, fma, in, &value));
  return value;
}

static void test_floats(void) {
  static const ir_dtype dtypes[] = {IR_F32, IR_F32, IR_F16, IR_BF16, IR_F64};
  static const uint32_t special[] = {0, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000,
                                     1, 0x80000001, 0x00800000, 0x7f7fffff, 0x40490fdb, 0xc2f6e979};
  ir_dtype dtype = dtypes[next(5)];
  const ir_expr *expr = next(4) ? float_expr(dtype, 1 + (int)next(5)) : float_test(dtype, 1 + (int)next(5));
  const ir_expr *simple = ir_simplify(context, NULL, expr);
  changed += simple != expr;
  CHECK(ir_simplify(context, NULL, simple) == simple && simple->dtype == expr->dtype);
  for (int sample = 0; sample < 12; sample++) {
    for (size_t i = 0; i < 3; i++)
      float_leaves[i] = next(3) ? special[next(13)] : (uint64_t)next(1u << 31) << 1 | next(2);
    uint64_t before = float_value(expr, sample & 1), after = float_value(simple, sample & 1);
    double a = 0, b = 0;
    if (ir_is_float((ir_dtype)expr->dtype)) {
      a = ir_float_from_bits((ir_dtype)expr->dtype, before), b = ir_float_from_bits((ir_dtype)expr->dtype, after);
    }
    if (CHECK(before == after || (a != a && b != b))) continue;
    printf("  %s\n  becomes: %s\n", text_of(expr), text_of(simple));
    for (size_t i = 0; i < 3; i++) printf("  $%zu = 0x%llx\n", i, (unsigned long long)float_leaves[i]);
    return;
  }
}

int main(int argc, char **argv) {
  long cases = argc > 1 ? atol(argv[1]) : 30000;
  state = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
  ir_diags *diags = ir_diags_new();
  context = ir_context_new(diags);
  for (long i = 0; i < cases && check_failed < 20; i++) {
    if (i % 500 == 0) { /* expressions live as long as their context */
      ir_context_free(context);
      context = ir_context_new(diags);
    }
    ir_arena_mark mark = ir_arena_get_mark(&arena);
    if (i % 4)
      test_random();
    else
      test_floats();
    ir_arena_reset(&arena, mark);
  }
  printf("%ld cases: %zu simpler, %zu decided\n", cases, changed, proven);
  ir_context_free(context);
  ir_diags_free(diags);
  ir_arena_free(&arena);
  return CHECK_REPORT("simplify_random");
}
