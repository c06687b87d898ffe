// SPDX-License-Identifier: Apache-2.0
/* runtime/vulkan/batch.c - one command buffer, recorded until the host wants to see a result. Each command waits for what
 * those before it wrote. */
#include "runtime/vulkan/vulkan.h"

static void wait_for(ir_device *device, VkPipelineStageFlags stages, VkAccessFlags sees) {
  const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT, .dstAccessMask = sees};
  const VkPipelineStageFlags before = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
  vkCmdPipelineBarrier(device->commands, before, stages, 0, 1, &barrier, 0, NULL, 0, NULL);
}

bool vk_record(ir_device *device) {
  const VkPipelineStageFlags stages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
  const VkAccessFlags sees = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_UNIFORM_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  if (device->recording) {
    wait_for(device, stages, sees);
    return true;
  }
  const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
  device->recording = vk_check(device, vkBeginCommandBuffer(device->commands, &info), "vkBeginCommandBuffer");
  return device->recording;
}

void vk_uses(ir_device *device, ir_device_block *block) { block->used = device->batch; }

bool vk_finish(ir_device *device) {
  if (!device->recording) return true;
  device->recording = false;
  device->batch++;
  wait_for(device, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
  const VkSubmitInfo work = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &device->commands};
  return vk_check(device, vkEndCommandBuffer(device->commands), "vkEndCommandBuffer") &&
         vk_check(device, vkQueueSubmit(device->queue, 1, &work, device->fence), "vkQueueSubmit") &&
         vk_check(device, vkWaitForFences(device->device, 1, &device->fence, VK_TRUE, UINT64_MAX), "vkWaitForFences") &&
         vk_check(device, vkResetFences(device->device, 1, &device->fence), "vkResetFences") &&
         vk_check(device, vkResetDescriptorPool(device->device, device->sets, 0), "vkResetDescriptorPool") &&
         vk_check(device, vkResetCommandBuffer(device->commands, 0), "vkResetCommandBuffer");
}
