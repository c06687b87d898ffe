// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/export.c - what a program sees of a compiled module: for each public graph function rill_NAME and its
 * _open, _shapes and _close, which runtime/llvm/support does the work of; and a function that works out extents. */
#include "targets/llvm/export.h"

#include "ir/print.h"
#include "ir/symbols.h"
#include "targets/llvm/abi.h"
#include "targets/llvm/side.h"

#include <llvm-c/BitReader.h>
#include <llvm-c/Linker.h>

/* --- parameters and results as tensors --- */

/* What DLPack calls it. */
static uint8_t code_of(ir_dtype dtype) {
  static const uint8_t of_class[] = {[IR_CLASS_BOOL] = 6, [IR_CLASS_SINT] = 0, [IR_CLASS_UINT] = 1, [IR_CLASS_FLOAT] = 2};
  /* 2 is IEEE's: others have codes of their own. */
  static const uint8_t special[IR_DTYPE_COUNT] = {[IR_BF16] = 4, [IR_F8E4M3] = 10, [IR_F8E5M2] = 12};
  return special[dtype] ? special[dtype] : of_class[ir_dtypes[dtype].class];
}

static bool can_export(const ir_func *func, const char *kind, const ir_type *type, ir_diags *diags, ir_arena *arena) {
  if (type->kind == IR_TYPE_TUPLE) {
    bool fine = true;
    for (size_t i = 0; i < type->count && fine; i++) fine = can_export(func, kind, ir_type_field(type, i), diags, arena);
    return fine;
  }
  bool ranked = (ir_is_tensor(type) || type->kind == IR_TYPE_SHAPE) && type->ranked;
  bool fine = ranked || ir_is_scalar(type);
  if (fine) return true;
  ir_error(diags, func->item.range, "the llvm target cannot export @%s: %s of type %s has no form as a tensor", func->item.name->text, kind,
           ir_type_text(arena, type));
  return false;
}

static void add_values(emit_exports *list, ir_arena *arena, const char *name, const ir_type *type) {
  for (size_t i = 0; type->kind == IR_TYPE_TUPLE && i < type->count; i++) {
    add_values(list, arena, ir_arena_printf(arena, "%s.%zu", name, i), ir_type_field(type, i));
  }
  if (type->kind == IR_TYPE_TUPLE) return;
  bool shape = type->kind == IR_TYPE_SHAPE;
  *ir_push(arena, list) = (emit_export){.name = name,
                                        .type = type,
                                        .dtype = shape ? IR_I64 : ir_type_dtype(type),
                                        .rank = shape ? 1 : ir_is_tensor(type) ? type->count : 0};
}

bool emit_exports_of(ir_arena *arena, const ir_func *func, emit_exports *inputs, emit_exports *outputs) {
  ir_diags *diags = ir_func_context(func)->diags;
  bool fine = true;
  for (size_t i = 0; i < func->param_count && fine; i++) {
    const ir_string *name = func->params[i].name;
    fine = can_export(func, "a parameter", func->params[i].type, diags, arena);
    if (fine) add_values(inputs, arena, name ? name->text : ir_arena_printf(arena, "%zu", i), func->params[i].type);
  }
  for (size_t i = 0; i < func->result_count && fine; i++) {
    fine = can_export(func, "a result", func->results[i], diags, arena);
    if (fine) add_values(outputs, arena, ir_arena_printf(arena, "%zu", i), func->results[i]);
  }
  return fine;
}

/* --- descriptions --- */

static LLVMValueRef describe_values(emit_unit *unit, const emit_exports *list) {
  LLVMTypeRef members[] = {unit->ptr, unit->ptr, unit->i32, unit->i32, unit->i8, unit->i8};
  LLVMTypeRef type = LLVMStructTypeInContext(unit->llvm, members, ir_count_of(members), 0);
  LLVMValueRef *rows = ir_new_array(unit->arena, LLVMValueRef, list->count);
  for (size_t i = 0; i < list->count; i++) {
    const emit_export *value = &list->at[i];
    const char *expected = ir_arena_printf(unit->arena, "has another dtype than %s", ir_dtype_name(value->dtype));
    int64_t extents = value->type->kind == IR_TYPE_SHAPE ? (int64_t)value->type->count : -1;
    LLVMValueRef row[] = {
        emit_private_text(unit, value->name),
        emit_private_text(unit, expected),
        LLVMConstInt(unit->i32, value->rank, 0),
        LLVMConstInt(unit->i32, (unsigned long long)extents, 1),
        LLVMConstInt(unit->i8, code_of(value->dtype), 0),
        LLVMConstInt(unit->i8, ir_dtypes[value->dtype].bits, 0),
    };
    rows[i] = LLVMConstStructInContext(unit->llvm, row, ir_count_of(row), 0);
  }
  return emit_private(unit, "values", LLVMConstArray2(type, rows, list->count));
}

static LLVMValueRef describe(emit_unit *unit, const ir_func *func, const emit_exports *inputs, const emit_exports *outputs, LLVMValueRef shapes) {
  LLVMValueRef members[] = {
      emit_private_text(unit, func->item.name->text),
      emit_i64(unit, (int64_t)inputs->count),
      emit_i64(unit, (int64_t)outputs->count),
      describe_values(unit, inputs),
      describe_values(unit, outputs),
      emit_host_declare(unit, func),
      shapes,
      emit_side_describe(unit),
  };
  return emit_private(unit, "info", LLVMConstStructInContext(unit->llvm, members, ir_count_of(members), 0));
}

/* --- functions --- */

/* NAME hands its parameters, behind INFO where there is one, to the function TO of the support code. */
static void forward(emit_unit *unit, const char *name, const char *to, LLVMValueRef info, unsigned count, bool returns) {
  LLVMTypeRef result = returns ? unit->i32 : unit->nothing;
  LLVMTypeRef params[4] = {unit->ptr, unit->ptr, unit->ptr, unit->ptr};
  unsigned more = info != NULL;
  LLVMValueRef function = LLVMAddFunction(unit->module, name, LLVMFunctionType(result, params, count, 0));
  LLVMTypeRef type = LLVMFunctionType(result, params, count + more, 0);
  LLVMValueRef callee = LLVMGetNamedFunction(unit->module, to);
  if (!callee) callee = LLVMAddFunction(unit->module, to, type);
  emit_function_attributes(unit, function);
  LLVMValueRef args[4] = {info};
  for (unsigned i = 0; i < count; i++) args[i + more] = LLVMGetParam(function, i);
  LLVMBuilderRef b = LLVMCreateBuilderInContext(unit->llvm);
  LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(unit->llvm, function, "entry"));
  LLVMValueRef status = LLVMBuildCall2(b, type, callee, args, count + more, "");
  if (returns) LLVMBuildRet(b, status);
  if (!returns) LLVMBuildRetVoid(b);
  LLVMDisposeBuilder(b);
}

bool emit_export_function(emit_unit *unit, ir_func *func) {
  emit_exports inputs = {0}, outputs = {0};
  if (!emit_exports_of(unit->arena, func, &inputs, &outputs)) return false;
  LLVMValueRef shapes = emit_host_shapes(unit, func);
  if (!shapes) return false;
  LLVMValueRef info = describe(unit, func, &inputs, &outputs, shapes);
  const char *name = emit_export_name(unit->arena, func);
  forward(unit, ir_arena_printf(unit->arena, "%s_open", name), "rill_support_open", info, 3, true);
  forward(unit, ir_arena_printf(unit->arena, "%s_shapes", name), "rill_support_shapes", NULL, 3, true);
  forward(unit, name, "rill_support_run", NULL, 3, true);
  forward(unit, ir_arena_printf(unit->arena, "%s_close", name), "rill_support_close", NULL, 1, false);
  return true;
}

const char *emit_export_name(ir_arena *arena, const ir_func *func) {
  return ir_arena_printf(arena, "rill_%s", ir_mangled(arena, func->item.name));
}

/* --- the support code --- */

/* The bitcode for the architecture that TRIPLE begins with. */
static const emit_bitcode *support_for(const char *triple) {
  for (const emit_bitcode *code = emit_support; code->arch; code++) {
    if (!strncmp(triple, code->arch, strlen(code->arch))) return code;
  }
  return NULL;
}

/* Functions that map a side file are for models that have one: without, nobody has to offer what they call. */
static void drop_unused(emit_unit *unit) {
  static const char *const names[] = {"rill_support_map", "rill_support_unmap", "open", "lseek", "mmap", "munmap", "close"};
  for (size_t i = 0; i < ir_count_of(names); i++) {
    LLVMValueRef f = LLVMGetNamedFunction(unit->module, names[i]);
    bool ours = i < 2;
    if (f && !LLVMGetFirstUse(f) && (ours || LLVMIsDeclaration(f))) LLVMDeleteFunction(f);
  }
}

static bool is_support(LLVMValueRef function) {
  size_t length;
  const char *name = LLVMGetValueName2(function, &length);
  return length > 13 && !strncmp(name, "rill_support_", 13);
}

/* Systems of one architecture may differ in names and preferred alignments, which the support code takes as they come; not in
 * the size of pointers and the order of bytes. */
static bool fits_layout(emit_unit *unit, LLVMModuleRef support) {
  LLVMTargetDataRef own = LLVMGetModuleDataLayout(unit->module), made_for = LLVMGetModuleDataLayout(support);
  if (LLVMPointerSize(own) == LLVMPointerSize(made_for) && LLVMByteOrder(own) == LLVMByteOrder(made_for)) {
    LLVMSetDataLayout(support, unit->target->layout);
    return true;
  }
  ir_error_in(unit->context->diags, "llvm", "not implemented: '%s', whose pointers or order of bytes are not those of its architecture",
              unit->target->triple);
  LLVMDisposeModule(support);
  return false;
}

bool emit_link_support(emit_unit *unit) {
  const emit_bitcode *code = support_for(unit->target->triple);
  if (!code) {
    ir_error_in(unit->context->diags, "llvm", "no support code for '%s': x86_64, aarch64, riscv64 and wasm32 have some", unit->target->triple);
    return false;
  }
  LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRange((const char *)code->begin, (size_t)(code->end - code->begin), "support", 0);
  LLVMModuleRef support = NULL;
  bool broken = LLVMParseBitcodeInContext2(unit->llvm, buffer, &support);
  LLVMDisposeMemoryBuffer(buffer);
  if (!broken && !fits_layout(unit, support)) return false;
  if (!broken) {
    LLVMSetTarget(support, unit->target->triple);
    broken = LLVMLinkModules2(unit->module, support);
  }
  if (broken) {
    ir_error_in(unit->context->diags, "llvm", "the support code does not link (a fault of ours)");
    return false;
  }
  drop_unused(unit);
  for (LLVMValueRef f = LLVMGetFirstFunction(unit->module); f; f = LLVMGetNextFunction(f)) {
    if (is_support(f) && !LLVMIsDeclaration(f)) LLVMSetLinkage(f, LLVMInternalLinkage);
  }
  return true;
}
