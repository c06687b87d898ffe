/* SPDX-License-Identifier: Apache-2.0
 * A Vulkan device for host.c. A kernel's buffers are storage buffers of set 0, its scalars push constants (docs/spec/spirv.md).
 * Each launch waits for the one before: a host in earnest records many and waits once. */
#include "device.h"

#include <vulkan/vulkan.h>

/* A structure with its tag; calls that end the program where they fail; such a call that makes something for the device. */
#define INFO(type, tag, ...) &(Vk##type##Info){VK_STRUCTURE_TYPE_##tag##_INFO, __VA_ARGS__}
#define TRY(call) check(call, #call)
#define MAKE(what, tag, to, ...) TRY(vkCreate##what(device, INFO(what##Create, tag##_CREATE, __VA_ARGS__), NULL, to))

static VkPhysicalDevice physical;
static VkDevice device;
static VkQueue queue;
static VkBuffer buffer;
static char *mapped; /* the buffer's memory */
static const uint32_t *words, *end; /* the kernels */
static VkShaderModule module;
static VkPipelineLayout layout;
static VkDescriptorSet set;
static VkCommandBuffer commands;

static void check(VkResult result, const char *call) {
  if (result < 0) errx(1, "%.*s: error %d", (int)strcspn(call, ")"), call, result);
}

static void make_device(void) {
  VkInstance instance;
  const VkApplicationInfo *app = INFO(Application, APPLICATION, .apiVersion = VK_API_VERSION_1_2);
  TRY(vkCreateInstance(INFO(InstanceCreate, INSTANCE_CREATE, .pApplicationInfo = app), NULL, &instance));
  uint32_t count = 1;
  TRY(vkEnumeratePhysicalDevices(instance, &count, &physical));
  if (!count) errx(1, "there is no Vulkan device");
  VkPhysicalDeviceVulkan12Features bytes = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .storageBuffer8BitAccess = 1};
  const VkPhysicalDeviceFeatures features = {.shaderInt64 = 1, .robustBufferAccess = 1};
  const VkDeviceQueueCreateInfo *one = INFO(DeviceQueueCreate, DEVICE_QUEUE_CREATE, NULL, 0, 0, 1, &(float){1});
  const VkDeviceCreateInfo *all = INFO(DeviceCreate, DEVICE_CREATE, &bytes, 0, 1, one, .pEnabledFeatures = &features);
  TRY(vkCreateDevice(physical, all, NULL, &device));
  vkGetDeviceQueue(device, 0, 0, &queue);
}

static void make_memory(void) {
  MAKE(Buffer, BUFFER, &buffer, .size = ROOM, .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
  VkPhysicalDeviceMemoryProperties kinds;
  vkGetPhysicalDeviceMemoryProperties(physical, &kinds);
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(device, buffer, &needs);
  const VkMemoryPropertyFlags visible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  uint32_t kind = 0; /* Vulkan promises one */
  while (!(needs.memoryTypeBits >> kind & 1) || (kinds.memoryTypes[kind].propertyFlags & visible) != visible) kind++;
  VkDeviceMemory memory;
  TRY(vkAllocateMemory(device, INFO(MemoryAllocate, MEMORY_ALLOCATE, NULL, needs.size, kind), NULL, &memory));
  TRY(vkBindBufferMemory(device, buffer, memory, 0));
  TRY(vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, (void **)&mapped));
}

/* One set and one layout do for all kernels: what a kernel has not need not be there. */
static void make_layout(void) {
  const VkDescriptorPoolSize room = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, MOST};
  VkDescriptorSetLayoutBinding all[MOST];
  for (uint32_t i = 0; i < MOST; i++) all[i] = (VkDescriptorSetLayoutBinding){i, room.type, 1, VK_SHADER_STAGE_ALL, NULL};
  VkDescriptorSetLayout sets;
  MAKE(DescriptorSetLayout, DESCRIPTOR_SET_LAYOUT, &sets, NULL, 0, MOST, all);
  const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, MOST * sizeof(long long)};
  MAKE(PipelineLayout, PIPELINE_LAYOUT, &layout, NULL, 0, 1, &sets, 1, &range);
  VkDescriptorPool pool;
  MAKE(DescriptorPool, DESCRIPTOR_POOL, &pool, NULL, 0, 1, 1, &room);
  TRY(vkAllocateDescriptorSets(device, INFO(DescriptorSetAllocate, DESCRIPTOR_SET_ALLOCATE, NULL, pool, 1, &sets), &set));
}

void device_open(const char *code, size_t length) {
  words = (const uint32_t *)(const void *)code;
  end = words + length / sizeof *words;
  make_device();
  make_memory();
  make_layout();
  MAKE(ShaderModule, SHADER_MODULE, &module, NULL, 0, length, words);
  VkCommandPool pool;
  MAKE(CommandPool, COMMAND_POOL, &pool, .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT);
  TRY(vkAllocateCommandBuffers(device, INFO(CommandBufferAllocate, COMMAND_BUFFER_ALLOCATE, NULL, pool, 0, 1), &commands));
}

void device_write(slice to, const void *from) { memcpy(mapped + to.at, from, (size_t)to.bytes); }
void device_read(void *to, slice from) { memcpy(to, mapped + from.at, (size_t)from.bytes); }

/* An OpEntryPoint, 15, of that name. Drivers trust that there is one: else they end the program without a word. */
static int has_entry(const char *name) {
  const uint32_t *at = words + 5;
  while (at < end && *at >> 16 && ((*at & 0xffff) != 15 || strcmp((const char *)&at[3], name))) at += *at >> 16;
  return at < end && *at >> 16;
}

void device_launch(const launch *l) {
  if (!has_entry(l->entry)) errx(1, "the kernels lack %s", l->entry);
  for (uint32_t i = 0; i < l->buffer_count; i++) {
    const VkDescriptorBufferInfo at = {buffer, l->buffers[i].at, l->buffers[i].bytes ? l->buffers[i].bytes : ALIGN};
    const VkWriteDescriptorSet write = {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .dstSet = set, .dstBinding = i,
        .descriptorCount = 1, .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .pBufferInfo = &at};
    vkUpdateDescriptorSets(device, 1, &write, 0, NULL);
  }
  const VkPipelineShaderStageCreateInfo *stage = INFO(PipelineShaderStageCreate, PIPELINE_SHADER_STAGE_CREATE, .module = module,
      .stage = VK_SHADER_STAGE_COMPUTE_BIT, .pName = l->entry);
  VkPipeline pipeline;
  TRY(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1,
      INFO(ComputePipelineCreate, COMPUTE_PIPELINE_CREATE, .stage = *stage, .layout = layout), NULL, &pipeline));
  TRY(vkBeginCommandBuffer(commands, INFO(CommandBufferBegin, COMMAND_BUFFER_BEGIN, .flags = 0)));
  vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, NULL);
  vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof l->scalars, l->scalars);
  vkCmdDispatch(commands, (uint32_t)l->groups[0], (uint32_t)l->groups[1], (uint32_t)l->groups[2]);
  TRY(vkEndCommandBuffer(commands));
  TRY(vkQueueSubmit(queue, 1, INFO(Submit, SUBMIT, .commandBufferCount = 1, .pCommandBuffers = &commands), VK_NULL_HANDLE));
  TRY(vkQueueWaitIdle(queue));
  vkDestroyPipeline(device, pipeline, NULL);
}
