// SPDX-License-Identifier: Apache-2.0
/* runtime/vulkan/launch.c - kernels as pipelines, and their launches. */
#include "runtime/vulkan/vulkan.h"
#include "targets/spirv/spirv.h"

/* --- limits --- */

__attribute__((format(printf, 3, 4))) static bool refuse(ir_device *device, const ir_kernel *kernel, const char *format, ...) {
  ir_text text = {0};
  va_list args;
  va_start(args, format);
  ir_text_vprintf(&text, format, args);
  va_end(args);
  ir_error(device->diags, kernel->func->item.range, "vulkan: @%s %s", kernel->func->item.name->text, text.at);
  ir_text_free(&text);
  return false;
}

static bool within(ir_device *device, const ir_kernel *kernel, const char *what, uint64_t has, uint64_t most, const char *limit) {
  return has <= most || refuse(device, kernel, "has %s of %llu, the device takes %llu at most (%s)", what, (unsigned long long)has, (unsigned long long)most, limit);
}

static bool fits(ir_device *device, const ir_kernel *kernel) {
  const VkPhysicalDeviceLimits *limits = &device->limits;
  uint64_t invocations = 1;
  for (size_t i = 0; i < 3; i++) {
    if (!within(device, kernel, "a workgroup", (uint64_t)kernel->local[i], limits->maxComputeWorkGroupSize[i], "maxComputeWorkGroupSize")) return false;
    invocations *= (uint64_t)kernel->local[i];
  }
  return within(device, kernel, "a workgroup", invocations, limits->maxComputeWorkGroupInvocations, "maxComputeWorkGroupInvocations") &&
         within(device, kernel, "a number of buffers", kernel->buffer_count + (kernel->asserts.count > 0), limits->maxPerStageDescriptorStorageBuffers, "maxPerStageDescriptorStorageBuffers") &&
         (ir_spirv_pushes(kernel) || within(device, kernel, "scalars in bytes", ir_spirv_scalars(kernel, NULL), limits->maxUniformBufferRange, "maxUniformBufferRange")) &&
         within(device, kernel, "workgroup memory", ir_spirv_shared(kernel), limits->maxComputeSharedMemorySize, "maxComputeSharedMemorySize");
}

bool vk_fits(ir_device *device) {
  for (size_t i = 0; i < device->kernel_count; i++) {
    if (!fits(device, &device->kernels[i])) return false;
  }
  return true;
}

/* --- pipelines --- */

static bool make_layouts(ir_device *device, const ir_kernel *kernel, vk_kernel *made) {
  VkDescriptorSetLayoutBinding *bindings = ir_new_array(&device->arena, VkDescriptorSetLayoutBinding, kernel->buffer_count + 2);
  for (size_t i = 0; i < kernel->buffer_count; i++) {
    bindings[i] = (VkDescriptorSetLayoutBinding){(uint32_t)i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL};
  }
  size_t count = kernel->buffer_count;
  bool pushes = ir_spirv_pushes(kernel);
  if (!pushes) bindings[count] = (VkDescriptorSetLayoutBinding){(uint32_t)count, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL}, count++;
  if (kernel->asserts.count) bindings[count] = (VkDescriptorSetLayoutBinding){(uint32_t)count, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL}, count++;
  made->offsets = ir_new_array(&device->arena, uint32_t, kernel->scalar_count + 1);
  made->constants = (uint32_t)ir_spirv_scalars(kernel, made->offsets);
  const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, made->constants};
  const VkDescriptorSetLayoutCreateInfo sets = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = (uint32_t)count, .pBindings = bindings};
  if (!vk_check_kernel(device, kernel, vkCreateDescriptorSetLayout(device->device, &sets, NULL, &made->sets), "vkCreateDescriptorSetLayout")) return false;
  const VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                             .setLayoutCount = 1,
                                             .pSetLayouts = &made->sets,
                                             .pushConstantRangeCount = pushes && made->constants > 0,
                                             .pPushConstantRanges = &range};
  return vk_check_kernel(device, kernel, vkCreatePipelineLayout(device->device, &layout, NULL, &made->layout), "vkCreatePipelineLayout");
}

static bool make_pipeline(ir_device *device, const ir_kernel *kernel, vk_kernel *made) {
  const VkComputePipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                            .layout = made->layout,
                                            .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                      .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                      .module = device->shaders,
                                                      .pName = kernel->name}};
  return vk_check_kernel(device, kernel, vkCreateComputePipelines(device->device, device->pipelines, 1, &info, NULL, &made->pipeline), "vkCreateComputePipelines");
}

/* --- launches --- */

/* Where the descriptor of SLICE points. A tensor without elements, which nobody reads, still has some bytes. */
static bool describe(ir_device *device, const ir_kernel *kernel, ir_device_slice slice, VkDescriptorBufferInfo *info) {
  const VkPhysicalDeviceLimits *limits = &device->limits;
  if (!slice.bytes) slice = (ir_device_slice){slice.block, 0, slice.block->bytes < 64 ? slice.block->bytes : 64};
  *info = (VkDescriptorBufferInfo){slice.block->buffer, slice.offset, slice.bytes};
  if (slice.offset % limits->minStorageBufferOffsetAlignment) {
    return refuse(device, kernel, "gets a buffer at byte %zu, the device wants multiples of %llu (minStorageBufferOffsetAlignment)", slice.offset,
                  (unsigned long long)limits->minStorageBufferOffsetAlignment);
  }
  return within(device, kernel, "a buffer in bytes", slice.bytes, limits->maxStorageBufferRange, "maxStorageBufferRange");
}

static VkResult allocate(ir_device *device, const vk_kernel *made, VkDescriptorSet *set) {
  const VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, .descriptorPool = device->sets, .descriptorSetCount = 1, .pSetLayouts = &made->sets};
  return vkAllocateDescriptorSets(device->device, &info, set);
}

/* Slices that a launch gets: the buffers, and the status word where there is one. */
static size_t slices_of(const ir_kernel *kernel) { return kernel->buffer_count + (kernel->asserts.count > 0); }

/* A set for one launch; where the pool is empty, that of the launches before it. */
static bool new_set(ir_device *device, const ir_kernel *kernel, const vk_kernel *made, VkDescriptorSet *set) {
  VkResult result = allocate(device, made, set);
  bool empty = result == VK_ERROR_OUT_OF_POOL_MEMORY || result == VK_ERROR_FRAGMENTED_POOL;
  if (empty && device->recording) result = vk_finish(device) ? allocate(device, made, set) : VK_ERROR_UNKNOWN;
  return vk_check_kernel(device, kernel, result, "vkAllocateDescriptorSets");
}

static VkWriteDescriptorSet binding(VkDescriptorSet set, size_t number, VkDescriptorType type, const VkDescriptorBufferInfo *info) {
  return (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                .dstSet = set,
                                .dstBinding = (uint32_t)number,
                                .descriptorCount = 1,
                                .descriptorType = type,
                                .pBufferInfo = info};
}

/* Behind the buffers stand SCALARS, where there is such a block, and the status word. */
static bool bind(ir_device *device, const ir_kernel *kernel, const vk_kernel *made, const ir_device_slice *buffers, const ir_device_block *scalars, VkDescriptorSet *set) {
  ir_arena arena = {0};
  size_t all = slices_of(kernel), count = 0;
  VkDescriptorBufferInfo *infos = ir_new_array(&arena, VkDescriptorBufferInfo, all + 1);
  VkWriteDescriptorSet *writes = ir_new_array(&arena, VkWriteDescriptorSet, all + 1);
  bool fine = new_set(device, kernel, made, set);
  for (size_t i = 0; fine && i <= all; i++) {
    if (i == kernel->buffer_count && scalars) {
      infos[count] = (VkDescriptorBufferInfo){scalars->buffer, 0, made->constants};
      writes[count] = binding(*set, count, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, &infos[count]);
      count++;
    }
    if (i == all) break;
    fine = describe(device, kernel, buffers[i], &infos[count]);
    writes[count] = binding(*set, count, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, &infos[count]);
    count++;
  }
  if (fine) vkUpdateDescriptorSets(device->device, (uint32_t)count, writes, 0, NULL);
  ir_arena_free(&arena);
  return fine;
}

/* The scalars as push constants, or in BLOCK. */
static bool pass(ir_device *device, const ir_kernel *kernel, const vk_kernel *made, const uint64_t *scalars, ir_device_block *block) {
  if (!made->constants) return true;
  ir_arena arena = {0};
  uint8_t *bytes = ir_arena_alloc(&arena, made->constants);
  for (size_t i = 0; i < kernel->scalar_count; i++) {
    size_t size = ir_dtypes[kernel->scalars[i].dtype].bits == 64 ? 8 : 4;
    memcpy(bytes + made->offsets[i], &scalars[i], size);
  }
  if (block) {
    vkCmdUpdateBuffer(device->commands, block->buffer, 0, made->constants, bytes);
    vk_uses(device, block);
  } else {
    vkCmdPushConstants(device->commands, made->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, made->constants, bytes);
  }
  ir_arena_free(&arena);
  return !block || vk_record(device);
}

static bool start(ir_device *device, size_t number, const ir_device_slice *buffers, const uint64_t *scalars, ir_device_block *block, const int64_t groups[3]) {
  const ir_kernel *kernel = &device->kernels[number];
  const vk_kernel *made = &device->made[number];
  VkDescriptorSet set;
  if (!bind(device, kernel, made, buffers, block, &set) || !vk_record(device) || !pass(device, kernel, made, scalars, block)) return false;
  vkCmdBindPipeline(device->commands, VK_PIPELINE_BIND_POINT_COMPUTE, made->pipeline);
  vkCmdBindDescriptorSets(device->commands, VK_PIPELINE_BIND_POINT_COMPUTE, made->layout, 0, 1, &set, 0, NULL);
  vkCmdDispatch(device->commands, (uint32_t)groups[0], (uint32_t)groups[1], (uint32_t)groups[2]);
  for (size_t i = 0; i < slices_of(kernel); i++) vk_uses(device, buffers[i].block);
  return !device->refused;
}

bool vk_launch(ir_device *device, size_t number, const ir_device_slice *buffers, const uint64_t *scalars, const int64_t groups[3]) {
  const ir_kernel *kernel = &device->kernels[number];
  vk_kernel *made = &device->made[number];
  for (size_t i = 0; i < 3; i++) {
    if (!within(device, kernel, "a number of workgroups", (uint64_t)groups[i], device->limits.maxComputeWorkGroupCount[i], "maxComputeWorkGroupCount")) return false;
  }
  if (!made->layout && !make_layouts(device, kernel, made)) return false;
  if (!made->pipeline && !make_pipeline(device, kernel, made)) return false;
  ir_device_block *block = ir_spirv_pushes(kernel) ? NULL : vk_take(device, made->constants);
  if (!block && !ir_spirv_pushes(kernel)) return false;
  bool fine = start(device, number, buffers, scalars, block, groups);
  if (block) vk_give(device, block);
  return fine;
}
