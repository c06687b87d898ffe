/* SPDX-License-Identifier: Apache-2.0
 * A Vulkan device for host.c. A kernel's buffers are storage buffers of set 0, its scalars push constants (docs/spec/spirv.md). Each
 * launch waits for the one before: a host in earnest records many and waits once. */
#include "device.h"

#include <string.h>
#include <vulkan/vulkan.h>

struct memory { VkBuffer buffer; char *mapped; };

static VkDevice device;
static VkQueue queue;
static VkShaderModule module;
static VkCommandPool commands;
static VkPhysicalDeviceMemoryProperties kinds;

static void check(VkResult result, const char *what) {
  if (result != VK_SUCCESS) fail("%s: %d", what, result);
}

void device_open(const char *code, size_t length) {
  const VkApplicationInfo app = {VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_2};
  const VkInstanceCreateInfo how = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app};
  VkInstance instance;
  check(vkCreateInstance(&how, NULL, &instance), "vkCreateInstance");
  VkPhysicalDevice physical;
  uint32_t count = 1;
  if (vkEnumeratePhysicalDevices(instance, &count, &physical) < 0 || !count) fail("no device");
  vkGetPhysicalDeviceMemoryProperties(physical, &kinds);
  VkPhysicalDeviceVulkan12Features some = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .storageBuffer8BitAccess = VK_TRUE};
  const VkPhysicalDeviceFeatures features = {.shaderInt64 = VK_TRUE, .robustBufferAccess = VK_TRUE};
  const float priority = 1;
  const VkDeviceQueueCreateInfo one = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
  const VkDeviceCreateInfo wanted = {VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .pNext = &some, .queueCreateInfoCount = 1, .pQueueCreateInfos = &one, .pEnabledFeatures = &features};
  check(vkCreateDevice(physical, &wanted, NULL, &device), "vkCreateDevice");
  vkGetDeviceQueue(device, 0, 0, &queue);
  const VkShaderModuleCreateInfo words = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = length, .pCode = (const uint32_t *)(const void *)code};
  check(vkCreateShaderModule(device, &words, NULL, &module), "vkCreateShaderModule");
  const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  check(vkCreateCommandPool(device, &pool, NULL, &commands), "vkCreateCommandPool");
}

memory *device_take(size_t bytes) {
  static memory blocks[4096];
  static size_t count;
  if (count == sizeof blocks / sizeof *blocks) fail("too many buffers");
  memory *block = &blocks[count++];
  const VkBufferCreateInfo how = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = bytes ? bytes : 64, .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
  check(vkCreateBuffer(device, &how, NULL, &block->buffer), "vkCreateBuffer");
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(device, block->buffer, &needs);
  const VkMemoryPropertyFlags visible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  uint32_t kind = 0;
  while (kind < kinds.memoryTypeCount && (!(needs.memoryTypeBits >> kind & 1) || (kinds.memoryTypes[kind].propertyFlags & visible) != visible)) kind++;
  const VkMemoryAllocateInfo place = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size, .memoryTypeIndex = kind};
  VkDeviceMemory memory;
  check(vkAllocateMemory(device, &place, NULL, &memory), "vkAllocateMemory");
  check(vkBindBufferMemory(device, block->buffer, memory, 0), "vkBindBufferMemory");
  check(vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, (void **)(void *)&block->mapped), "vkMapMemory");
  return block;
}

void device_write(slice to, const void *from) { memcpy(to.block->mapped + to.offset, from, to.bytes); }
void device_read(void *to, slice from) { memcpy(to, from.block->mapped + from.offset, from.bytes); }
void device_copy(slice to, slice from) { memmove(to.block->mapped + to.offset, from.block->mapped + from.offset, to.bytes); }

void device_launch(const launch *l) {
  uint32_t count = (uint32_t)l->buffer_count, size = (uint32_t)(l->scalar_count * sizeof *l->scalars);
  VkDescriptorSetLayoutBinding bindings[32];
  VkDescriptorBufferInfo buffers[32];
  for (uint32_t i = 0; i < count; i++) {
    bindings[i] = (VkDescriptorSetLayoutBinding){i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    buffers[i] = (VkDescriptorBufferInfo){l->buffers[i].block->buffer, l->buffers[i].offset, l->buffers[i].bytes ? l->buffers[i].bytes : VK_WHOLE_SIZE};
  }
  const VkDescriptorSetLayoutCreateInfo of_set = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = count, .pBindings = bindings};
  VkDescriptorSetLayout set_layout;
  check(vkCreateDescriptorSetLayout(device, &of_set, NULL, &set_layout), "vkCreateDescriptorSetLayout");
  const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, size};
  const VkPipelineLayoutCreateInfo of_pipeline = {VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 1, .pSetLayouts = &set_layout, .pushConstantRangeCount = size > 0, .pPushConstantRanges = &range};
  VkPipelineLayout layout;
  check(vkCreatePipelineLayout(device, &of_pipeline, NULL, &layout), "vkCreatePipelineLayout");
  const VkPipelineShaderStageCreateInfo stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO, .stage = VK_SHADER_STAGE_COMPUTE_BIT, .module = module, .pName = l->entry};
  const VkComputePipelineCreateInfo how = {VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, .stage = stage, .layout = layout};
  VkPipeline pipeline;
  check(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &how, NULL, &pipeline), l->entry);
  const VkDescriptorPoolSize room = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, count ? count : 1};
  const VkDescriptorPoolCreateInfo pool_info = {VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &room};
  VkDescriptorPool pool;
  check(vkCreateDescriptorPool(device, &pool_info, NULL, &pool), "vkCreateDescriptorPool");
  const VkDescriptorSetAllocateInfo take = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, .descriptorPool = pool, .descriptorSetCount = 1, .pSetLayouts = &set_layout};
  VkDescriptorSet set;
  check(vkAllocateDescriptorSets(device, &take, &set), "vkAllocateDescriptorSets");
  const VkWriteDescriptorSet write = {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .dstSet = set, .descriptorCount = 1, .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER};
  for (uint32_t i = 0; i < count; i++) {
    VkWriteDescriptorSet each = write;
    each.dstBinding = i;
    each.pBufferInfo = &buffers[i];
    vkUpdateDescriptorSets(device, 1, &each, 0, NULL);
  }
  const VkCommandBufferAllocateInfo one = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = commands, .commandBufferCount = 1};
  VkCommandBuffer buffer;
  check(vkAllocateCommandBuffers(device, &one, &buffer), "vkAllocateCommandBuffers");
  const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  check(vkBeginCommandBuffer(buffer, &begin), "vkBeginCommandBuffer");
  vkCmdBindPipeline(buffer, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  vkCmdBindDescriptorSets(buffer, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, NULL);
  if (size) vkCmdPushConstants(buffer, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, size, l->scalars);
  vkCmdDispatch(buffer, (uint32_t)l->groups[0], (uint32_t)l->groups[1], (uint32_t)l->groups[2]);
  check(vkEndCommandBuffer(buffer), "vkEndCommandBuffer");
  const VkSubmitInfo submit = {VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &buffer};
  check(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE), "vkQueueSubmit");
  check(vkQueueWaitIdle(queue), "vkQueueWaitIdle");
  vkFreeCommandBuffers(device, commands, 1, &buffer);
  vkDestroyDescriptorPool(device, pool, NULL);
  vkDestroyPipeline(device, pipeline, NULL);
  vkDestroyPipelineLayout(device, layout, NULL);
  vkDestroyDescriptorSetLayout(device, set_layout, NULL);
}
