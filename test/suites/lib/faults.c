// SPDX-License-Identifier: Apache-2.0
/* A library to preload: drivers of devices as they are on machines that tests don't have. FAULT says what is wrong:
 * `FUNCTION=CODE` (that function fails), a feature of Vulkan or an extension of OpenCL that is missing, or `LIMIT=NUMBER`.
 * With FAULT=asked what a device is asked for is printed. */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

/* A driver may start others' tools, such as a linker, which are not what is tested. */
__attribute__((constructor)) static void only_here(void) { unsetenv("LD_PRELOAD"); }

static void *real(const char *name) {
  void *library = dlopen(name[0] == 'v' ? "libvulkan.so.1" : "libOpenCL.so.1", RTLD_NOW);
  return dlsym(library, name);
}

/* Whether FAULT names NAME; *number is what it says behind it. */
static int faulty(const char *name, long long *number) {
  const char *fault = getenv("FAULT");
  size_t length = strlen(name);
  if (!fault || strncmp(fault, name, length) || (fault[length] && fault[length] != '=')) return 0;
  *number = fault[length] ? atoll(fault + length + 1) : 0;
  return 1;
}

/* --- functions that fail --- */

#define FAILS(type, name, params, args)                                                                                \
  type name params {                                                                                                   \
    long long code;                                                                                                    \
    if (faulty(#name, &code)) return (type)code;                                                                       \
    type(*function) params = (type(*) params)real(#name);                                                              \
    return function args;                                                                                              \
  }

FAILS(VkResult, vkCreateBuffer, (VkDevice a, const VkBufferCreateInfo *b, const VkAllocationCallbacks *c, VkBuffer *d), (a, b, c, d))
FAILS(VkResult, vkAllocateMemory, (VkDevice a, const VkMemoryAllocateInfo *b, const VkAllocationCallbacks *c, VkDeviceMemory *d), (a, b, c, d))
FAILS(VkResult, vkCreateShaderModule, (VkDevice a, const VkShaderModuleCreateInfo *b, const VkAllocationCallbacks *c, VkShaderModule *d), (a, b, c, d))
FAILS(VkResult, vkCreateComputePipelines,
      (VkDevice a, VkPipelineCache b, uint32_t c, const VkComputePipelineCreateInfo *d, const VkAllocationCallbacks *e, VkPipeline *f), (a, b, c, d, e, f))
FAILS(VkResult, vkQueueSubmit, (VkQueue a, uint32_t b, const VkSubmitInfo *c, VkFence d), (a, b, c, d))
FAILS(VkResult, vkWaitForFences, (VkDevice a, uint32_t b, const VkFence *c, VkBool32 d, uint64_t e), (a, b, c, d, e))
FAILS(VkResult, vkQueueWaitIdle, (VkQueue a), (a))
FAILS(cl_int, clBuildProgram, (cl_program a, cl_uint b, const cl_device_id *c, const char *d, void(CL_CALLBACK *e)(cl_program, void *), void *f), (a, b, c, d, e, f))
FAILS(cl_int, clGetDeviceIDs, (cl_platform_id a, cl_device_type b, cl_uint c, cl_device_id *d, cl_uint *e), (a, b, c, d, e))
FAILS(cl_int, clFinish, (cl_command_queue a), (a))
FAILS(cl_int, clEnqueueReadBuffer,
      (cl_command_queue a, cl_mem b, cl_bool c, size_t d, size_t e, void *f, cl_uint g, const cl_event *h, cl_event *i), (a, b, c, d, e, f, g, h, i))
FAILS(cl_int, clEnqueueNDRangeKernel,
      (cl_command_queue a, cl_kernel b, cl_uint c, const size_t *d, const size_t *e, const size_t *f, cl_uint g, const cl_event *h, cl_event *i), (a, b, c, d, e, f, g, h, i))

/* --- what a Vulkan device has --- */

VkResult vkEnumeratePhysicalDevices(VkInstance instance, uint32_t *count, VkPhysicalDevice *devices) {
  PFN_vkEnumeratePhysicalDevices function = (PFN_vkEnumeratePhysicalDevices)real("vkEnumeratePhysicalDevices");
  long long most;
  VkResult result = function(instance, count, devices);
  if (faulty("devices", &most)) *count = (uint32_t)most;
  return result;
}

void vkGetPhysicalDeviceProperties(VkPhysicalDevice device, VkPhysicalDeviceProperties *properties) {
  PFN_vkGetPhysicalDeviceProperties function = (PFN_vkGetPhysicalDeviceProperties)real("vkGetPhysicalDeviceProperties");
  function(device, properties);
  long long number;
  if (faulty("maxUniformBufferRange", &number)) properties->limits.maxUniformBufferRange = (uint32_t)number;
  if (faulty("version", &number)) properties->apiVersion = VK_MAKE_API_VERSION(0, 1, (uint32_t)number, 0);
}

void vkGetPhysicalDeviceProperties2(VkPhysicalDevice device, VkPhysicalDeviceProperties2 *properties) {
  PFN_vkGetPhysicalDeviceProperties2 function = (PFN_vkGetPhysicalDeviceProperties2)real("vkGetPhysicalDeviceProperties2");
  function(device, properties);
  long long number;
  if (faulty("maxUniformBufferRange", &number)) properties->properties.limits.maxUniformBufferRange = (uint32_t)number;
  for (VkBaseOutStructure *each = properties->pNext; each; each = each->pNext) {
    VkPhysicalDeviceFloatControlsProperties *controls = (void *)each;
    VkPhysicalDeviceMaintenance3Properties *sizes = (void *)each;
    if (each->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES) {
      if (faulty("shaderSignedZeroInfNanPreserveFloat32", &number)) controls->shaderSignedZeroInfNanPreserveFloat32 = VK_FALSE;
      if (faulty("shaderSignedZeroInfNanPreserveFloat64", &number)) controls->shaderSignedZeroInfNanPreserveFloat64 = VK_FALSE;
    }
    if (each->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES && faulty("maxMemoryAllocationSize", &number)) {
      sizes->maxMemoryAllocationSize = (VkDeviceSize)number;
    }
  }
}

void vkGetPhysicalDeviceFeatures2(VkPhysicalDevice device, VkPhysicalDeviceFeatures2 *features) {
  PFN_vkGetPhysicalDeviceFeatures2 function = (PFN_vkGetPhysicalDeviceFeatures2)real("vkGetPhysicalDeviceFeatures2");
  function(device, features);
  long long number;
  if (faulty("shaderInt64", &number)) features->features.shaderInt64 = VK_FALSE;
  if (faulty("shaderFloat64", &number)) features->features.shaderFloat64 = VK_FALSE;
  if (faulty("robustBufferAccess", &number)) features->features.robustBufferAccess = VK_FALSE;
  for (VkBaseOutStructure *each = features->pNext; each; each = each->pNext) {
    VkPhysicalDevice16BitStorageFeatures *words = (void *)each;
    VkPhysicalDevice8BitStorageFeatures *bytes = (void *)each;
    if (each->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES && faulty("storageBuffer16BitAccess", &number)) {
      words->storageBuffer16BitAccess = VK_FALSE;
    }
    if (each->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES && faulty("storageBuffer8BitAccess", &number)) {
      bytes->storageBuffer8BitAccess = VK_FALSE;
    }
  }
}

VkResult vkCreateDevice(VkPhysicalDevice device, const VkDeviceCreateInfo *info, const VkAllocationCallbacks *allocator, VkDevice *made) {
  PFN_vkCreateDevice function = (PFN_vkCreateDevice)real("vkCreateDevice");
  const VkPhysicalDeviceFeatures *features = info->pEnabledFeatures;
  for (const VkBaseInStructure *each = info->pNext; each; each = each->pNext) {
    if (each->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2) features = &((const VkPhysicalDeviceFeatures2 *)(const void *)each)->features;
  }
  long long number;
  if (faulty("asked", &number) || faulty("robustBufferAccess", &number)) fprintf(stderr, "robustBufferAccess: %u\n", features ? features->robustBufferAccess : 0);
  return function(device, info, allocator, made);
}

/* --- what an OpenCL device has --- */

static void hide(char *list, const char *word) {
  char *at = strstr(list, word);
  if (at) memset(at, ' ', strlen(word));
}

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t size, void *to, size_t *needs) {
  cl_int (*function)(cl_device_id, cl_device_info, size_t, void *, size_t *) = (cl_int(*)(cl_device_id, cl_device_info, size_t, void *, size_t *))real("clGetDeviceInfo");
  cl_int code = function(device, what, size, to, needs);
  long long number;
  if (code != CL_SUCCESS || !to) return code;
  if (what == CL_DEVICE_EXTENSIONS && faulty("cl_khr_fp64", &number)) hide(to, "cl_khr_fp64");
  if (what == CL_DEVICE_MAX_MEM_ALLOC_SIZE && faulty("CL_DEVICE_MAX_MEM_ALLOC_SIZE", &number)) *(cl_ulong *)to = (cl_ulong)number;
  if (what == CL_DEVICE_LOCAL_MEM_SIZE && faulty("CL_DEVICE_LOCAL_MEM_SIZE", &number)) *(cl_ulong *)to = (cl_ulong)number;
  if (what == CL_DEVICE_MAX_WORK_GROUP_SIZE && faulty("CL_DEVICE_MAX_WORK_GROUP_SIZE", &number)) *(size_t *)to = (size_t)number;
  if (what == CL_DEVICE_MAX_WORK_ITEM_SIZES && faulty("CL_DEVICE_MAX_WORK_ITEM_SIZES", &number)) *(size_t *)to = (size_t)number;
  return code;
}
