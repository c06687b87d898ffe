// SPDX-License-Identifier: Apache-2.0
/* What the files of the Vulkan executor share. */
#ifndef RILL_RUNTIME_VULKAN_VULKAN_H
#define RILL_RUNTIME_VULKAN_VULKAN_H

#include "../device/device.h"

#include <vulkan/vulkan.h>

enum {
  MOST_DEVICES = 16,
  KEPT_BLOCKS = 64,  /* given back, for the next run */
  POOL_SETS = 256,   /* launches that are recorded at once */
  POOL_BUFFERS = 2048,
};

/* A buffer with memory of its own, which the host sees. */
struct ir_device_block {
  VkBuffer buffer;
  VkDeviceMemory memory;
  uint8_t *mapped;
  size_t bytes;
  uint64_t used; /* by the batch of this number */
};

typedef struct vk_kernel {
  VkDescriptorSetLayout sets;
  VkPipelineLayout layout;
  VkPipeline pipeline; /* made when it is first launched */
  uint32_t *offsets;   /* of the scalars in their block */
  uint32_t constants;  /* bytes of them */
} vk_kernel;

struct ir_device {
  ir_arena arena;
  ir_diags *diags;
  VkInstance instance;
  VkDebugUtilsMessengerEXT messenger;
  VkPhysicalDevice physical;
  VkPhysicalDeviceLimits limits;
  VkPhysicalDeviceMemoryProperties memories;
  VkDeviceSize most_bytes; /* of one allocation */
  int64_t most_rounds;     /* ir_device_driver.most_rounds */
  unsigned version;  /* 1, 2, 3: of Vulkan 1.x */
  uint32_t family;
  VkDevice device;
  VkQueue queue;
  VkShaderModule shaders;
  VkPipelineCache pipelines;
  VkCommandPool pool;
  VkCommandBuffer commands;
  VkFence fence;
  VkDescriptorPool sets;
  uint64_t batch; /* number of the one that is recorded, or comes next */
  bool recording;
  bool refused; /* the validation layer has said something */
  const ir_kernel *kernels;
  vk_kernel *made; /* one a kernel */
  size_t kernel_count;
  ir_device_block *kept[KEPT_BLOCKS];
  size_t kept_count;
};

/* RESULT, of FUNCTION: reports and returns false unless it is VK_SUCCESS. */
bool vk_check(ir_device *device, VkResult result, const char *function);
/* The same for a function that was asked for KERNEL. */
bool vk_check_kernel(ir_device *device, const ir_kernel *kernel, VkResult result, const char *function);

/* --- instances and devices (choose.c) --- */
size_t vk_list(ir_text *out);
/* The instance and the device that OPTIONS ask for; its limits. */
bool vk_choose(ir_device *device, const char *wanted);
/* The logical device with the features that the capabilities of WORDS, a SPIR-V module, stand for, and its queue. */
bool vk_open(ir_device *device, const uint32_t *words, size_t count);
/* Which float controls the device has. */
void vk_float_controls(ir_device *device, bool *rounds_to_even, bool *keeps_denormals);

/* --- memory (memory.c) --- */
ir_device_block *vk_take(ir_device *device, size_t bytes);
void vk_give(ir_device *device, ir_device_block *block);
void vk_drop(ir_device *device, ir_device_block *block);
bool vk_read(ir_device *device, void *to, ir_device_slice from);
bool vk_write(ir_device *device, ir_device_slice to, const void *from);
bool vk_copy(ir_device *device, ir_device_slice to, ir_device_slice from);

/* --- batches of commands (batch.c) --- */
/* The next command may use what those before it wrote. */
bool vk_record(ir_device *device);
void vk_uses(ir_device *device, ir_device_block *block);
/* Waits for all that was recorded. */
bool vk_finish(ir_device *device);

/* --- kernels (launch.c) --- */
/* Whether the device has room for what the kernels want: workgroups, buffers, constants. */
bool vk_fits(ir_device *device);
bool vk_launch(ir_device *device, size_t kernel, const ir_device_slice *buffers, const uint64_t *scalars, const int64_t groups[3]);

#endif
