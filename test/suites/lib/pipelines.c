// SPDX-License-Identifier: Apache-2.0
/* pipelines MODULE.spv - has the driver of the first Vulkan device make a compute pipeline of every entry point. Submits
 * nothing, so that a driver without hardware will do (RADV_FORCE_FAMILY). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

enum { BINDINGS = 32, CONSTANTS = 128, OP_ENTRY_POINT = 15 };

static void need(VkResult result, const char *what) {
  if (result == VK_SUCCESS) return;
  fprintf(stderr, "pipelines: %s: %d\n", what, (int)result);
  exit(1);
}

static uint32_t *read_words(const char *path, size_t *count) {
  FILE *file = fopen(path, "rb");
  if (!file) exit(2);
  fseek(file, 0, SEEK_END);
  *count = (size_t)ftell(file) / 4;
  rewind(file);
  uint32_t *words = malloc(*count * 4);
  if (!words || fread(words, 4, *count, file) != *count) exit(2);
  fclose(file);
  return words;
}

static VkPhysicalDevice first_device(void) {
  const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_3};
  const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
  VkInstance instance;
  need(vkCreateInstance(&info, NULL, &instance), "vkCreateInstance");
  VkPhysicalDevice physical;
  uint32_t count = 1;
  vkEnumeratePhysicalDevices(instance, &count, &physical);
  if (!count) need(VK_ERROR_INITIALIZATION_FAILED, "vkEnumeratePhysicalDevices");
  return physical;
}

/* With everything on that the driver has. */
static VkDevice open_device(VkPhysicalDevice physical) {
  VkPhysicalDevice16BitStorageFeatures words = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES};
  VkPhysicalDevice8BitStorageFeatures bytes = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES, .pNext = &words};
  VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &bytes};
  vkGetPhysicalDeviceFeatures2(physical, &features);
  const float priority = 1;
  const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
  const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .pNext = &features, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue};
  VkDevice device;
  need(vkCreateDevice(physical, &info, NULL, &device), "vkCreateDevice");
  return device;
}

static VkPipelineLayout make_layout(VkDevice device) {
  VkDescriptorSetLayoutBinding bindings[BINDINGS];
  for (uint32_t i = 0; i < BINDINGS; i++) bindings[i] = (VkDescriptorSetLayoutBinding){i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL};
  const VkDescriptorSetLayoutCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = BINDINGS, .pBindings = bindings};
  VkDescriptorSetLayout sets;
  need(vkCreateDescriptorSetLayout(device, &info, NULL, &sets), "vkCreateDescriptorSetLayout");
  const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, CONSTANTS};
  const VkPipelineLayoutCreateInfo whole = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 1, .pSetLayouts = &sets, .pushConstantRangeCount = 1, .pPushConstantRanges = &range};
  VkPipelineLayout layout;
  need(vkCreatePipelineLayout(device, &whole, NULL, &layout), "vkCreatePipelineLayout");
  return layout;
}

int main(int count, char **args) {
  if (count != 2) return 2;
  size_t length;
  uint32_t *words = read_words(args[1], &length);
  VkDevice device = open_device(first_device());
  const VkShaderModuleCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = length * 4, .pCode = words};
  VkShaderModule module;
  need(vkCreateShaderModule(device, &info, NULL, &module), "vkCreateShaderModule");
  VkPipelineLayout layout = make_layout(device);
  int made = 0;
  for (size_t at = 5; at < length && words[at] >> 16; at += words[at] >> 16) {
    if ((words[at] & 0xffff) != OP_ENTRY_POINT) continue;
    const char *name = (const char *)&words[at + 3];
    const VkComputePipelineCreateInfo wanted = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .layout = layout,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO, .stage = VK_SHADER_STAGE_COMPUTE_BIT, .module = module, .pName = name}};
    VkPipeline pipeline;
    need(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &wanted, NULL, &pipeline), name);
    made++;
  }
  printf("%d\n", made);
  free(words);
  return 0;
}
