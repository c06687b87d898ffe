/* SPDX-License-Identifier: Apache-2.0
 * An OpenCL device for host.c. A kernel's arguments are its buffers, the numbers of their first elements, its scalars. */
#define CL_TARGET_OPENCL_VERSION 120
#include "device.h"

#include <CL/cl.h>

static cl_command_queue queue;
static cl_program program;
static cl_mem memory;

static void check(cl_int code, const char *what) {
  if (code != CL_SUCCESS) errx(1, "%s: error %d", what, code);
}

void device_open(const char *code, size_t length) {
  cl_platform_id platform;
  cl_device_id device;
  cl_int status;
  check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
  check(status, "clCreateContext");
  queue = clCreateCommandQueue(context, device, 0, &status);
  check(status, "clCreateCommandQueue");
  memory = clCreateBuffer(context, CL_MEM_READ_WRITE, ROOM, NULL, &status);
  check(status, "clCreateBuffer");
  program = clCreateProgramWithSource(context, 1, &code, &length, &status);
  check(status, "clCreateProgramWithSource");
  check(clBuildProgram(program, 1, &device, "-cl-std=CL1.2", NULL, NULL), "clBuildProgram");
}

void device_write(slice to, const void *from) {
  const size_t at = (size_t)to.at, bytes = (size_t)to.bytes;
  if (bytes) check(clEnqueueWriteBuffer(queue, memory, CL_TRUE, at, bytes, from, 0, NULL, NULL), "clEnqueueWriteBuffer");
}

void device_read(void *to, slice from) {
  const size_t at = (size_t)from.at, bytes = (size_t)from.bytes;
  if (bytes) check(clEnqueueReadBuffer(queue, memory, CL_TRUE, at, bytes, to, 0, NULL, NULL), "clEnqueueReadBuffer");
}

void device_launch(const launch *l) {
  cl_int status;
  cl_kernel kernel = clCreateKernel(program, l->entry, &status);
  check(status, l->entry);
  cl_uint buffers = l->buffer_count, count = 2 * buffers + l->scalar_count, wanted;
  check(clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof wanted, &wanted, NULL), l->entry);
  if (wanted != count) errx(1, "%s takes %u arguments, the manifest has %u", l->entry, wanted, count);
  for (cl_uint i = 0; i < buffers; i++) {
    const cl_long first = l->buffers[i].at / l->buffers[i].element;
    check(clSetKernelArg(kernel, i, sizeof memory, &memory), l->entry);
    check(clSetKernelArg(kernel, buffers + i, sizeof first, &first), l->entry);
  }
  for (cl_uint i = 2 * buffers; i < count; i++) {
    check(clSetKernelArg(kernel, i, sizeof(cl_long), &l->scalars[i - 2 * buffers]), l->entry);
  }
  size_t local[3], global[3];
  for (size_t i = 0; i < 3; i++) global[i] = (local[i] = (size_t)l->local[i]) * (size_t)l->groups[i];
  check(clEnqueueNDRangeKernel(queue, kernel, 3, NULL, global, local, 0, NULL, NULL), l->entry);
  clReleaseKernel(kernel);
}
