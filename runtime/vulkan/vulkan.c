// SPDX-License-Identifier: Apache-2.0
/* runtime/vulkan/vulkan.c - the Vulkan executor: kernels are the SPIR-V of targets/spirv. Needs a loader (libvulkan) and a
 * driver. With RILL_VULKAN_VALIDATION=1 what the validation layer says is an error. */
#include "runtime/vulkan/vulkan.h"
#include "targets/spirv/spirv.h"

extern const ir_plugin ir_plugin_vulkan;

static bool make_pools(ir_device *device) {
  const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT, .queueFamilyIndex = device->family};
  if (!vk_check(device, vkCreateCommandPool(device->device, &pool, NULL, &device->pool), "vkCreateCommandPool")) return false;
  const VkCommandBufferAllocateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = device->pool, .commandBufferCount = 1};
  const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, POOL_BUFFERS}, {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, POOL_SETS}};
  const VkDescriptorPoolCreateInfo sets = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = POOL_SETS, .poolSizeCount = 2, .pPoolSizes = sizes};
  const VkPipelineCacheCreateInfo pipelines = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
  return vk_check(device, vkAllocateCommandBuffers(device->device, &commands, &device->commands), "vkAllocateCommandBuffers") &&
         vk_check(device, vkCreateFence(device->device, &fence, NULL, &device->fence), "vkCreateFence") &&
         vk_check(device, vkCreateDescriptorPool(device->device, &sets, NULL, &device->sets), "vkCreateDescriptorPool") &&
         vk_check(device, vkCreatePipelineCache(device->device, &pipelines, NULL, &device->pipelines), "vkCreatePipelineCache");
}

static bool build(ir_device *device, ir_module *module) {
  ir_spirv_options settings = {.vulkan = device->version};
  vk_float_controls(device, &settings.rounds_to_even, &settings.keeps_denormals);
  ir_text text = {0};
  bool fine = ir_spirv_translate(module, &settings, &text);
  const uint32_t *words = (const uint32_t *)(const void *)text.at;
  fine = fine && vk_fits(device) && vk_open(device, words, text.length / sizeof *words) && make_pools(device);
  if (fine && device->kernel_count) {
    const VkShaderModuleCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = text.length, .pCode = words};
    fine = vk_check(device, vkCreateShaderModule(device->device, &info, NULL, &device->shaders), "vkCreateShaderModule");
  }
  ir_text_free(&text);
  return fine;
}

static void release_kernel(const ir_device *device, const vk_kernel *made) {
  vkDestroyPipeline(device->device, made->pipeline, NULL);
  vkDestroyPipelineLayout(device->device, made->layout, NULL);
  vkDestroyDescriptorSetLayout(device->device, made->sets, NULL);
}

static void release(ir_device *device) {
  if (device->device) {
    vk_finish(device);
    vkDeviceWaitIdle(device->device);
    for (size_t i = 0; i < device->kept_count; i++) vk_drop(device, device->kept[i]);
    for (size_t i = 0; i < device->kernel_count; i++) release_kernel(device, &device->made[i]);
    vkDestroyShaderModule(device->device, device->shaders, NULL);
    vkDestroyPipelineCache(device->device, device->pipelines, NULL);
    vkDestroyDescriptorPool(device->device, device->sets, NULL);
    vkDestroyFence(device->device, device->fence, NULL);
    vkDestroyCommandPool(device->device, device->pool, NULL);
    vkDestroyDevice(device->device, NULL);
  }
  if (device->messenger) {
    PFN_vkDestroyDebugUtilsMessengerEXT destroy = (PFN_vkDestroyDebugUtilsMessengerEXT)vkGetInstanceProcAddr(device->instance, "vkDestroyDebugUtilsMessengerEXT");
    destroy(device->instance, device->messenger, NULL);
  }
  if (device->instance) vkDestroyInstance(device->instance, NULL);
  ir_arena_free(&device->arena);
  ir_heap_free(device);
}

static ir_device *open(ir_module *module, const ir_kernel *kernels, size_t count, const ir_target_options *options) {
  ir_device *device = ir_heap_alloc(sizeof *device);
  *device = (ir_device){.diags = module->context->diags, .kernels = kernels, .kernel_count = count, .batch = 1};
  device->made = ir_new_array(&device->arena, vk_kernel, count + 1);
  if (vk_choose(device, options->device) && build(device, module)) return device;
  release(device);
  return NULL;
}

static int64_t most_rounds(const ir_device *device) { return device->most_rounds; }

static const ir_device_driver driver = {
    .name = "vulkan",
    .target = "spirv",
    .take = vk_take,
    .give = vk_give,
    .read = vk_read,
    .write = vk_write,
    .copy = vk_copy,
    .launch = vk_launch,
    .finish = vk_finish,
    .most_rounds = most_rounds,
    .free = release,
};

static ir_program *compile(ir_module *module, const ir_target_options *options) { return ir_device_compile(module, options, &driver, open); }

const ir_plugin ir_plugin_vulkan = {
    .version = IR_PLUGIN_VERSION,
    .name = "vulkan",
    .compile = compile,
    .run = ir_device_run,
    .stats = ir_device_stats,
    .list = vk_list,
    .free = ir_device_program_free,
};
