/* SPDX-License-Identifier: Apache-2.0
 * A Vulkan device for host.c. A kernel's buffers are storage buffers of set 0, its scalars push constants (docs/spec/spirv.md).
 * Each launch waits for the one before: a host in earnest records many and waits once. */
#include "device.h"

#include <string.h>
#include <vulkan/vulkan.h>

#define INFO(name) .sType = VK_STRUCTURE_TYPE_##name

static VkPhysicalDevice physical;
static VkDevice device;
static VkQueue queue;
static VkBuffer buffer;
static char *mapped;
static const uint32_t *words; /* the kernels */
static size_t word_count;
static VkShaderModule module;
static VkPipelineLayout layout;
static VkDescriptorSet set;
static VkCommandBuffer commands;

static void check(VkResult result, const char *what) {
  if (result != VK_SUCCESS) fail("%s: error %d", what, result);
}

static void make_device(void) {
  const VkApplicationInfo app = {INFO(APPLICATION_INFO), .apiVersion = VK_API_VERSION_1_2};
  const VkInstanceCreateInfo how = {INFO(INSTANCE_CREATE_INFO), .pApplicationInfo = &app};
  VkInstance instance;
  check(vkCreateInstance(&how, NULL, &instance), "vkCreateInstance");
  uint32_t count = 1;
  if (vkEnumeratePhysicalDevices(instance, &count, &physical) < 0 || !count) fail("vkEnumeratePhysicalDevices: no device");
  VkPhysicalDeviceVulkan12Features bytes = {INFO(PHYSICAL_DEVICE_VULKAN_1_2_FEATURES), .storageBuffer8BitAccess = VK_TRUE};
  const VkPhysicalDeviceFeatures features = {.shaderInt64 = VK_TRUE, .robustBufferAccess = VK_TRUE};
  const VkDeviceQueueCreateInfo one = {INFO(DEVICE_QUEUE_CREATE_INFO), .queueCount = 1, .pQueuePriorities = &(float){1}};
  const VkDeviceCreateInfo all = {INFO(DEVICE_CREATE_INFO), &bytes, 0, 1, &one, .pEnabledFeatures = &features};
  check(vkCreateDevice(physical, &all, NULL, &device), "vkCreateDevice");
  vkGetDeviceQueue(device, 0, 0, &queue);
}

static void make_memory(void) {
  const VkBufferCreateInfo how = {INFO(BUFFER_CREATE_INFO), .size = ROOM, .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
  check(vkCreateBuffer(device, &how, NULL, &buffer), "vkCreateBuffer");
  VkPhysicalDeviceMemoryProperties kinds;
  vkGetPhysicalDeviceMemoryProperties(physical, &kinds);
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(device, buffer, &needs);
  const VkMemoryPropertyFlags visible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  uint32_t kind = 0; /* Vulkan promises one */
  while (!(needs.memoryTypeBits >> kind & 1) || (kinds.memoryTypes[kind].propertyFlags & visible) != visible) kind++;
  VkDeviceMemory memory;
  check(vkAllocateMemory(device, &(VkMemoryAllocateInfo){INFO(MEMORY_ALLOCATE_INFO), NULL, needs.size, kind}, NULL, &memory), "vkAllocateMemory");
  check(vkBindBufferMemory(device, buffer, memory, 0), "vkBindBufferMemory");
  check(vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, (void **)&mapped), "vkMapMemory");
}

/* One set and one layout do for all kernels: what a kernel has not need not be there. */
static void make_layout(void) {
  VkDescriptorSetLayoutBinding bindings[MOST];
  for (uint32_t i = 0; i < MOST; i++) bindings[i] = (VkDescriptorSetLayoutBinding){i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL};
  VkDescriptorSetLayout sets;
  check(vkCreateDescriptorSetLayout(device, &(VkDescriptorSetLayoutCreateInfo){INFO(DESCRIPTOR_SET_LAYOUT_CREATE_INFO), NULL, 0, MOST, bindings}, NULL, &sets), "sets");
  const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, MOST * sizeof(int64_t)};
  const VkPipelineLayoutCreateInfo all = {INFO(PIPELINE_LAYOUT_CREATE_INFO), NULL, 0, 1, &sets, 1, &range};
  check(vkCreatePipelineLayout(device, &all, NULL, &layout), "vkCreatePipelineLayout");
  const VkDescriptorPoolSize room = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, MOST};
  VkDescriptorPool pool;
  check(vkCreateDescriptorPool(device, &(VkDescriptorPoolCreateInfo){INFO(DESCRIPTOR_POOL_CREATE_INFO), NULL, 0, 1, 1, &room}, NULL, &pool), "vkCreateDescriptorPool");
  check(vkAllocateDescriptorSets(device, &(VkDescriptorSetAllocateInfo){INFO(DESCRIPTOR_SET_ALLOCATE_INFO), NULL, pool, 1, &sets}, &set), "vkAllocateDescriptorSets");
}

/* Drivers trust modules: one that is cut off, or has no such entry point, would end this program without a word. */
static int has_entry(const char *name) {
  int found = 0;
  size_t at = 5;
  for (; at < word_count && words[at] >> 16; at += words[at] >> 16) {
    found |= (words[at] & 0xffff) == 15 /* OpEntryPoint */ && !strcmp((const char *)&words[at + 3], name);
  }
  return found && at == word_count && words[at - 1] == (1 << 16 | 56) /* OpFunctionEnd */;
}

void device_open(const char *code, size_t length) {
  words = (const uint32_t *)(const void *)code;
  word_count = length / sizeof *words;
  if (word_count < 6 || words[0] != 0x07230203) fail("the kernels are no SPIR-V");
  make_device();
  make_memory();
  make_layout();
  const VkShaderModuleCreateInfo kernels = {INFO(SHADER_MODULE_CREATE_INFO), NULL, 0, word_count * sizeof *words, words};
  check(vkCreateShaderModule(device, &kernels, NULL, &module), "vkCreateShaderModule");
  VkCommandPool pool;
  const VkCommandPoolCreateFlags again = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  check(vkCreateCommandPool(device, &(VkCommandPoolCreateInfo){INFO(COMMAND_POOL_CREATE_INFO), .flags = again}, NULL, &pool), "vkCreateCommandPool");
  check(vkAllocateCommandBuffers(device, &(VkCommandBufferAllocateInfo){INFO(COMMAND_BUFFER_ALLOCATE_INFO), NULL, pool, 0, 1}, &commands), "vkAllocateCommandBuffers");
}

void device_write(slice to, const void *from) { memcpy(mapped + to.at, from, to.bytes); }
void device_read(void *to, slice from) { memcpy(to, mapped + from.at, from.bytes); }

void device_launch(const launch *l) {
  if (!has_entry(l->entry)) fail("the kernels lack %s, or a part", l->entry);
  for (uint32_t i = 0; i < l->buffer_count; i++) {
    const VkDescriptorBufferInfo at = {buffer, l->buffers[i].at, l->buffers[i].bytes ? l->buffers[i].bytes : ALIGN};
    const VkWriteDescriptorSet write = {INFO(WRITE_DESCRIPTOR_SET), NULL, set, i, 0, 1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .pBufferInfo = &at};
    vkUpdateDescriptorSets(device, 1, &write, 0, NULL);
  }
  const VkPipelineShaderStageCreateInfo stage = {INFO(PIPELINE_SHADER_STAGE_CREATE_INFO), NULL, 0, VK_SHADER_STAGE_COMPUTE_BIT, module, l->entry, NULL};
  const VkComputePipelineCreateInfo how = {INFO(COMPUTE_PIPELINE_CREATE_INFO), .stage = stage, .layout = layout};
  VkPipeline pipeline;
  check(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &how, NULL, &pipeline), l->entry);
  check(vkBeginCommandBuffer(commands, &(VkCommandBufferBeginInfo){INFO(COMMAND_BUFFER_BEGIN_INFO)}), "vkBeginCommandBuffer");
  vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, NULL);
  vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof l->scalars, l->scalars);
  vkCmdDispatch(commands, (uint32_t)l->groups[0], (uint32_t)l->groups[1], (uint32_t)l->groups[2]);
  check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
  const VkSubmitInfo submit = {INFO(SUBMIT_INFO), .commandBufferCount = 1, .pCommandBuffers = &commands};
  check(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE), "vkQueueSubmit");
  check(vkQueueWaitIdle(queue), "vkQueueWaitIdle");
  vkDestroyPipeline(device, pipeline, NULL);
}
