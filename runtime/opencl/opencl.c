// SPDX-License-Identifier: Apache-2.0
/* runtime/opencl/opencl.c - the OpenCL executor: kernels are built from the text of targets/opencl, one queue runs them in
 * order. Needs an ICD loader (libOpenCL) and a driver. */
#define CL_TARGET_OPENCL_VERSION 120
#include "runtime/device/device.h"
#include "targets/opencl/opencl.h"

#include <CL/cl.h>

extern const ir_plugin ir_plugin_opencl;

enum { MOST_DEVICES = 64, KEPT_BLOCKS = 64 /* given back, for the next run */ };

struct ir_device_block {
  cl_mem memory;
  size_t bytes;
};

struct ir_device {
  ir_arena arena;
  ir_diags *diags;
  cl_device_id id;
  cl_context context;
  cl_command_queue queue;
  cl_program program;
  cl_kernel *made; /* one a kernel, made when it is first launched */
  const ir_kernel *kernels;
  size_t kernel_count;
  ir_device_block *kept[KEPT_BLOCKS];
  size_t kept_count;
  cl_ulong most_bytes, shared_bytes; /* of one buffer; of a workgroup's memory */
  size_t most_invocations, most_on_axis[3];
  int64_t most_rounds;
};

/* --- errors --- */

static const char *error_name(cl_int code) {
  static const struct {
    cl_int code;
    const char *name;
  } names[] = {
#define NAME(code) {code, #code}
      NAME(CL_DEVICE_NOT_FOUND), NAME(CL_DEVICE_NOT_AVAILABLE), NAME(CL_COMPILER_NOT_AVAILABLE), NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE),
      NAME(CL_OUT_OF_RESOURCES), NAME(CL_OUT_OF_HOST_MEMORY), NAME(CL_BUILD_PROGRAM_FAILURE), NAME(CL_INVALID_VALUE), NAME(CL_INVALID_BUFFER_SIZE),
      NAME(CL_INVALID_KERNEL_NAME), NAME(CL_INVALID_KERNEL_ARGS), NAME(CL_INVALID_ARG_SIZE), NAME(CL_INVALID_WORK_GROUP_SIZE), NAME(CL_INVALID_WORK_ITEM_SIZE),
      NAME(CL_INVALID_GLOBAL_WORK_SIZE), NAME(CL_INVALID_COMMAND_QUEUE), NAME(CL_INVALID_CONTEXT), NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
#undef NAME
  };
  for (size_t i = 0; i < ir_count_of(names); i++) {
    if (names[i].code == code) return names[i].name;
  }
  return code == -1001 ? "no driver is installed" : "unknown error";
}

/* CODE, of FUNCTION: reports and returns false unless it is CL_SUCCESS. */
static bool check(ir_device *device, cl_int code, const char *function) {
  if (code == CL_SUCCESS) return true;
  ir_error_in(device->diags, "opencl", "%s: %s (%d)", function, error_name(code), code);
  return false;
}

/* The same for a function that was asked for KERNEL. */
static bool check_kernel(ir_device *device, const ir_kernel *kernel, cl_int code, const char *function) {
  if (code == CL_SUCCESS) return true;
  const ir_item *item = &kernel->func->item;
  ir_error(device->diags, item->range, "opencl: @%s: %s: %s (%d)", item->name->text, function, error_name(code), code);
  return false;
}

/* --- devices --- */

typedef struct found {
  cl_device_id id;
  char name[300]; /* of the platform and its own */
} found;

static void describe(found *device, cl_platform_id platform) {
  char of[128] = "", name[128] = "";
  clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof of - 1, of, NULL);
  clGetDeviceInfo(device->id, CL_DEVICE_NAME, sizeof name - 1, name, NULL);
  snprintf(device->name, sizeof device->name, "%.127s: %.127s", of, name);
}

static size_t find_devices(found *devices, cl_int *code) {
  cl_platform_id platforms[16];
  cl_uint platform_count = 0;
  size_t count = 0;
  *code = clGetPlatformIDs(ir_count_of(platforms), platforms, &platform_count);
  for (cl_uint i = 0; *code == CL_SUCCESS && i < platform_count && i < ir_count_of(platforms); i++) {
    cl_device_id ids[16];
    cl_uint id_count = 0;
    if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, ir_count_of(ids), ids, &id_count) != CL_SUCCESS) continue;
    for (cl_uint k = 0; k < id_count && k < ir_count_of(ids) && count < MOST_DEVICES; k++) {
      devices[count].id = ids[k];
      describe(&devices[count++], platforms[i]);
    }
  }
  return count;
}

static size_t list(ir_text *out) {
  found devices[MOST_DEVICES];
  cl_int code;
  size_t count = find_devices(devices, &code);
  for (size_t i = 0; i < count; i++) ir_text_printf(out, "opencl %zu: %s\n", i, devices[i].name);
  return count;
}

/* WANTED is a number of `list`, or a part of a name; NULL: the first device. */
static bool choose(ir_device *device, const char *wanted) {
  found devices[MOST_DEVICES];
  cl_int code;
  size_t count = find_devices(devices, &code), at = 0;
  if (!count && code != CL_SUCCESS) return check(device, code, "clGetPlatformIDs");
  if (!count) return ir_error_in(device->diags, "opencl", "no driver has a device"), false;
  const char *names[MOST_DEVICES];
  for (size_t i = 0; i < count; i++) names[i] = devices[i].name;
  if (wanted) at = ir_device_pick(device->diags, "opencl", count, names, wanted);
  if (at == count) return false;
  device->id = devices[at].id;
  device->most_rounds = ir_device_most_rounds(devices[at].name);
  return true;
}

static bool has_extension(const ir_device *device, const char *name) {
  char text[8192] = "";
  clGetDeviceInfo(device->id, CL_DEVICE_EXTENSIONS, sizeof text - 1, text, NULL);
  return strstr(text, name) != NULL;
}

/* --- building --- */

static bool report_log(ir_device *device, cl_int code) {
  size_t length = 0;
  clGetProgramBuildInfo(device->program, device->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &length);
  char *log = ir_arena_alloc(&device->arena, length + 1);
  if (length) clGetProgramBuildInfo(device->program, device->id, CL_PROGRAM_BUILD_LOG, length, log, NULL);
  log[length] = 0;
  ir_error_in(device->diags, "opencl", "the driver's compiler refuses the kernels: %s (%d)\n%s", error_name(code), code, log);
  return false;
}

static bool build(ir_device *device, ir_module *module) {
  ir_text text = {0};
  if (!ir_opencl_translate(module, &text)) return false;
  const char *source = text.at;
  cl_int code;
  bool doubles = strstr(source, "cl_khr_fp64") != NULL;
  bool fine = !doubles || has_extension(device, "cl_khr_fp64");
  if (!fine) ir_error_in(device->diags, "opencl", "the device has no f64 (cl_khr_fp64), which the kernels compute with");
  if (fine) {
    device->program = clCreateProgramWithSource(device->context, 1, &source, &text.length, &code);
    fine = check(device, code, "clCreateProgramWithSource");
  }
  if (fine) {
    cl_device_fp_config config = 0;
    clGetDeviceInfo(device->id, CL_DEVICE_SINGLE_FP_CONFIG, sizeof config, &config, NULL);
    bool exact = config & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
    code = clBuildProgram(device->program, 1, &device->id, exact ? "-w -cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt" : "-w -cl-std=CL1.2", NULL, NULL);
    fine = code == CL_SUCCESS || report_log(device, code);
  }
  ir_text_free(&text);
  return fine;
}

static void read_limits(ir_device *device) {
  clGetDeviceInfo(device->id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof device->most_bytes, &device->most_bytes, NULL);
  clGetDeviceInfo(device->id, CL_DEVICE_LOCAL_MEM_SIZE, sizeof device->shared_bytes, &device->shared_bytes, NULL);
  clGetDeviceInfo(device->id, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof device->most_invocations, &device->most_invocations, NULL);
  clGetDeviceInfo(device->id, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof device->most_on_axis, device->most_on_axis, NULL);
}

static bool within(ir_device *device, const ir_kernel *kernel, const char *what, uint64_t has, uint64_t most, const char *limit) {
  if (has <= most) return true;
  ir_error(device->diags, kernel->func->item.range, "opencl: @%s has %s of %llu, the device takes %llu at most (%s)", kernel->func->item.name->text, what,
           (unsigned long long)has, (unsigned long long)most, limit);
  return false;
}

static bool fits(ir_device *device, const ir_kernel *kernel) {
  uint64_t invocations = 1;
  for (size_t i = 0; i < 3; i++) {
    if (!within(device, kernel, "a workgroup", (uint64_t)kernel->local[i], device->most_on_axis[i], "CL_DEVICE_MAX_WORK_ITEM_SIZES")) return false;
    invocations *= (uint64_t)kernel->local[i];
  }
  return within(device, kernel, "a workgroup", invocations, device->most_invocations, "CL_DEVICE_MAX_WORK_GROUP_SIZE");
}

static bool all_fit(ir_device *device) {
  for (size_t i = 0; i < device->kernel_count; i++) {
    if (!fits(device, &device->kernels[i])) return false;
  }
  return true;
}

/* What the driver's compiler made of a kernel may need more than the kernel says. How many invocations it can run is left to
 * the launch: rusticl says 32 of kernels that it runs with 64. */
static bool made_fits(ir_device *device, const ir_kernel *kernel, cl_kernel made) {
  cl_ulong shared = 0;
  cl_int code = clGetKernelWorkGroupInfo(made, device->id, CL_KERNEL_LOCAL_MEM_SIZE, sizeof shared, &shared, NULL);
  return check_kernel(device, kernel, code, "clGetKernelWorkGroupInfo") &&
         within(device, kernel, "workgroup memory", shared, device->shared_bytes, "CL_DEVICE_LOCAL_MEM_SIZE");
}

static void release(ir_device *device);

static ir_device *open(ir_module *module, const ir_kernel *kernels, size_t count, const ir_target_options *options) {
  ir_device *device = ir_heap_alloc(sizeof *device);
  *device = (ir_device){.diags = module->context->diags, .kernels = kernels, .kernel_count = count};
  device->made = ir_new_array(&device->arena, cl_kernel, count + 1);
  bool fine = choose(device, options->device);
  cl_int code = CL_SUCCESS;
  if (fine) {
    read_limits(device);
    device->context = clCreateContext(NULL, 1, &device->id, NULL, NULL, &code);
    fine = check(device, code, "clCreateContext") && all_fit(device);
  }
  if (fine) {
    device->queue = clCreateCommandQueue(device->context, device->id, 0, &code);
    fine = check(device, code, "clCreateCommandQueue");
  }
  if (fine && (!count || build(device, module))) return device;
  release(device);
  return NULL;
}

/* --- memory --- */

static ir_device_block *take(ir_device *device, size_t bytes) {
  for (size_t i = device->kept_count; i > 0; i--) {
    ir_device_block *block = device->kept[i - 1];
    if (block->bytes != bytes) continue;
    device->kept[i - 1] = device->kept[--device->kept_count];
    return block;
  }
  if (bytes > device->most_bytes) {
    ir_error_in(device->diags, "opencl", "a buffer of %zu bytes: the device takes %llu at most (CL_DEVICE_MAX_MEM_ALLOC_SIZE)", bytes, (unsigned long long)device->most_bytes);
    return NULL;
  }
  cl_int code;
  cl_mem memory = clCreateBuffer(device->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
  if (!check(device, code, "clCreateBuffer")) return NULL;
  ir_device_block *block = ir_heap_alloc(sizeof *block);
  *block = (ir_device_block){memory, bytes};
  return block;
}

static void drop(ir_device_block *block) {
  clReleaseMemObject(block->memory);
  ir_heap_free(block);
}

static void give(ir_device *device, ir_device_block *block) {
  if (device->kept_count < KEPT_BLOCKS) device->kept[device->kept_count++] = block;
  else drop(block);
}

static bool read_slice(ir_device *device, void *to, ir_device_slice from) {
  return check(device, clEnqueueReadBuffer(device->queue, from.block->memory, CL_TRUE, from.offset, from.bytes, to, 0, NULL, NULL), "clEnqueueReadBuffer");
}

static bool write_slice(ir_device *device, ir_device_slice to, const void *from) {
  return check(device, clEnqueueWriteBuffer(device->queue, to.block->memory, CL_TRUE, to.offset, to.bytes, from, 0, NULL, NULL), "clEnqueueWriteBuffer");
}

static bool copy_slice(ir_device *device, ir_device_slice to, ir_device_slice from) {
  cl_int code = clEnqueueCopyBuffer(device->queue, from.block->memory, to.block->memory, from.offset, to.offset, to.bytes, 0, NULL, NULL);
  return check(device, code, "clEnqueueCopyBuffer");
}

/* --- launching --- */

static cl_kernel kernel_of(ir_device *device, size_t number) {
  const ir_kernel *kernel = &device->kernels[number];
  if (device->made[number]) return device->made[number];
  cl_int code = CL_SUCCESS;
  cl_kernel made = clCreateKernel(device->program, kernel->name, &code);
  if (!check_kernel(device, kernel, code, "clCreateKernel")) return NULL;
  if (made_fits(device, kernel, made)) return device->made[number] = made;
  clReleaseKernel(made);
  return NULL;
}

static size_t element_bytes(ir_dtype dtype) { return ir_dtypes[dtype].bits / 8; }

static bool set_arguments(ir_device *device, cl_kernel made, const ir_kernel *kernel, const ir_device_slice *buffers, const uint64_t *scalars) {
  cl_uint at = 0;
  cl_int code = CL_SUCCESS;
  for (size_t i = 0; i < kernel->buffer_count && code == CL_SUCCESS; i++) code = clSetKernelArg(made, at++, sizeof(cl_mem), &buffers[i].block->memory);
  for (size_t i = 0; i < kernel->buffer_count && code == CL_SUCCESS; i++) {
    cl_long first = (cl_long)(buffers[i].offset / element_bytes(ir_type_dtype(kernel->buffers[i].param->type)));
    code = clSetKernelArg(made, at++, sizeof first, &first);
  }
  for (size_t i = 0; i < kernel->scalar_count && code == CL_SUCCESS; i++) {
    ir_dtype dtype = kernel->scalars[i].dtype;
    /* f16 and the like are passed as f32. */
    bool narrow = ir_is_float(dtype) && ir_dtypes[dtype].bits < 32;
    float wide = narrow ? (float)ir_float_from_bits(dtype, scalars[i]) : 0;
    code = narrow ? clSetKernelArg(made, at++, sizeof wide, &wide) : clSetKernelArg(made, at++, element_bytes(dtype), &scalars[i]);
  }
  if (kernel->asserts.count && code == CL_SUCCESS) code = clSetKernelArg(made, at++, sizeof(cl_mem), &buffers[kernel->buffer_count].block->memory);
  return check_kernel(device, kernel, code, "clSetKernelArg");
}

static bool launch(ir_device *device, size_t number, const ir_device_slice *buffers, const uint64_t *scalars, const int64_t groups[3]) {
  const ir_kernel *kernel = &device->kernels[number];
  cl_kernel made = kernel_of(device, number);
  if (!made || !set_arguments(device, made, kernel, buffers, scalars)) return false;
  size_t local[3], global[3];
  for (size_t i = 0; i < 3; i++) {
    local[i] = (size_t)kernel->local[i];
    global[i] = local[i] * (size_t)groups[i];
  }
  cl_int code = clEnqueueNDRangeKernel(device->queue, made, 3, NULL, global, local, 0, NULL, NULL);
  return check_kernel(device, kernel, code, "clEnqueueNDRangeKernel");
}

static bool finish(ir_device *device) { return check(device, clFinish(device->queue), "clFinish"); }

static void release(ir_device *device) {
  if (device->queue) clFinish(device->queue);
  for (size_t i = 0; i < device->kernel_count; i++) {
    if (device->made[i]) clReleaseKernel(device->made[i]);
  }
  for (size_t i = 0; i < device->kept_count; i++) drop(device->kept[i]);
  if (device->program) clReleaseProgram(device->program);
  if (device->queue) clReleaseCommandQueue(device->queue);
  if (device->context) clReleaseContext(device->context);
  ir_arena_free(&device->arena);
  ir_heap_free(device);
}

/* --- the plugin --- */

static int64_t most_rounds(const ir_device *device) { return device->most_rounds; }

static const ir_device_driver driver = {
    .name = "opencl",
    .target = "opencl",
    .take = take,
    .give = give,
    .read = read_slice,
    .write = write_slice,
    .copy = copy_slice,
    .launch = launch,
    .finish = finish,
    .most_rounds = most_rounds,
    .free = release,
};

static ir_program *compile(ir_module *module, const ir_target_options *options) { return ir_device_compile(module, options, &driver, open); }

const ir_plugin ir_plugin_opencl = {
    .version = IR_PLUGIN_VERSION,
    .name = "opencl",
    .compile = compile,
    .run = ir_device_run,
    .stats = ir_device_stats,
    .list = list,
    .free = ir_device_program_free,
};
