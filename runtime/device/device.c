// SPDX-License-Identifier: Apache-2.0
/* runtime/device/device.c - runs host programs on a device. The interpreter walks the program; tensors that it makes are
 * blocks of the device's memory under addresses that no memory of the host has. */
#include "runtime/device/device.h"

#include "ir/print.h"
#include "runtime/interp.h"
#include "runtime/interp/interp.h"

#include <stdlib.h>

/* Addresses of blocks: from 2^62 on no host maps memory. */
#define FIRST_ADDRESS (UINT64_C(1) << 62)
enum { APART = 4096 /* between blocks, so that the end of one is not the start of the next */ };

typedef struct ir_placed {
  uint64_t address;
  size_t bytes;
  ir_device_block *block;
} ir_placed;

struct ir_program {
  ir_memory memory; /* first: its functions get it */
  ir_arena arena;
  ir_module *module;
  ir_target_options options;
  const ir_device_driver *driver;
  ir_device *device;
  ir_kernel *kernels;
  size_t kernel_count;
  ir_map numbers; /* ir_func -> its number, plus 1 */
  ir_placed *placed; /* by address */
  size_t placed_count, placed_capacity;
  uint64_t next;
  ir_map constants; /* bytes of a constant -> ir_tensor on the device */
  ir_vec(ir_tensor *) kept; /* these tensors */
  uint64_t **fitting; /* one a kernel: scalars with which its rounds were found to fit; NULL: none yet */
  ir_device_block **statuses; /* one a kernel: its status word, all ones but where an assertion failed; NULL before its first launch */
  ir_vec(size_t) checking;    /* kernels that were launched and whose status words nobody has looked at since */
  ir_meter *meter; /* of inputs and constants */
  ir_interp *interp;
  bool failed; /* something was reported that no return value told */
};

/* --- memory --- */

static size_t place_of(const ir_program *p, uint64_t address) {
  size_t low = 0, high = p->placed_count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (p->placed[middle].address <= address) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

static ir_device_slice slice_of(const ir_program *p, const uint8_t *data, size_t bytes) {
  const ir_placed *placed = &p->placed[place_of(p, (uintptr_t)data)];
  return (ir_device_slice){placed->block, (size_t)((uintptr_t)data - placed->address), bytes};
}

static uint8_t *take(ir_memory *memory, size_t bytes) {
  ir_program *p = (ir_program *)memory;
  size_t size = bytes ? bytes : 64; /* kernels are given something to point to */
  ir_device_block *block = p->driver->take(p->device, size);
  if (!block) return p->failed = true, NULL;
  if (p->placed_count == p->placed_capacity) {
    p->placed_capacity = p->placed_capacity ? p->placed_capacity * 2 : 64;
    p->placed = ir_heap_realloc(p->placed, ir_size_mul(p->placed_capacity, sizeof *p->placed));
  }
  p->placed[p->placed_count++] = (ir_placed){p->next, size, block};
  uint8_t *data = (uint8_t *)(uintptr_t)p->next;
  p->next += (size + 2 * APART - 1) / APART * APART;
  return data;
}

static void give(ir_memory *memory, uint8_t *data) {
  ir_program *p = (ir_program *)memory;
  size_t at = place_of(p, (uintptr_t)data);
  p->driver->give(p->device, p->placed[at].block);
  memmove(&p->placed[at], &p->placed[at + 1], (p->placed_count - at - 1) * sizeof *p->placed);
  p->placed_count--;
}

static bool note(ir_program *p, bool fine) {
  p->failed |= !fine;
  return fine;
}

static bool check_statuses(ir_program *p);

static bool read_bytes(ir_memory *memory, void *to, const uint8_t *from, size_t bytes) {
  ir_program *p = (ir_program *)memory;
  if (!note(p, check_statuses(p))) return false;
  return note(p, p->driver->read(p->device, to, slice_of(p, from, bytes)));
}

static bool write_bytes(ir_memory *memory, uint8_t *to, const void *from, size_t bytes) {
  ir_program *p = (ir_program *)memory;
  return note(p, p->driver->write(p->device, slice_of(p, to, bytes), from));
}

static bool copy_bytes(ir_memory *memory, uint8_t *to, const uint8_t *from, size_t bytes) {
  ir_program *p = (ir_program *)memory;
  return note(p, p->driver->copy(p->device, slice_of(p, to, bytes), slice_of(p, from, bytes)));
}

/* --- assertions in kernels --- */

static const uint32_t nothing_failed = UINT32_MAX;

static ir_device_slice status_of(const ir_program *p, size_t number) { return (ir_device_slice){p->statuses[number], 0, sizeof nothing_failed}; }

/* The status word of a kernel that is about to start. */
static bool give_status(ir_program *p, size_t number, ir_device_slice *status) {
  if (!p->statuses[number]) {
    p->statuses[number] = p->driver->take(p->device, 64);
    if (!p->statuses[number] || !p->driver->write(p->device, status_of(p, number), &nothing_failed)) return false;
  }
  *status = status_of(p, number);
  for (size_t i = 0; i < p->checking.count; i++) {
    if (p->checking.at[i] == number) return true;
  }
  *ir_push(&p->arena, &p->checking) = number;
  return true;
}

/* As the interpreter reports it. */
static bool report(ir_program *p, const ir_kernel *kernel, const ir_op *op) {
  ir_text text = {0};
  ir_text_printf(&text, "%s", ir_get_word(op, "message"));
  ir_text place = {0};
  if (ir_print_place(&place, ir_op_loc(op))) ir_text_printf(&text, " (%s)", place.at);
  ir_text_free(&place);
  if (op->range.end) ir_error(p->module->context->diags, op->range, "%s", text.at);
  else ir_error_in(p->module->context->diags, kernel->func->item.name->text, "%s", text.at);
  ir_text_free(&text);
  return false;
}

/* Waits for the kernels that check something; reports of the first one that failed. */
static bool check_statuses(ir_program *p) {
  bool fine = true;
  for (size_t i = 0; i < p->checking.count; i++) {
    size_t number = p->checking.at[i];
    const ir_kernel *kernel = &p->kernels[number];
    uint32_t status;
    if (!p->driver->read(p->device, &status, status_of(p, number))) return p->checking.count = 0, false;
    if (status == nothing_failed) continue;
    if (fine && status < kernel->asserts.count) report(p, kernel, kernel->asserts.at[status]);
    fine = false;
    if (!p->driver->write(p->device, status_of(p, number), &nothing_failed)) break;
  }
  p->checking.count = 0;
  return fine;
}

/* --- launching --- */

/* TENSOR on the device: bytes of the host's are constants, which stay there. NULL after a report. */
static ir_tensor *on_device(ir_program *p, ir_tensor *tensor) {
  if (ir_tensor_memory(tensor)) return tensor;
  void **slot = ir_map_slot(&p->arena, &p->constants, tensor->data ? (void *)tensor->data : (void *)p);
  ir_tensor *known = *slot;
  if (known && known->size >= tensor->size) return known;
  ir_tensor *copy = ir_tensor_copy(p->meter, tensor);
  if (!copy) return NULL;
  *slot = copy;
  *ir_push(&p->arena, &p->kept) = copy;
  return copy;
}

static bool fail(ir_program *p, const ir_func *func, const char *format, ...) __attribute__((format(printf, 3, 4)));
static bool fail(ir_program *p, const ir_func *func, const char *format, ...) {
  ir_text text = {0};
  va_list args;
  va_start(args, format);
  ir_text_vprintf(&text, format, args);
  va_end(args);
  ir_error(p->module->context->diags, func->item.range, "%s: @%s: %s", p->driver->name, func->item.name->text, text.at);
  ir_text_free(&text);
  return false;
}

static bool buffers_of(ir_program *p, const ir_kernel *kernel, ir_object *const *arguments, ir_device_slice *buffers) {
  for (size_t i = 0; i < kernel->buffer_count; i++) {
    size_t at = (size_t)(kernel->buffers[i].param - kernel->func->params); /* twins have equal parameters */
    ir_tensor *tensor = arguments[at]->kind == IR_OBJECT_TENSOR ? on_device(p, arguments[at]->tensor) : NULL;
    if (!tensor) return fail(p, kernel->func, "argument %zu is not to be had on the device", at);
    buffers[i] = slice_of(p, tensor->data, tensor->size);
  }
  return true;
}

static bool scalars_of(ir_program *p, const ir_kernel *kernel, const ir_symbols *symbols, ir_object *const *arguments, uint64_t *scalars) {
  for (size_t i = 0; i < kernel->scalar_count; i++) {
    const ir_kernel_scalar *scalar = &kernel->scalars[i];
    int64_t value = 0;
    ir_dtype dtype;
    bool known = scalar->symbol ? ir_symbols_get(symbols, scalar->symbol->symbol, &value)
                                : ir_object_as_scalar(arguments[scalar->param - kernel->func->params], &dtype, &scalars[i]);
    if (!known) return fail(p, kernel->func, "'%s' has no value", scalar->name ? scalar->name->text : "?");
    if (scalar->symbol) scalars[i] = (uint64_t)value;
  }
  return true;
}

/* *empty where there is nothing to do. */
static bool groups_of(ir_program *p, const ir_kernel *kernel, const ir_symbols *symbols, int64_t groups[3], bool *empty) {
  *empty = false;
  for (size_t i = 0; i < 3; i++) {
    if (!ir_symbols_evaluate(symbols, kernel->groups[i], &groups[i])) return fail(p, kernel->func, "the grid has no size that fits into 63 bits");
    *empty |= groups[i] <= 0;
  }
  return true;
}

/* A device that leaves loops before their end would give wrong results. */
static bool rounds_fit(ir_program *p, size_t number, const uint64_t *scalars) {
  const ir_kernel *kernel = &p->kernels[number];
  int64_t most = p->driver->most_rounds(p->device);
  size_t bytes = ir_size_mul(kernel->scalar_count, sizeof *scalars);
  if (!most || (p->fitting[number] && !memcmp(p->fitting[number], scalars, bytes))) return true;
  int64_t rounds = ir_kernel_rounds(kernel, scalars, true);
  if (rounds > most) {
    return fail(p, kernel->func, "an invocation has %lld rounds of loops, of which this device's driver (llvmpipe) does %lld: its results would be wrong", (long long)rounds, (long long)most);
  }
  if (ir_kernel_rounds(kernel, scalars, false) > most) {
    ir_warning(p->module->context->diags, kernel->func->item.range, "%s: @%s: an invocation may have more than %lld rounds of loops, where this device's driver (llvmpipe) leaves them: its results may be wrong", p->driver->name, kernel->func->item.name->text, (long long)most);
  }
  if (!p->fitting[number]) p->fitting[number] = ir_new_array(&p->arena, uint64_t, kernel->scalar_count + 1);
  if (bytes) memcpy(p->fitting[number], scalars, bytes);
  return true;
}

static bool launch(void *user, ir_func *func, size_t count, ir_object *const *arguments) {
  ir_program *p = user;
  size_t number = (uintptr_t)ir_map_get(&p->numbers, func);
  if (!number) return fail(p, func, "was not compiled");
  const ir_kernel *kernel = &p->kernels[number - 1];
  ir_arena arena = {0};
  ir_device_slice *buffers = ir_new_array(&arena, ir_device_slice, kernel->buffer_count + 1);
  uint64_t *scalars = ir_new_array(&arena, uint64_t, kernel->scalar_count + 1);
  ir_symbols symbols = {0};
  int64_t groups[3];
  bool empty = false;
  bool fine = ir_symbols_enter(p->interp, &symbols, func, count, arguments) && groups_of(p, kernel, &symbols, groups, &empty);
  if (fine && !empty && kernel->asserts.count) fine = give_status(p, number - 1, &buffers[kernel->buffer_count]);
  if (fine && !empty) {
    fine = buffers_of(p, kernel, arguments, buffers) && scalars_of(p, kernel, &symbols, arguments, scalars) && rounds_fit(p, number - 1, scalars) &&
           p->driver->launch(p->device, number - 1, buffers, scalars, groups);
  }
  if (fine && p->options.measured) fine = p->driver->finish(p->device);
  ir_symbols_free(&symbols);
  ir_arena_free(&arena);
  return fine && !p->failed;
}

/* --- choosing --- */

size_t ir_device_pick(ir_diags *diags, const char *who, size_t count, const char *const *names, const char *wanted) {
  char *end;
  unsigned long number = strtoul(wanted, &end, 10);
  if (*wanted && !*end && number < count) return number;
  size_t found = count;
  for (size_t i = 0; *wanted && *end && i < count; i++) {
    if (!strstr(names[i], wanted)) continue;
    if (found < count) return ir_error_in(diags, who, "'%s' is a part of several devices' names: '%s', '%s'", wanted, names[found], names[i]), count;
    found = i;
  }
  if (found == count) ir_error_in(diags, who, "no device '%s': --list-devices names them", wanted);
  return found;
}

/* Mesa's device on the CPU counts all loops of an invocation together, and leaves them when the count is spent. */
int64_t ir_device_most_rounds(const char *name) { return strstr(name, "llvmpipe") ? 65535 : 0; }

/* --- programs --- */

static bool describe(ir_program *p) {
  ir_funcs funcs;
  if (!ir_kernels_of(&p->arena, p->module, p->driver->target, &funcs)) return false;
  p->kernels = ir_new_array(&p->arena, ir_kernel, funcs.count + 1);
  p->fitting = ir_new_array(&p->arena, uint64_t *, funcs.count + 1);
  p->statuses = ir_new_array(&p->arena, ir_device_block *, funcs.count + 1);
  for (size_t i = 0; i < funcs.count; i++) {
    if (!ir_kernel_describe(&p->arena, funcs.at[i], p->driver->target, &p->kernels[i])) return false;
    ir_map_put(&p->arena, &p->numbers, funcs.at[i], (void *)(uintptr_t)(i + 1));
  }
  ir_each_body(func, p->module) {
    const ir_func *twin = ir_map_get(&funcs.twins, func);
    if (twin) ir_map_put(&p->arena, &p->numbers, func, ir_map_get(&p->numbers, twin));
  }
  p->kernel_count = funcs.count;
  return true;
}

ir_program *ir_device_compile(ir_module *module, const ir_target_options *options, const ir_device_driver *driver, ir_device_open *open) {
  ir_program *p = ir_heap_alloc(sizeof *p);
  *p = (ir_program){.memory = {take, give, read_bytes, write_bytes, copy_bytes}, .module = module, .options = *options, .driver = driver, .next = FIRST_ADDRESS};
  p->meter = ir_meter_new(0);
  p->meter->memory = &p->memory;
  if (describe(p)) p->device = open(module, p->kernels, p->kernel_count, options);
  if (!p->device) {
    ir_device_program_free(p);
    return NULL;
  }
  const ir_interp_options settings = {.measured = options->measured, .max_bytes = (int64_t)options->max_bytes, .launch = launch, .user = p, .memory = &p->memory};
  p->interp = ir_interp_new(module, &settings);
  return p;
}

void ir_device_program_free(ir_program *p) {
  for (size_t i = 0; i < p->kept.count; i++) ir_tensor_release(p->kept.at[i]);
  ir_interp_free(p->interp);
  ir_meter_release(p->meter);
  for (size_t i = 0; p->device && i < p->kernel_count; i++) {
    if (p->statuses[i]) p->driver->give(p->device, p->statuses[i]);
  }
  if (p->device) p->driver->free(p->device);
  ir_heap_free(p->placed);
  ir_arena_free(&p->arena);
  ir_heap_free(p);
}

ir_run_stats ir_device_stats(ir_program *program) { return ir_interp_run_stats(program->interp); }

/* --- running --- */

/* RESULTS, on the device or not, as fresh tensors of the host; where it isn't FINE there are none. */
static bool fetch(ir_program *p, const ir_func *func, size_t count, ir_tensor **results, bool fine) {
  for (size_t i = 0; i < count; i++) {
    ir_tensor *copy = fine ? ir_tensor_copy(NULL, results[i]) : NULL;
    if (fine && !copy) fine = fail(p, func, "result %zu is not to be had", i);
    ir_tensor_release(results[i]);
    results[i] = copy;
  }
  for (size_t i = 0; !fine && i < count; i++) {
    ir_tensor_release(results[i]);
    results[i] = NULL;
  }
  return fine;
}

bool ir_device_run(ir_program *p, const char *entry, size_t count, ir_tensor *const *arguments, size_t result_count, ir_tensor **results) {
  ir_context *context = p->module->context;
  ir_func *func = ir_item_func(ir_module_find(p->module, ir_intern(context, ir_slice_of(entry))));
  if (!func || func->item.kind != IR_ITEM_FUNC) {
    ir_error_in(context->diags, p->driver->name, "no func '@%s' was compiled", entry);
    return false;
  }
  ir_tensor **inputs = ir_heap_alloc(ir_size_mul(count, sizeof *inputs));
  p->failed = false;
  p->checking.count = 0;
  bool fine = true;
  for (size_t i = 0; i < count; i++) {
    inputs[i] = fine ? ir_tensor_copy(p->meter, arguments[i]) : NULL;
    if (fine && !inputs[i]) fine = fail(p, func, "input %zu is not to be had on the device", i);
  }
  fine = fine && ir_interp_call(p->interp, func, count, inputs, result_count, results);
  if (fine) fine = fetch(p, func, result_count, results, !p->failed && check_statuses(p)) && !p->failed;
  for (size_t i = 0; i < count; i++) ir_tensor_release(inputs[i]);
  ir_heap_free(inputs);
  return fine;
}
