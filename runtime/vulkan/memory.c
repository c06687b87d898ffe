// SPDX-License-Identifier: Apache-2.0
/* runtime/vulkan/memory.c - blocks of memory that host and device both see. The host waits before it touches one that
 * recorded commands use. */
#include "runtime/vulkan/vulkan.h"

/* A kind of memory among those of the mask; with PREFERRED properties where there is one. UINT32_MAX: none. */
static uint32_t find_memory(const ir_device *device, uint32_t mask) {
  const VkMemoryPropertyFlags needed = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  const VkMemoryPropertyFlags wishes[] = {needed | VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT,
                                          needed | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, needed};
  for (size_t w = 0; w < ir_count_of(wishes); w++) {
    for (uint32_t i = 0; i < device->memories.memoryTypeCount; i++) {
      if (mask >> i & 1 && (device->memories.memoryTypes[i].propertyFlags & wishes[w]) == wishes[w]) return i;
    }
  }
  return UINT32_MAX;
}

void vk_drop(ir_device *device, ir_device_block *block) {
  if (block->used == device->batch) vk_finish(device);
  if (block->buffer) vkDestroyBuffer(device->device, block->buffer, NULL);
  if (block->memory) vkFreeMemory(device->device, block->memory, NULL);
  ir_heap_free(block);
}

static bool fill(ir_device *device, ir_device_block *block) {
  const VkBufferUsageFlags usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = block->bytes, .usage = usage};
  if (!vk_check(device, vkCreateBuffer(device->device, &info, NULL, &block->buffer), "vkCreateBuffer")) return false;
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(device->device, block->buffer, &needs);
  VkMemoryAllocateInfo wanted = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size, .memoryTypeIndex = find_memory(device, needs.memoryTypeBits)};
  if (wanted.memoryTypeIndex == UINT32_MAX) return ir_error_in(device->diags, "vulkan", "the device has no memory that the host sees"), false;
  void *mapped;
  bool fine = vk_check(device, vkAllocateMemory(device->device, &wanted, NULL, &block->memory), "vkAllocateMemory") &&
              vk_check(device, vkBindBufferMemory(device->device, block->buffer, block->memory, 0), "vkBindBufferMemory") &&
              vk_check(device, vkMapMemory(device->device, block->memory, 0, VK_WHOLE_SIZE, 0, &mapped), "vkMapMemory");
  if (fine) block->mapped = mapped;
  return fine;
}

ir_device_block *vk_take(ir_device *device, size_t bytes) {
  for (size_t i = device->kept_count; i > 0; i--) {
    ir_device_block *block = device->kept[i - 1];
    if (block->bytes != bytes) continue;
    device->kept[i - 1] = device->kept[--device->kept_count];
    return block;
  }
  if (bytes > device->most_bytes) {
    ir_error_in(device->diags, "vulkan", "a buffer of %zu bytes: the device takes %llu at most (maxMemoryAllocationSize)", bytes, (unsigned long long)device->most_bytes);
    return NULL;
  }
  ir_device_block *block = ir_heap_alloc(sizeof *block);
  *block = (ir_device_block){.bytes = bytes};
  if (fill(device, block)) return block;
  vk_drop(device, block);
  return NULL;
}

void vk_give(ir_device *device, ir_device_block *block) {
  if (device->kept_count < KEPT_BLOCKS) device->kept[device->kept_count++] = block;
  else vk_drop(device, block);
}

static bool settle(ir_device *device, const ir_device_block *block) { return block->used != device->batch || vk_finish(device); }

bool vk_read(ir_device *device, void *to, ir_device_slice from) {
  if (!settle(device, from.block)) return false;
  memcpy(to, from.block->mapped + from.offset, from.bytes);
  return true;
}

bool vk_write(ir_device *device, ir_device_slice to, const void *from) {
  if (!settle(device, to.block)) return false;
  memcpy(to.block->mapped + to.offset, from, to.bytes);
  return true;
}

bool vk_copy(ir_device *device, ir_device_slice to, ir_device_slice from) {
  if (!to.bytes) return true;
  if (!vk_record(device)) return false;
  const VkBufferCopy region = {from.offset, to.offset, to.bytes};
  vkCmdCopyBuffer(device->commands, from.block->buffer, to.block->buffer, 1, &region);
  vk_uses(device, from.block);
  vk_uses(device, to.block);
  return !device->refused;
}
