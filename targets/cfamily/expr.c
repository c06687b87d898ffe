// SPDX-License-Identifier: Apache-2.0
/* targets/cfamily/expr.c - scalar expressions. What is used once stands where it is used, unless that makes a long line; all
 * else gets a name before the statement. */
#include "targets/cfamily/cfamily.h"
#include "targets/place.h"

#include "ir/formula.h"

enum { LONGEST = 96 /* characters of a text that is not given a name */ };

const char *c_print(c_function *f, const char *format, ...) {
  ir_text text = {0};
  va_list args;
  va_start(args, format);
  ir_text_vprintf(&text, format, args);
  va_end(args);
  const char *copy = ir_arena_copy(f->file->arena, text.at ? text.at : "", text.length);
  ir_text_free(&text);
  return copy;
}

const char *c_bare(c_function *f, const char *text) {
  size_t length = strlen(text), depth = 0;
  if (text[0] != '(') return text;
  for (size_t i = 0; i < length; i++) {
    depth += text[i] == '(';
    depth -= text[i] == ')';
    if (!depth && i + 1 < length) return text;
  }
  return c_print(f, "%.*s", (int)length - 2, text + 1);
}

void c_line(c_function *f, const char *format, ...) {
  for (unsigned i = 0; i < f->depth; i++) ir_text_put(f->out, "  ");
  va_list args;
  va_start(args, format);
  ir_text_vprintf(f->out, format, args);
  va_end(args);
  ir_text_char(f->out, '\n');
}

static void count_node(void *user, const ir_expr *node) {
  c_scope *scope = user;
  for (size_t i = 0; i < node->count; i++) {
    void **slot = ir_map_slot(&scope->f->arena, &scope->uses, node->kids[i]);
    *slot = (void *)((uintptr_t)*slot + 1);
  }
}

void c_count(c_scope *scope, const ir_expr *expr) {
  ir_expr_walk(scope->f->file->context, expr, count_node, scope);
  void **slot = ir_map_slot(&scope->f->arena, &scope->uses, expr);
  *slot = (void *)((uintptr_t)*slot + 1);
}

/* What has a text since there were COUNT of them has none any more. */
static void forget(c_scope *scope, size_t count) {
  while (scope->order.count > count) ir_map_remove(&scope->memo, scope->order.at[--scope->order.count]);
}

/* --- operators --- */

static bool fits(c_scope *scope, const ir_expr *expr) {
  ir_proofs *p = &scope->f->proofs;
  int64_t least, most, far = INT64_C(1) << 62;
  bool linear = expr->code == IR_S_ADD || expr->code == IR_S_SUB || expr->code == IR_S_MUL || expr->code == IR_S_MAD || expr->code == IR_S_NEG;
  if (!linear || expr->has_loads || !p->facts) return false;
  const ir_expr *spelled = ir_proofs_frame(p, scope->op, expr);
  ir_range_of(p->context, p->facts, spelled, &least, &most);
  return least > -far && most < far;
}

static c_hint hint_of(c_scope *scope, const ir_expr *expr) {
  c_hint hint = {0};
  ir_proofs *p = &scope->f->proofs;
  if (expr->dtype != IR_I64) return hint;
  if (ir_expr_divides(expr)) hint.natural = ir_proofs_at_least(p, scope->op, expr->kids[1], 1) && ir_proofs_at_least(p, scope->op, expr->kids[0], 0);
  hint.fits = fits(scope, expr);
  return hint;
}

const char *c_expanded(c_file *file, ir_scalar_code code, ir_dtype dtype) {
  const char *name = ir_arena_printf(file->arena, "ir_%s_%s", ir_scalars[code].name, ir_dtype_name(dtype));
  const ir_string *key = ir_intern(file->context, ir_slice_of(name));
  if (ir_map_has(&file->helped, key)) return key->text;
  const ir_expr *args[2];
  int arity = ir_scalars[code].arity;
  for (int i = 0; i < arity && i < 2; i++) args[i] = ir_expr_arg(file->context, (uint32_t)i, dtype, 1);
  const ir_expr *body = ir_expand(file->context, ir_expr_get(file->context, code, (size_t)arity, args));
  if (!body) return NULL;
  ir_text text = {0};
  static const char *const names[] = {"x", "y"};
  c_function f = {.file = file, .out = &text, .depth = 1, .arguments = names};
  c_scope scope = {.f = &f};
  c_count(&scope, body);
  c_line(&f, "return %s;", c_bare(&f, c_expr(&scope, body)));
  const char *type = c_type(dtype);
  c_helper(file, name, arity == 1 ? "%s %s(%s x) {\n%.0s%s}\n" : "%s %s(%s x, %s y) {\n%s}\n", type, name, type, type, text.at);
  ir_text_free(&text);
  ir_arena_free(&f.arena);
  return key->text;
}

/* TEXT, of DTYPE, by a name that it gets before the statement. */
static const char *given_name(c_function *f, ir_dtype dtype, const char *text) {
  const char *name = c_print(f, "t%u", f->temps++);
  c_line(f, "const %s %s = %s;", c_type(dtype), name, c_bare(f, text));
  return name;
}

/* --- comparisons that always come out the same: compilers warn of them --- */

static bool compares(const ir_expr *expr) { return ir_scalars[expr->code].typing == IR_TYPING_COMPARE; }

/* A value compared with itself: NaN is not equal to itself, everything else is. */
static const char *with_itself(c_scope *scope, const ir_expr *expr) {
  c_file *file = scope->f->file;
  ir_dtype dtype = (ir_dtype)expr->kids[0]->dtype;
  bool equal = expr->code == IR_S_EQ || expr->code == IR_S_LE || expr->code == IR_S_GE;
  if (!ir_is_float(dtype) || expr->code == IR_S_LT || expr->code == IR_S_GT) return c_constant(file, IR_BOOL, equal);
  const char *in = c_expr(scope, expr->kids[0]), *nan = c_operator(file, IR_S_ISNAN, dtype, &in, (c_hint){0});
  return equal ? ir_arena_printf(file->arena, "(!%s)", nan) : nan;
}

/* What A and B, comparisons, both compare with constants; NULL where there is no such value. */
static const ir_expr *compared(const ir_expr *a, const ir_expr *b) {
  for (size_t i = 0; compares(a) && compares(b) && i < 2; i++) {
    for (size_t k = 0; k < 2; k++) {
      if (a->kids[i] == b->kids[k] && a->kids[1 - i]->code == IR_S_CONST && b->kids[1 - k]->code == IR_S_CONST) return a->kids[i];
    }
  }
  return NULL;
}

/* Whether EXPR, of comparisons of the integer VALUE with constants, is *TRUTH for any value: it changes only next to constants. */
static bool is_decided(c_scope *scope, const ir_expr *expr, const ir_expr *value, bool *truth) {
  ir_context *context = scope->f->file->context;
  const ir_expr *first = NULL;
  for (size_t i = 0; i < 12; i++) {
    const ir_expr *side = expr->kids[i % 2], *constant = side->kids[side->kids[0] == value];
    const ir_expr *step = ir_expr_const(context, (ir_dtype)value->dtype, 1, ir_int_to_bits((ir_dtype)value->dtype, (int64_t)(i / 2 % 3) - 1));
    const ir_expr *near = ir_simplify(context, NULL, ir_expr_binary(context, IR_S_ADD, constant, step));
    if (near->code != IR_S_CONST) continue; /* beyond the ends of i64 */
    const ir_expr *found = ir_simplify(context, NULL, ir_expr_swapped(context, expr, value, near));
    if (found->code != IR_S_CONST || (first && found != first)) return false;
    first = found;
  }
  return *truth = first->bits != 0, true;
}

/* EXPR in another form, of integers or bools that decide it; EXPR itself where compilers have nothing to say. */
static const ir_expr *plainer(c_scope *scope, const ir_expr *expr) {
  ir_context *context = scope->f->file->context;
  if (expr->count != 2 || ir_is_float((ir_dtype)expr->kids[0]->dtype)) return expr;
  const ir_expr *a = expr->kids[0], *b = expr->kids[1];
  bool logic = expr->code == IR_S_AND || expr->code == IR_S_OR || (expr->code == IR_S_BITXOR && a == b);
  if (a->dtype == IR_BOOL && compares(expr)) return ir_simplify(context, NULL, expr);
  if (!logic) return expr;
  const ir_expr *simple = ir_simplify(context, NULL, expr);
  return simple->code == IR_S_CONST ? simple : expr;
}

/* What compilers look into where it is compared with a constant: bits that a mask has, and a float that is a narrower one. */
static bool is_looked_into(const ir_expr *expr) {
  bool widened = expr->code == IR_S_CAST && ir_is_float((ir_dtype)expr->dtype) && ir_is_float((ir_dtype)expr->kids[0]->dtype);
  return widened || ((expr->code == IR_S_BITAND || expr->code == IR_S_BITOR) && (expr->kids[0]->code == IR_S_CONST || expr->kids[1]->code == IR_S_CONST));
}

/* A conjunction or disjunction. */
static const char *both(c_scope *scope, const ir_expr *expr) {
  c_function *f = scope->f;
  const ir_expr *value = compared(expr->kids[0], expr->kids[1]);
  bool truth;
  if (value && ir_is_integer((ir_dtype)value->dtype) && is_decided(scope, expr, value, &truth)) return c_constant(f->file, IR_BOOL, truth);
  const char *in[] = {c_expr(scope, expr->kids[0]), c_expr(scope, expr->kids[1])};
  return c_operator(f->file, (ir_scalar_code)expr->code, IR_BOOL, in, (c_hint){0});
}

/* --- all operators --- */

static const char *apply(c_scope *scope, const ir_expr *expr) {
  c_file *file = scope->f->file;
  const ir_expr *plain = plainer(scope, expr);
  if (plain != expr) return c_expr(scope, plain);
  if (expr->code == IR_S_AND || expr->code == IR_S_OR) return both(scope, expr);
  if (compares(expr) && expr->kids[0] == expr->kids[1]) return with_itself(scope, expr);
  const char *in[3] = {NULL, NULL, NULL};
  size_t known = scope->order.count, length = scope->f->out->length;
  for (size_t i = 0; i < expr->count && i < 3; i++) in[i] = c_expr(scope, expr->kids[i]);
  if (compares(expr) && !strcmp(in[0], in[1])) { /* one element by two indices, clamped */
    forget(scope, known);
    scope->f->out->length = length;
    return with_itself(scope, expr);
  }
  for (size_t i = 0; i < 2 && compares(expr); i++) {
    if (is_looked_into(expr->kids[i]) && expr->kids[1 - i]->code == IR_S_CONST) in[i] = given_name(scope->f, (ir_dtype)expr->kids[i]->dtype, in[i]);
  }
  bool selects = ir_scalars[expr->code].typing == IR_TYPING_SELECT;
  ir_dtype operand = (ir_dtype)expr->kids[selects ? 1 : 0]->dtype;
  if (ir_scalars[expr->code].expanded) {
    const char *name = c_expanded(file, (ir_scalar_code)expr->code, operand);
    return name ? c_print(scope->f, expr->count > 1 ? "%s(%s, %s)" : "%s(%s)", name, in[0], in[1]) : NULL;
  }
  return c_operator(file, (ir_scalar_code)expr->code, operand, in, hint_of(scope, expr));
}

/* --- memory --- */

static const char *element(c_scope *scope, const c_buffer *buffer, const ir_expr *flat) {
  if (buffer->plain) return buffer->name;
  return c_print(scope->f, "%s[%s]", buffer->name, c_bare(scope->f, c_expr(scope, flat)));
}

static const char *load(c_scope *scope, const ir_expr *expr) {
  c_function *f = scope->f;
  ir_value *memory = ir_op_operand(scope->op, expr->arg);
  ir_place place = ir_place_find(&f->proofs, scope->op, memory->type, expr->count, expr->kids, false, f->trusted);
  if (place.never) return c_constant(f->file, (ir_dtype)expr->dtype, 0);
  const c_buffer *buffer = ir_map_get(&f->buffers, memory);
  c_count(scope, place.flat);
  ir_map_put(f->file->arena, f->read, memory, f);
  const char *at = element(scope, buffer, place.flat);
  const char *value = buffer->own ? at : c_load_form(f->file, (ir_dtype)expr->dtype, at);
  if (!place.on) return value;
  c_count(scope, place.on);
  return c_print(f, "(%s ? %s : %s)", c_expr(scope, place.on), value, c_constant(f->file, (ir_dtype)expr->dtype, 0));
}

/* --- guard(c, a, b): what A loads is not loaded where c is false --- */

static const char *guarded(c_scope *scope, const ir_expr *expr) {
  c_function *f = scope->f;
  if (!expr->kids[1]->has_loads) return apply(scope, expr);
  const char *condition = c_expr(scope, expr->kids[0]), *otherwise = c_expr(scope, expr->kids[2]);
  const char *name = c_print(f, "t%u", f->temps++);
  c_line(f, "%s %s = %s;", c_type((ir_dtype)expr->dtype), name, c_bare(f, otherwise));
  c_line(f, "if (%s) {", c_bare(f, condition));
  f->depth++;
  const ir_facts *facts = f->proofs.facts;
  if (scope->op) f->proofs.facts = ir_proofs_guard(&f->proofs, scope->op, expr->kids[0]);
  size_t known = scope->order.count;
  const char *value = c_expr(scope, expr->kids[1]);
  c_line(f, "%s = %s;", name, c_bare(f, value));
  forget(scope, known);
  f->proofs.facts = facts;
  f->depth--;
  c_line(f, "}");
  return name;
}

/* --- leaves --- */

/* The name of a value, or of the expression of a symbol. */
static const char *named(c_function *f, const void *value) {
  ir_map_put(f->file->arena, f->read, value, f);
  return ir_map_get(&f->values, value);
}

const char *c_scalar(c_function *f, ir_value *value) {
  const ir_op *op = ir_value_op(value);
  if (op && (op->flags & IR_OP_INLINE)) {
    const ir_expr *expr = ir_attr_as_expr(f->file->context, ir_get(op, "value"));
    c_scope inner = {.f = f, .op = op};
    c_count(&inner, expr);
    return c_expr(&inner, expr);
  }
  return named(f, value);
}

static const char *compute(c_scope *scope, const ir_expr *expr) {
  c_function *f = scope->f;
  const ir_expr *known = ir_simplify_constant(f->file->context, expr); /* PoCL takes rint(INFINITY) for undefined */
  if (known != expr) return c_expr(scope, known);
  ir_dtype from = expr->count ? (ir_dtype)expr->kids[0]->dtype : IR_I64, to = (ir_dtype)expr->dtype;
  switch ((int)expr->code) {
  case IR_S_CONST: return c_constant(f->file, to, expr->bits);
  case IR_S_SYMBOL: return named(f, expr);
  case IR_S_ARG: return f->arguments ? f->arguments[expr->arg] : c_scalar(f, ir_op_operand(scope->op, expr->arg));
  case IR_S_LOAD: return load(scope, expr);
  case IR_S_CAST: return c_convert(f->file, from, to, c_expr(scope, expr->kids[0]));
  case IR_S_BITCAST: return c_bitcast(f->file, from, to, c_expr(scope, expr->kids[0]));
  case IR_S_GUARD: return guarded(scope, expr);
  default: return apply(scope, expr);
  }
}

static bool is_name(const char *text) {
  for (; *text; text++) {
    bool plain = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') || (*text >= '0' && *text <= '9') || *text == '_' || *text == '.';
    if (!plain) return false;
  }
  return true;
}

const char *c_expr(c_scope *scope, const ir_expr *expr) {
  c_function *f = scope->f;
  const char *known = ir_map_get(&scope->memo, expr);
  if (known) return known;
  f->file->used |= UINT32_C(1) << expr->dtype;
  const char *text = compute(scope, expr);
  if (!text) {
    ir_range range = scope->op ? scope->op->range : (ir_range){0, 0};
    ir_error(f->file->context->diags, range, "the %s target cannot compute %s of %s", f->file->dialect->target, ir_scalars[expr->code].name,
             ir_dtype_name((ir_dtype)(expr->count ? expr->kids[0]->dtype : expr->dtype)));
    text = "0"; /* nothing is written after an error */
  }
  bool shared = (uintptr_t)ir_map_get(&scope->uses, expr) > 1;
  if (!is_name(text) && expr->code != IR_S_CONST && (shared || strlen(text) > LONGEST)) {
    text = given_name(f, (ir_dtype)expr->dtype, text);
  }
  ir_map_put(&f->arena, &scope->memo, expr, (void *)(uintptr_t)text);
  *ir_push(&f->arena, &scope->order) = expr;
  return text;
}
