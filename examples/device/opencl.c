/* SPDX-License-Identifier: Apache-2.0
 * An OpenCL device for host.c. A kernel's arguments are its buffers, the numbers of their first elements, its scalars. */
#define CL_TARGET_OPENCL_VERSION 120
#include "device.h"

#include <CL/cl.h>

struct memory { cl_mem buffer; };

static cl_context context;
static cl_command_queue queue;
static cl_program program;

static void check(cl_int code, const char *what) {
  if (code != CL_SUCCESS) fail("%s: %d", what, code);
}

void device_open(const char *code, size_t length) {
  cl_platform_id platform;
  cl_device_id device;
  cl_int status;
  check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
  context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
  check(status, "clCreateContext");
  queue = clCreateCommandQueue(context, device, 0, &status);
  check(status, "clCreateCommandQueue");
  program = clCreateProgramWithSource(context, 1, &code, &length, &status);
  check(status, "clCreateProgramWithSource");
  check(clBuildProgram(program, 1, &device, "-cl-std=CL1.2", NULL, NULL), "clBuildProgram");
}

memory *device_take(size_t bytes) {
  static memory blocks[4096];
  static size_t count;
  cl_int status;
  if (count == sizeof blocks / sizeof *blocks) fail("too many buffers");
  blocks[count].buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes ? bytes : 64, NULL, &status);
  check(status, "clCreateBuffer");
  return &blocks[count++];
}

void device_write(slice to, const void *from) {
  if (to.bytes) check(clEnqueueWriteBuffer(queue, to.block->buffer, CL_TRUE, to.offset, to.bytes, from, 0, NULL, NULL), "clEnqueueWriteBuffer");
}

void device_read(void *to, slice from) {
  if (from.bytes) check(clEnqueueReadBuffer(queue, from.block->buffer, CL_TRUE, from.offset, from.bytes, to, 0, NULL, NULL), "clEnqueueReadBuffer");
}

void device_copy(slice to, slice from) {
  if (to.bytes) check(clEnqueueCopyBuffer(queue, from.block->buffer, to.block->buffer, from.offset, to.offset, to.bytes, 0, NULL, NULL), "clEnqueueCopyBuffer");
}

void device_launch(const launch *l) {
  cl_int status;
  cl_uint at = 0;
  cl_kernel kernel = clCreateKernel(program, l->entry, &status);
  check(status, l->entry);
  for (size_t i = 0; i < l->buffer_count; i++) check(clSetKernelArg(kernel, at++, sizeof(cl_mem), &l->buffers[i].block->buffer), l->entry);
  for (size_t i = 0; i < l->buffer_count; i++) {
    cl_long first = (cl_long)(l->buffers[i].offset / l->buffers[i].element);
    check(clSetKernelArg(kernel, at++, sizeof first, &first), l->entry);
  }
  for (size_t i = 0; i < l->scalar_count; i++) check(clSetKernelArg(kernel, at++, sizeof(cl_long), &l->scalars[i]), l->entry);
  size_t local[3], global[3];
  for (size_t i = 0; i < 3; i++) {
    local[i] = (size_t)l->local[i];
    global[i] = local[i] * (size_t)l->groups[i];
  }
  check(clEnqueueNDRangeKernel(queue, kernel, 3, NULL, global, local, 0, NULL, NULL), l->entry);
  clReleaseKernel(kernel);
}
