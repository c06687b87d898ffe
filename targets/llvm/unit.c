// SPDX-License-Identifier: Apache-2.0
/* targets/llvm/unit.c - one LLVM module and what is not inside its functions: names, attributes, texts of failures. */
#include "targets/llvm/llvm.h"

#include "ir/print.h"

#include <llvm-c/Analysis.h>

static LLVMTypeRef struct_type(emit_unit *unit, const char *name, LLVMTypeRef *members, unsigned count) {
  LLVMTypeRef type = LLVMStructCreateNamed(unit->llvm, name);
  LLVMStructSetBody(type, members, count, 0);
  return type;
}

emit_unit *emit_unit_new(ir_module *source, ir_arena *arena, const emit_target *target, const char *name) {
  emit_unit *unit = ir_new(arena, emit_unit);
  LLVMContextRef llvm = LLVMContextCreate();
  *unit = (emit_unit){.llvm = llvm,
                      .module = LLVMModuleCreateWithNameInContext(name, llvm),
                      .target = target,
                      .source = source,
                      .context = source->context,
                      .arena = arena,
                      .fma = ir_module_fma(source),
                      .i1 = LLVMInt1TypeInContext(llvm),
                      .i4 = LLVMIntTypeInContext(llvm, 4),
                      .i8 = LLVMInt8TypeInContext(llvm),
                      .i16 = LLVMInt16TypeInContext(llvm),
                      .i32 = LLVMInt32TypeInContext(llvm),
                      .i64 = LLVMInt64TypeInContext(llvm),
                      .half = LLVMHalfTypeInContext(llvm),
                      .f32 = LLVMFloatTypeInContext(llvm),
                      .f64 = LLVMDoubleTypeInContext(llvm),
                      .ptr = LLVMPointerTypeInContext(llvm, 0),
                      .nothing = LLVMVoidTypeInContext(llvm)};
  LLVMSetTarget(unit->module, target->triple);
  LLVMSetDataLayout(unit->module, target->layout);
  /* As targets/llvm/abi.h has them. */
  LLVMTypeRef ptr = unit->ptr;
  unit->tensor_type = struct_type(unit, "rill_tensor", (LLVMTypeRef[]){ptr, ptr}, 2);
  unit->context_type = struct_type(unit, "rill_context", (LLVMTypeRef[]){ptr, ptr, ptr, ptr, ptr, ptr, unit->i64}, 7);
  unit->failure_type = struct_type(unit, "rill_failure", (LLVMTypeRef[]){ptr, ptr, unit->i32, unit->i32}, 4);
  unit->entry_type = LLVMFunctionType(unit->i32, (LLVMTypeRef[]){ptr, ptr, ptr}, 3, 0);
  return unit;
}

void emit_unit_free(emit_unit *unit) {
  if (unit->module) LLVMDisposeModule(unit->module);
  if (unit->llvm) LLVMContextDispose(unit->llvm);
  unit->module = NULL;
  unit->llvm = NULL;
}

static LLVMAttributeRef enum_attribute(emit_unit *unit, const char *name) {
  return LLVMCreateEnumAttribute(unit->llvm, LLVMGetEnumAttributeKindForName(name, strlen(name)), 0);
}

static void text_attribute(emit_unit *unit, LLVMValueRef function, const char *key, const char *value) {
  LLVMAttributeRef attribute = LLVMCreateStringAttribute(unit->llvm, key, (unsigned)strlen(key), value, (unsigned)strlen(value));
  LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, attribute);
}

void emit_function_attributes(emit_unit *unit, LLVMValueRef function) {
  LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, enum_attribute(unit, "nounwind"));
  if (*unit->target->cpu) text_attribute(unit, function, "target-cpu", unit->target->cpu);
  if (*unit->target->features) text_attribute(unit, function, "target-features", unit->target->features);
}

void emit_param_attribute(emit_unit *unit, LLVMValueRef function, unsigned param, const char *name) {
  LLVMAddAttributeAtIndex(function, param + 1, enum_attribute(unit, name));
}

LLVMValueRef emit_private(emit_unit *unit, const char *name, LLVMValueRef value) {
  LLVMValueRef global = LLVMAddGlobal(unit->module, LLVMTypeOf(value), name);
  LLVMSetInitializer(global, value);
  LLVMSetGlobalConstant(global, 1);
  LLVMSetLinkage(global, LLVMPrivateLinkage);
  return global;
}

LLVMValueRef emit_private_text(emit_unit *unit, const char *text) {
  LLVMValueRef global = emit_private(unit, "text", LLVMConstStringInContext2(unit->llvm, text, strlen(text), 0));
  LLVMSetUnnamedAddress(global, LLVMGlobalUnnamedAddr);
  return global;
}

/* A written `loc(...)` first, else where the text stands. */
static const char *place_text(emit_unit *unit, ir_range range, const ir_attr *loc) {
  ir_text place = {0};
  if (ir_print_place(&place, loc)) {
    const char *copy = ir_arena_copy(unit->arena, place.at, place.length);
    ir_text_free(&place);
    return copy;
  }
  const ir_source *source;
  unsigned line, column;
  if (!ir_range_locate(unit->context->diags, range, &source, &line, &column)) return "";
  return ir_arena_printf(unit->arena, "%s:%u:%u", source->name, line, column);
}

LLVMValueRef emit_failure(emit_unit *unit, ir_range range, const ir_attr *loc, const char *text) {
  LLVMValueRef members[] = {
      emit_private_text(unit, place_text(unit, range, loc)),
      emit_private_text(unit, text),
      LLVMConstInt(unit->i32, unit->whole ? 0 : range.begin, 0),
      LLVMConstInt(unit->i32, unit->whole ? 0 : range.end, 0),
  };
  return emit_private(unit, "failure", LLVMConstNamedStruct(unit->failure_type, members, ir_count_of(members)));
}

static LLVMValueRef constant_global(emit_unit *unit, const ir_data *data) {
  LLVMValueRef known = ir_map_get(&unit->globals, data->bytes);
  if (known) return known;
  LLVMValueRef global = emit_private(unit, "constant", LLVMConstStringInContext2(unit->llvm, data->bytes, data->size, 1));
  LLVMSetAlignment(global, 64);
  ir_map_put(unit->arena, &unit->globals, data->bytes, global);
  return global;
}

/* Code for this process, and with a side file, finds constants through the context: nothing is copied. */
static LLVMValueRef constant_entry(emit_function *f, const ir_data *data) {
  emit_unit *unit = f->unit;
  size_t number = (uintptr_t)ir_map_get(unit->constants, data->bytes) - 1;
  LLVMValueRef table = LLVMBuildStructGEP2(f->builder, unit->context_type, f->context, 3, "");
  table = LLVMBuildLoad2(f->builder, unit->ptr, table, "");
  LLVMValueRef at = emit_element(f, unit->ptr, table, emit_i64(unit, (int64_t)number), true);
  return LLVMBuildLoad2(f->builder, unit->ptr, at, "");
}

LLVMValueRef emit_constant_data(emit_function *f, const ir_data *data) {
  emit_unit *unit = f->unit;
  if (!data->size) return LLVMConstNull(unit->ptr);
  return unit->whole && !unit->side ? constant_global(unit, data) : constant_entry(f, data);
}

bool emit_unit_verify(emit_unit *unit) {
  char *message = NULL;
  bool broken = LLVMVerifyModule(unit->module, LLVMReturnStatusAction, &message);
  if (broken) ir_error_in(unit->context->diags, "llvm", "the emitted module is not valid (a fault of ours): %s", message);
  LLVMDisposeMessage(message);
  return !broken;
}
