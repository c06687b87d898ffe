// SPDX-License-Identifier: Apache-2.0
/* runtime/manifest/steps.c - the kinds of steps. */
#include "runtime/manifest/codec.h"

static const ir_manifest_step steps[] = {
    {IR_CONST, "constant"},       {IR_HOST_ALLOC, "storage"},   {IR_HOST_TENSOR, "tensor"},
    {IR_HOST_RESULT, "result"},   {IR_ALLOC, "alloc"},          {IR_HOST_VIEW, "view"},
    {IR_HOST_COPY, "copy"},       {IR_HOST_FREE, "free"},       {IR_CALL, "launch", true},
    {IR_CALL, "call"},            {IR_SCALAR, "let"},           {IR_ASSERT, "assert"},
    {IR_MATCH_CAST, "match"},     {IR_SHAPE, "shape"},          {IR_SHAPE_OF, "shape_of"},
    {IR_SHAPE_TO_TENSOR, "shape_to_tensor"},                    {IR_TENSOR_TO_SHAPE, "read_back"},
    {IR_TUPLE, "tuple"},          {IR_TUPLE_GET, "field"},      {IR_IF, "if"},
    {IR_LOOP, "loop"},            {IR_YIELD, "yield"},          {IR_RETURN, "return"},
};

const char *ir_manifest_step_name(const ir_op *op, bool launches) {
  for (size_t i = 0; i < ir_count_of(steps); i++) {
    if (ir_is(op, steps[i].code)) return steps[i].code == IR_CALL && !launches ? "call" : steps[i].name;
  }
  return NULL;
}

const ir_manifest_step *ir_manifest_step_find(const char *name) {
  for (size_t i = 0; i < ir_count_of(steps); i++) {
    if (!strcmp(steps[i].name, name)) return &steps[i];
  }
  return NULL;
}
