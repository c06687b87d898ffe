// SPDX-License-Identifier: Apache-2.0
/* parser/grammar.y - the syntax (docs/spec/text.md), LALR(1) without conflicts. Actions build short-lived trees
 * (parser/node.h) and hand complete headers and statements to the resolver (parser/resolve.h), which makes operations.
 * Regions open where their `{` has been read: the *_open nonterminals. */

%name ir_grammar
%token_prefix T_
%token_type {ir_range}
%default_type {ir_node *}
%extra_context {ir_parser *p}
%stack_size 0
%start_symbol file

%include {
#include "parser/resolve.h"

#define malloc ir_heap_alloc
#define realloc ir_heap_realloc
#define free ir_heap_free

static ir_range join(ir_range a, ir_range b) { return (ir_range){a.begin, b.end}; }
}

%syntax_error { (void)yymajor; (void)yyminor; p->rejected = true; }
%parse_failure { p->stopped = true; }
%stack_overflow { p->stopped = true; }

/* A bad token; and what the driver sends to start recovery: it follows what Lemon leaves of the damage. */
%token BAD.

%left OR.
%left AND.
%nonassoc EQ NE LT LE GT GE.
%left PLUS MINUS.
%left STAR SLASH.
%right BANG.

%type exprs {ir_nodes}
%type exprs_opt {ir_nodes}
%type types {ir_nodes}
%type types_opt {ir_nodes}
%type ctypes {ir_nodes}
%type params {ir_nodes}
%type params_opt {ir_nodes}
%type carries {ir_nodes}
%type carries_opt {ir_nodes}
%type axes {ir_nodes}
%type axes_opt {ir_nodes}
%type args {ir_nodes}
%type args_opt {ir_nodes}
%type dims {ir_nodes}
%type indices {ir_nodes}
%type indices_opt {ir_nodes}
%type entries {ir_nodes}
%type entries_opt {ir_nodes}
%type targets {ir_nodes}
%type wheres {ir_nodes}
%type where {ir_nodes}
%type stack {ir_nodes}
%type loc {ir_nodes}
%type key {ir_range}
%type callee {ir_range}
%type flags {ir_flags}
%type dir {int}
%type func_word {int}
%type signature {ir_signature *}
%type func_sig {ir_header *}
%type control {ir_making *}
%type if_then {ir_making *}

%type func_open {ir_block *}
%type reducer_open {ir_block *}
%type if_open {ir_block *}
%type else_open {ir_block *}
%type loop_open {ir_block *}
%type dataflow_open {ir_block *}
%type compute_open {ir_block *}
%type for_open {ir_block *}
%type while_open {ir_block *}
%type closure_open {ir_block *}
%destructor func_open { ir_block_abandon(p, $$); }
%destructor reducer_open { ir_block_abandon(p, $$); }
%destructor if_open { ir_block_abandon(p, $$); }
%destructor else_open { ir_block_abandon(p, $$); }
%destructor loop_open { ir_block_abandon(p, $$); }
%destructor dataflow_open { ir_block_abandon(p, $$); }
%destructor compute_open { ir_block_abandon(p, $$); }
%destructor for_open { ir_block_abandon(p, $$); }
%destructor while_open { ir_block_abandon(p, $$); }
%destructor closure_open { ir_block_abandon(p, $$); }

file ::= version module_open items RBRACE.
version ::= .
version ::= RILL INT(V). { ir_resolve_version(p, V); }
module_open ::= MODULE with(W) LBRACE. { ir_resolve_module(p, W); }

items ::= .
items ::= items item.
item ::= error BAD.

/* --- items --- */
item ::= func_sig(H). { ir_resolve_extern(p, H); }
item ::= func_open(B) body RBRACE(E). { ir_close_func(p, B, E); }
item ::= reducer_open(B) body RBRACE(E). { ir_close_func(p, B, E); }
item ::= DEVICE GLOBAL(N) ASSIGN expr(E). { ir_resolve_device(p, N, E); }
item ::= RESOURCE GLOBAL(N) COLON type(T) ASSIGN expr(E). { ir_resolve_resource(p, N, T, E); }

func_open(A) ::= func_sig(H) LBRACE. { A = ir_open_func(p, H); }
func_sig(A) ::= flags(F) func_word(K) GLOBAL(N) signature(S) where(C) with(W). {
  A = ir_new(&p->scratch, ir_header);
  *A = (ir_header){.kind = K, .flags = F, .name = N, .signature = S, .where = C, .with = W};
}
func_word(A) ::= FUNC. { A = IR_ITEM_FUNC; }
func_word(A) ::= PRIM_FUNC. { A = IR_ITEM_PRIM_FUNC; }
flags(A) ::= . { A = (ir_flags){0}; }
flags(A) ::= flags(F) PRIVATE(T). { A = ir_flag(p, F, IR_ITEM_PRIVATE, T); }
flags(A) ::= flags(F) IMPURE(T). { A = ir_flag(p, F, IR_ITEM_IMPURE, T); }
flags(A) ::= flags(F) EXTERN(T). { A = ir_flag(p, F, IR_ITEM_EXTERN, T); }

reducer_open(A) ::= REDUCER GLOBAL(N) LP carries(S) SEMI params_opt(P) RP with(W) LBRACE. {
  A = ir_open_reducer(p, N, S, P, W);
}

signature(A) ::= . { A = NULL; }
signature(A) ::= LP(B) params_opt(P) RP(E). { A = ir_signature_new(p, P, NULL, join(B, E)); }
signature(A) ::= LP(B) params_opt(P) RP ARROW results(R). { A = ir_signature_new(p, P, R, join(B, R->range)); }
params_opt(A) ::= . { A = (ir_nodes){0}; }
params_opt(A) ::= params(L). { A = L; }
params(A) ::= param(X). { A = ir_nodes_one(X); }
params(A) ::= params(L) COMMA param(X). { A = ir_nodes_add(L, X); }
param(A) ::= dir(D) VALUE(N) COLON type(T) with(W). { A = ir_node_param(p, N_PARAM, D, N, T, W); }
param(A) ::= dir(D) ID(N) COLON type(T) with(W). { A = ir_node_param(p, N_PARAM, D, N, T, W); }
dir(A) ::= . { A = IR_IN; }
dir(A) ::= OUT. { A = IR_OUT; }
dir(A) ::= INOUT. { A = IR_INOUT; }

where(A) ::= . { A = (ir_nodes){0}; }
where(A) ::= WHERE exprs(L). { A = L; }
with(A) ::= . { A = NULL; }
with(A) ::= WITH dict(D). { A = D; }

/* --- blocks and statements --- */
body ::= stmts.
body ::= stmts terminator.
body ::= body error BAD.
stmts ::= .
stmts ::= stmts stmt.
stmt ::= error BAD. { ir_resolve_nothing(p); }
stmt ::= BAD. { ir_resolve_nothing(p); }
stmt ::= targets(T) ASSIGN expr(E) with(W) ctypes(Y) loc(L). { ir_resolve_statement(p, T, E, W, Y, L); }
stmt ::= targets(T) ASSIGN stacking(E) with(W) ctypes(Y) loc(L). { ir_resolve_statement(p, T, E, W, Y, L); }
stmt ::= targets(T) ASSIGN control(M) ctypes(Y) loc(L). { ir_resolve_made(p, T, M, Y, L); }
stmt ::= call(E) with(W) ctypes(Y) loc(L). { ir_resolve_statement(p, (ir_nodes){0}, E, W, Y, L); }
stmt ::= control(M) ctypes(Y) loc(L). { ir_resolve_made(p, (ir_nodes){0}, M, Y, L); }
stmt ::= targets(T) ASSIGN closure_open(B) body RBRACE ctypes(Y) loc(L). { ir_resolve_made(p, T, ir_block_close(p, B), Y, L); }

terminator ::= YIELD(K) exprs_opt(V) stack(S) loc(L). { ir_resolve_yield(p, K, V, S, NULL, L); }
terminator ::= YIELD(K) exprs_opt(V) stack(S) WHILE expr(C) loc(L). { ir_resolve_yield(p, K, V, S, C, L); }
terminator ::= RETURN(K) exprs_opt(V) loc(L). { ir_resolve_return(p, K, V, L); }
stack(A) ::= . { A = (ir_nodes){0}; }
stack(A) ::= STACK exprs(L). { A = L; }

targets(A) ::= target(X). { A = ir_nodes_one(X); }
targets(A) ::= targets(L) COMMA target(X). { A = ir_nodes_add(L, X); }
target(A) ::= VALUE(V). { A = ir_node_leaf(p, N_VALUE, V); }
target(A) ::= VALUE(V) LB indices_opt(L) RB(E). { A = ir_node_list(p, N_ELEMENT, V, L, E); }

ctypes(A) ::= . { A = (ir_nodes){0}; }
ctypes(A) ::= COLON types(L). { A = L; }
loc(A) ::= . { A = (ir_nodes){0}; }
loc(A) ::= LOC LP wheres(L) RP. { A = L; }
wheres(A) ::= where1(X). { A = ir_nodes_one(X); }
wheres(A) ::= wheres(L) COMMA where1(X). { A = ir_nodes_add(L, X); }
where1(A) ::= STRING(S). { A = ir_node_leaf(p, N_WHERE, S); }
where1(A) ::= STRING(S) COLON INT(L) COLON INT(C). { A = ir_node_where(p, S, L, C); }

/* --- control --- */
control(A) ::= if_then(M). { A = M; }
control(A) ::= if_then(M) else_open(B) body RBRACE. { A = ir_close_else(p, M, B); }
if_then(A) ::= if_open(B) body RBRACE. { A = ir_block_close(p, B); }
if_open(A) ::= IF(K) expr(C) with(W) LBRACE. { A = ir_open_if(p, K, C, W); }
else_open(A) ::= ELSE LBRACE. { A = ir_open_else(p); }
control(A) ::= loop_open(B) body RBRACE. { A = ir_block_close(p, B); }
loop_open(A) ::= LOOP(K) LP VALUE(V) trip(T) carries_opt(C) RP again(R) with(W) LBRACE. { A = ir_open_loop(p, K, V, T, C, R, W); }
trip(A) ::= . { A = NULL; }
trip(A) ::= LT expr(E). { A = E; }
again(A) ::= . { A = NULL; }
again(A) ::= WHILE expr(E). { A = E; }
carries_opt(A) ::= . { A = (ir_nodes){0}; }
carries_opt(A) ::= SEMI carries(L). { A = L; }
carries(A) ::= carry(X). { A = ir_nodes_one(X); }
carries(A) ::= carries(L) COMMA carry(X). { A = ir_nodes_add(L, X); }
carry(A) ::= VALUE(N) COLON type(T) ASSIGN expr(E). { A = ir_node_param(p, N_CARRY, 0, N, T, E); }
control(A) ::= dataflow_open(B) body RBRACE. { A = ir_block_close(p, B); }
dataflow_open(A) ::= DATAFLOW(K) with(W) LBRACE. { A = ir_open_dataflow(p, K, W); }
control(A) ::= compute_open(B) body RBRACE. { A = ir_block_close(p, B); }
compute_open(A) ::= COMPUTE(K) LP axes_opt(S) RP where(C) with(W) LBRACE. { A = ir_open_compute(p, K, S, (ir_nodes){0}, C, W); }
compute_open(A) ::= COMPUTE(K) LP axes_opt(S) SEMI axes(R) RP where(C) with(W) LBRACE. { A = ir_open_compute(p, K, S, R, C, W); }
axes_opt(A) ::= . { A = (ir_nodes){0}; }
axes_opt(A) ::= axes(L). { A = L; }
axes(A) ::= axis(X). { A = ir_nodes_one(X); }
axes(A) ::= axes(L) COMMA axis(X). { A = ir_nodes_add(L, X); }
axis(A) ::= ID(N) LT expr(E). { A = ir_node_named(p, N_AXIS, N, E, E->range); }
control(A) ::= for_open(B) body RBRACE. { A = ir_block_close(p, B); }
for_open(A) ::= FOR(K) ID(N) LT expr(E) mode(M) with(W) LBRACE. { A = ir_open_for(p, K, N, E, M, W); }
mode(A) ::= . { A = NULL; }
mode(A) ::= ID(N). { A = ir_node_leaf(p, N_ID, N); }
mode(A) ::= call(C). { A = C; }
control(A) ::= while_open(B) body RBRACE. { A = ir_block_close(p, B); }
while_open(A) ::= WHILE(K) expr(C) with(W) LBRACE. { A = ir_open_while(p, K, C, W); }
closure_open(A) ::= FUNC(K) signature(S) where(C) with(W) LBRACE. { A = ir_open_closure(p, K, S, C, W); }

/* --- types --- */
types_opt(A) ::= . { A = (ir_nodes){0}; }
types_opt(A) ::= types(L). { A = L; }
types(A) ::= type(X). { A = ir_nodes_one(X); }
types(A) ::= types(L) COMMA type(X). { A = ir_nodes_add(L, X); }
type(A) ::= ID(N). { A = ir_node_leaf(p, N_ID, N); }
type(A) ::= array(X). { A = X; }
type(A) ::= array(X) GLOBAL(G). { A = ir_node_device(p, X, G); }
type(A) ::= fn(X). { A = X; }
array(A) ::= ID(N) LB RB(E). { A = ir_node_list(p, N_ARRAY, N, (ir_nodes){0}, E); }
array(A) ::= ID(N) LB STAR(S) RB(E). { A = ir_node_list(p, N_ARRAY, N, ir_nodes_one(ir_node_leaf(p, N_UNRANKED, S)), E); }
array(A) ::= ID(N) LB dims(L) RB(E). { A = ir_node_list(p, N_ARRAY, N, L, E); }
array(A) ::= QUESTION(N) LB RB(E). { A = ir_node_list(p, N_ARRAY, N, (ir_nodes){0}, E); }
array(A) ::= QUESTION(N) LB STAR(S) RB(E). { A = ir_node_list(p, N_ARRAY, N, ir_nodes_one(ir_node_leaf(p, N_UNRANKED, S)), E); }
array(A) ::= QUESTION(N) LB dims(L) RB(E). { A = ir_node_list(p, N_ARRAY, N, L, E); }
dims(A) ::= dim(X). { A = ir_nodes_one(X); }
dims(A) ::= dims(L) COMMA dim(X). { A = ir_nodes_add(L, X); }
dim(A) ::= QUESTION(Q). { A = ir_node_leaf(p, N_UNKNOWN, Q); }
dim(A) ::= expr(E). { A = E; }
fn(A) ::= FN(K). { A = ir_node_fn(p, K, K, false, (ir_nodes){0}, NULL); }
fn(A) ::= IMPURE(I) FN(K). { A = ir_node_fn(p, I, K, true, (ir_nodes){0}, NULL); }
fn(A) ::= FN(K) LP types_opt(P) RP ARROW results(R). { A = ir_node_fn(p, K, K, false, P, R); }
fn(A) ::= IMPURE(I) FN(K) LP types_opt(P) RP ARROW results(R). { A = ir_node_fn(p, I, K, true, P, R); }
results(A) ::= type(X). { A = ir_node_list(p, N_LIST, X->range, ir_nodes_one(X), X->range); }
results(A) ::= LP(B) types_opt(L) RP(E). { A = ir_node_list(p, N_LIST, B, L, E); }

/* --- expressions and attribute values --- */
exprs_opt(A) ::= . { A = (ir_nodes){0}; }
exprs_opt(A) ::= exprs(L). { A = L; }
exprs(A) ::= expr(X). { A = ir_nodes_one(X); }
exprs(A) ::= exprs(L) COMMA expr(X). { A = ir_nodes_add(L, X); }

expr(A) ::= call(X). { A = X; }
expr(A) ::= GLOBAL(N). { A = ir_node_leaf(p, N_GLOBAL, N); }
expr(A) ::= GLOBAL(N) LP args_opt(L) RP(E). { A = ir_node_list(p, N_GLOBAL_CALL, N, L, E); }
expr(A) ::= VALUE(N). { A = ir_node_leaf(p, N_VALUE, N); }
expr(A) ::= VALUE(N) LB indices_opt(L) RB(E). { A = ir_node_list(p, N_ELEMENT, N, L, E); }
expr(A) ::= ID(N). { A = ir_node_leaf(p, N_ID, N); }
expr(A) ::= array(X). { A = X; }
expr(A) ::= array(X) GLOBAL(G). { A = ir_node_device(p, X, G); }
expr(A) ::= fn(X). { A = X; }
expr(A) ::= INT(N). { A = ir_node_leaf(p, N_INT, N); }
expr(A) ::= FLOAT(N). { A = ir_node_leaf(p, N_FLOAT, N); }
expr(A) ::= STRING(N). { A = ir_node_leaf(p, N_STRING, N); }
expr(A) ::= ELLIPSIS(N). { A = ir_node_leaf(p, N_ELLIPSIS, N); }
expr(A) ::= dict(D). { A = D; }
expr(A) ::= LB(B) exprs_opt(L) RB(E). { A = ir_node_list(p, N_LIST, B, L, E); }
expr(A) ::= LP expr(X) RP. { A = X; }
expr(A) ::= MINUS(K) expr(X). [BANG] { A = ir_node_prefix(p, N_NEGATE, K, X); }
expr(A) ::= BANG(K) expr(X). { A = ir_node_prefix(p, N_NOT, K, X); }
expr(A) ::= expr(X) OR expr(Y). { A = ir_node_binary(p, IR_S_OR, X, Y); }
expr(A) ::= expr(X) AND expr(Y). { A = ir_node_binary(p, IR_S_AND, X, Y); }
expr(A) ::= expr(X) EQ expr(Y). { A = ir_node_binary(p, IR_S_EQ, X, Y); }
expr(A) ::= expr(X) NE expr(Y). { A = ir_node_binary(p, IR_S_NE, X, Y); }
expr(A) ::= expr(X) LT expr(Y). { A = ir_node_binary(p, IR_S_LT, X, Y); }
expr(A) ::= expr(X) LE expr(Y). { A = ir_node_binary(p, IR_S_LE, X, Y); }
expr(A) ::= expr(X) GT expr(Y). { A = ir_node_binary(p, IR_S_GT, X, Y); }
expr(A) ::= expr(X) GE expr(Y). { A = ir_node_binary(p, IR_S_GE, X, Y); }
expr(A) ::= expr(X) PLUS expr(Y). { A = ir_node_binary(p, IR_S_ADD, X, Y); }
expr(A) ::= expr(X) MINUS expr(Y). { A = ir_node_binary(p, IR_S_SUB, X, Y); }
expr(A) ::= expr(X) STAR expr(Y). { A = ir_node_binary(p, IR_S_MUL, X, Y); }
expr(A) ::= expr(X) SLASH expr(Y). { A = ir_node_binary(p, IR_S_DIV, X, Y); }

call(A) ::= callee(N) LP args_opt(L) RP(E). { A = ir_node_list(p, N_CALL, N, L, E); }
callee(A) ::= ID(N). { A = N; }
callee(A) ::= WHERE(N). { A = N; }
/* The operator named like the word of `yield`. */
stacking(A) ::= STACK(N) LP args_opt(L) RP(E). { A = ir_node_list(p, N_CALL, N, L, E); }
args_opt(A) ::= . { A = (ir_nodes){0}; }
args_opt(A) ::= args(L). { A = L; }
args(A) ::= arg(X). { A = ir_nodes_one(X); }
args(A) ::= args(L) COMMA arg(X). { A = ir_nodes_add(L, X); }
arg(A) ::= expr(E). { A = E; }
arg(A) ::= key(N) ASSIGN expr(E). { A = ir_node_named(p, N_ENTRY, N, E, E->range); }
indices_opt(A) ::= . { A = (ir_nodes){0}; }
indices_opt(A) ::= indices(L). { A = L; }
indices(A) ::= index(X). { A = ir_nodes_one(X); }
indices(A) ::= indices(L) COMMA index(X). { A = ir_nodes_add(L, X); }
index(A) ::= expr(E). { A = E; }
index(A) ::= expr(E) COLON expr(W). { A = ir_node_pair(p, N_LANES, E, W); }

dict(A) ::= LBRACE(B) entries_opt(L) RBRACE(E). { A = ir_node_list(p, N_DICT, B, L, E); }
entries_opt(A) ::= . { A = (ir_nodes){0}; }
entries_opt(A) ::= entries(L). { A = L; }
entries(A) ::= entry(X). { A = ir_nodes_one(X); }
entries(A) ::= entries(L) COMMA entry(X). { A = ir_nodes_add(L, X); }
entry(A) ::= key(N) ASSIGN expr(E). { A = ir_node_named(p, N_ENTRY, N, E, E->range); }
entry(A) ::= STRING(N) ASSIGN expr(E). { A = ir_node_quoted(p, N, E); }

/* Keywords are words here. */
key(A) ::= ID(N). { A = N; }
key(A) ::= RILL(N). { A = N; }
key(A) ::= MODULE(N). { A = N; }
key(A) ::= FUNC(N). { A = N; }
key(A) ::= PRIM_FUNC(N). { A = N; }
key(A) ::= REDUCER(N). { A = N; }
key(A) ::= DEVICE(N). { A = N; }
key(A) ::= RESOURCE(N). { A = N; }
key(A) ::= PRIVATE(N). { A = N; }
key(A) ::= IMPURE(N). { A = N; }
key(A) ::= EXTERN(N). { A = N; }
key(A) ::= OUT(N). { A = N; }
key(A) ::= INOUT(N). { A = N; }
key(A) ::= WHERE(N). { A = N; }
key(A) ::= WITH(N). { A = N; }
key(A) ::= YIELD(N). { A = N; }
key(A) ::= RETURN(N). { A = N; }
key(A) ::= STACK(N). { A = N; }
key(A) ::= WHILE(N). { A = N; }
key(A) ::= IF(N). { A = N; }
key(A) ::= ELSE(N). { A = N; }
key(A) ::= LOOP(N). { A = N; }
key(A) ::= DATAFLOW(N). { A = N; }
key(A) ::= COMPUTE(N). { A = N; }
key(A) ::= FOR(N). { A = N; }
key(A) ::= FN(N). { A = N; }
key(A) ::= LOC(N). { A = N; }

/* --- what the driver asks of the tables --- */
%code {
/* Whether TOKEN can come next: the automaton is walked on a copy of the top of the stack, because default reductions
 * would already have dropped the context that a message needs. */
bool ir_grammar_accepts(void *parser, int token) {
  enum { DEEPEST = 64 };
  const yyParser *yyp = parser;
  struct { YYACTIONTYPE state; } over[DEEPEST];
  int height = 0;                     /* entries on OVER */
  const yyStackEntry *top = yyp->yytos; /* what OVER stands on */
  YYACTIONTYPE state = top->stateno;
  for (int steps = 0; steps < 10000; steps++) {
    /* After a shift that implies a reduction the stack holds the action itself. */
    YYACTIONTYPE action = state > YY_MAX_SHIFT ? state : yy_find_shift_action((YYCODETYPE)token, state);
    if (action == YY_ERROR_ACTION) return false;
    if (action < YY_MIN_REDUCE) return true;
    unsigned rule = action - YY_MIN_REDUCE;
    int drop = -yyRuleInfoNRhs[rule];
    int from_over = drop < height ? drop : height;
    height -= from_over;
    top -= drop - from_over;
    YYACTIONTYPE below = height ? over[height - 1].state : top->stateno;
    if (height == DEEPEST) return true;
    state = yy_find_reduce_action(below, yyRuleInfoLhs[rule]);
    over[height++].state = state;
  }
  return true;
}

size_t ir_grammar_height(const void *parser) {
  const yyParser *yyp = parser;
  return (size_t)(yyp->yytos - yyp->yystack);
}
}
