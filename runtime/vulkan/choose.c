// SPDX-License-Identifier: Apache-2.0
/* runtime/vulkan/choose.c - instances, devices, and the features that kernels need of them. */
#include "runtime/vulkan/vulkan.h"

#include <spirv/unified1/spirv.h>
#include <stddef.h>
#include <stdlib.h>

static const char *text_of(VkResult result) {
  static const struct {
    VkResult result;
    const char *text;
  } texts[] = {
      {VK_ERROR_DEVICE_LOST, "the device was lost"},
      {VK_ERROR_OUT_OF_DEVICE_MEMORY, "no memory is left on the device"},
      {VK_ERROR_OUT_OF_HOST_MEMORY, "no memory is left on the host"},
      {VK_ERROR_INCOMPATIBLE_DRIVER, "no driver was found"},
      {VK_ERROR_INITIALIZATION_FAILED, "the driver does not start"},
      {VK_ERROR_LAYER_NOT_PRESENT, "a layer is missing"},
      {VK_ERROR_EXTENSION_NOT_PRESENT, "an extension is missing"},
      {VK_ERROR_FEATURE_NOT_PRESENT, "a feature is missing"},
      {VK_ERROR_TOO_MANY_OBJECTS, "too many objects"},
      {VK_ERROR_INVALID_SHADER_NV, "the driver refuses the kernels"},
  };
  for (size_t i = 0; i < ir_count_of(texts); i++) {
    if (texts[i].result == result) return texts[i].text;
  }
  return "unknown error";
}

bool vk_check(ir_device *device, VkResult result, const char *function) {
  if (result == VK_SUCCESS) return !device->refused;
  ir_error_in(device->diags, "vulkan", "%s: %s (%d)", function, text_of(result), (int)result);
  return false;
}

bool vk_check_kernel(ir_device *device, const ir_kernel *kernel, VkResult result, const char *function) {
  if (result == VK_SUCCESS) return !device->refused;
  const ir_item *item = &kernel->func->item;
  ir_error(device->diags, item->range, "vulkan: @%s: %s: %s (%d)", item->name->text, function, text_of(result), (int)result);
  return false;
}

/* --- the validation layer --- */

static const char validation_layer[] = "VK_LAYER_KHRONOS_validation";

static VKAPI_ATTR VkBool32 VKAPI_CALL tell(VkDebugUtilsMessageSeverityFlagBitsEXT severity, VkDebugUtilsMessageTypeFlagsEXT type,
                                           const VkDebugUtilsMessengerCallbackDataEXT *data, void *user) {
  (void)severity;
  (void)type;
  ir_device *device = user;
  device->refused = true;
  ir_error_in(device->diags, "vulkan", "the validation layer: %s", data->pMessage);
  return VK_FALSE;
}

static const VkDebugUtilsMessengerCreateInfoEXT messages = {
    .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
    .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
    .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
    .pfnUserCallback = tell,
};

static bool has_layer(const char *name) {
  VkLayerProperties layers[64];
  uint32_t count = ir_count_of(layers);
  vkEnumerateInstanceLayerProperties(&count, layers);
  for (uint32_t i = 0; i < count; i++) {
    if (!strcmp(layers[i].layerName, name)) return true;
  }
  return false;
}

static bool start_messages(ir_device *device) {
  VkDebugUtilsMessengerCreateInfoEXT info = messages;
  info.pUserData = device;
  PFN_vkCreateDebugUtilsMessengerEXT create = (PFN_vkCreateDebugUtilsMessengerEXT)vkGetInstanceProcAddr(device->instance, "vkCreateDebugUtilsMessengerEXT");
  return create && vk_check(device, create(device->instance, &info, NULL, &device->messenger), "vkCreateDebugUtilsMessengerEXT");
}

/* --- instances --- */

static VkResult make_instance(VkInstance *instance, bool validates) {
  static const char *const layers[] = {validation_layer}, *const extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
  const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .pApplicationName = "rill", .apiVersion = VK_API_VERSION_1_3};
  const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                     .pApplicationInfo = &application,
                                     .enabledLayerCount = validates,
                                     .ppEnabledLayerNames = layers,
                                     .enabledExtensionCount = validates,
                                     .ppEnabledExtensionNames = extensions};
  return vkCreateInstance(&info, NULL, instance);
}

static uint32_t find_devices(VkInstance instance, VkPhysicalDevice *devices) {
  uint32_t count = MOST_DEVICES;
  VkResult result = vkEnumeratePhysicalDevices(instance, &count, devices);
  return result == VK_SUCCESS || result == VK_INCOMPLETE ? count : 0;
}

size_t vk_list(ir_text *out) {
  VkInstance instance;
  VkPhysicalDevice devices[MOST_DEVICES];
  if (make_instance(&instance, false) != VK_SUCCESS) return 0;
  uint32_t count = find_devices(instance, devices);
  for (uint32_t i = 0; i < count; i++) {
    VkPhysicalDeviceProperties properties;
    vkGetPhysicalDeviceProperties(devices[i], &properties);
    ir_text_printf(out, "vulkan %u: %s\n", i, properties.deviceName);
  }
  vkDestroyInstance(instance, NULL);
  return count;
}

static bool open_instance(ir_device *device) {
  const char *wish = getenv("RILL_VULKAN_VALIDATION");
  bool validates = wish && *wish && strcmp(wish, "0") != 0;
  if (validates && !has_layer(validation_layer)) {
    ir_error_in(device->diags, "vulkan", "RILL_VULKAN_VALIDATION is set, but %s is missing (package 'vulkan-validationlayers')", validation_layer);
    return false;
  }
  return vk_check(device, make_instance(&device->instance, validates), "vkCreateInstance") && (!validates || start_messages(device));
}

/* --- devices --- */

static size_t pick(ir_diags *diags, const VkPhysicalDevice *devices, uint32_t count, const char *wanted) {
  VkPhysicalDeviceProperties properties[MOST_DEVICES];
  const char *names[MOST_DEVICES];
  for (uint32_t i = 0; i < count; i++) {
    vkGetPhysicalDeviceProperties(devices[i], &properties[i]);
    names[i] = properties[i].deviceName;
  }
  return wanted ? ir_device_pick(diags, "vulkan", count, names, wanted) : 0;
}

static bool find_family(ir_device *device) {
  VkQueueFamilyProperties families[32];
  uint32_t count = ir_count_of(families);
  vkGetPhysicalDeviceQueueFamilyProperties(device->physical, &count, families);
  for (uint32_t i = 0; i < count; i++) {
    device->family = i;
    if (families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) return true;
  }
  ir_error_in(device->diags, "vulkan", "the device has no queue that computes");
  return false;
}

bool vk_choose(ir_device *device, const char *wanted) {
  if (!open_instance(device)) return false;
  VkPhysicalDevice devices[MOST_DEVICES];
  uint32_t count = find_devices(device->instance, devices);
  if (!count) return ir_error_in(device->diags, "vulkan", "no driver has a device"), false;
  size_t at = pick(device->diags, devices, count, wanted);
  if (at == count) return false;
  device->physical = devices[at];
  VkPhysicalDeviceMaintenance3Properties sizes = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES};
  VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &sizes};
  VkPhysicalDeviceProperties plain;
  vkGetPhysicalDeviceProperties(device->physical, &plain);
  unsigned minor = VK_API_VERSION_MINOR(plain.apiVersion);
  if (VK_API_VERSION_MAJOR(plain.apiVersion) == 1 && minor < 1) {
    ir_error_in(device->diags, "vulkan", "device '%s' has Vulkan 1.%u: 1.1 is needed", plain.deviceName, minor);
    return false;
  }
  vkGetPhysicalDeviceProperties2(device->physical, &properties);
  device->version = minor > 3 || VK_API_VERSION_MAJOR(plain.apiVersion) > 1 ? 3 : minor;
  device->limits = plain.limits;
  device->most_rounds = ir_device_most_rounds(plain.deviceName);
  device->most_bytes = sizes.maxMemoryAllocationSize;
  vkGetPhysicalDeviceMemoryProperties(device->physical, &device->memories);
  return find_family(device);
}

/* --- features --- */

static bool has_extension(const ir_device *device, const char *name) {
  uint32_t count = 0;
  ir_arena arena = {0};
  vkEnumerateDeviceExtensionProperties(device->physical, NULL, &count, NULL);
  VkExtensionProperties *all = ir_new_array(&arena, VkExtensionProperties, count + 1);
  vkEnumerateDeviceExtensionProperties(device->physical, NULL, &count, all);
  bool found = false;
  for (uint32_t i = 0; i < count; i++) found |= !strcmp(all[i].extensionName, name);
  ir_arena_free(&arena);
  return found;
}

/* All false where the device does not know of them. */
static VkPhysicalDeviceFloatControlsProperties float_controls(const ir_device *device) {
  VkPhysicalDeviceFloatControlsProperties controls = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES};
  VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &controls};
  if (device->version > 1 || has_extension(device, VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME)) vkGetPhysicalDeviceProperties2(device->physical, &properties);
  return controls;
}

void vk_float_controls(ir_device *device, bool *rounds_to_even, bool *keeps_denormals) {
  VkPhysicalDeviceFloatControlsProperties controls = float_controls(device);
  VkPhysicalDeviceFeatures features;
  vkGetPhysicalDeviceFeatures(device->physical, &features);
  *rounds_to_even = controls.shaderRoundingModeRTEFloat32 && (!features.shaderFloat64 || controls.shaderRoundingModeRTEFloat64);
  *keeps_denormals = controls.shaderDenormPreserveFloat32 && (!features.shaderFloat64 || controls.shaderDenormPreserveFloat64);
}

/* What a device can do, or is asked to. */
struct features {
  VkPhysicalDeviceFeatures2 all;
  VkPhysicalDevice16BitStorageFeatures words;
  VkPhysicalDevice8BitStorageFeatures bytes;
};

static void link_features(struct features *f, bool has_bytes) {
  f->all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  f->all.pNext = &f->words;
  f->words.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES;
  f->words.pNext = has_bytes ? &f->bytes : NULL;
  f->bytes.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES;
}

/* What capabilities of SPIR-V stand for. */
static const struct feature {
  SpvCapability capability;
  size_t at; /* in struct features */
  const char *name;
} rows[] = {
#define ROW(capability, member, name) {SpvCapability##capability, offsetof(struct features, member.name), #name}
    ROW(Int64, all.features, shaderInt64),
    ROW(Float64, all.features, shaderFloat64),
    ROW(StorageBuffer8BitAccess, bytes, storageBuffer8BitAccess),
    ROW(StorageBuffer16BitAccess, words, storageBuffer16BitAccess),
#undef ROW
};

static bool lacks(ir_device *device, const char *feature) {
  ir_error_in(device->diags, "vulkan", "the device has no %s, which the kernels need", feature);
  return false;
}

static bool ask(ir_device *device, const struct features *has, struct features *want, uint32_t capability) {
  for (size_t i = 0; i < ir_count_of(rows); i++) {
    if ((uint32_t)rows[i].capability != capability) continue;
    if (!*(const VkBool32 *)(const void *)((const char *)has + rows[i].at)) return lacks(device, rows[i].name);
    *(VkBool32 *)(void *)((char *)want + rows[i].at) = VK_TRUE;
  }
  return true;
}

/* Properties, which nobody asks for. */
static bool has_controls(ir_device *device, uint32_t capability, const struct features *want) {
  if (capability != SpvCapabilitySignedZeroInfNanPreserve) return true;
  const VkPhysicalDeviceFloatControlsProperties controls = float_controls(device);
  if (!controls.shaderSignedZeroInfNanPreserveFloat32) return lacks(device, "shaderSignedZeroInfNanPreserveFloat32");
  bool doubles = want->all.features.shaderFloat64;
  return !doubles || controls.shaderSignedZeroInfNanPreserveFloat64 || lacks(device, "shaderSignedZeroInfNanPreserveFloat64");
}

/* The capabilities stand first in a module. */
static bool ask_all(ir_device *device, const struct features *has, struct features *want, const uint32_t *words, size_t count) {
  enum { HEADER = 5 };
  bool fine = true;
  for (int round = 0; round < 2; round++) {
    for (size_t at = HEADER; fine && at < count && (words[at] & SpvOpCodeMask) == SpvOpCapability; at += words[at] >> SpvWordCountShift) {
      fine = round ? has_controls(device, words[at + 1], want) : ask(device, has, want, words[at + 1]);
    }
  }
  return fine;
}

bool vk_open(ir_device *device, const uint32_t *words, size_t count) {
  bool has_bytes = device->version > 1 || has_extension(device, VK_KHR_8BIT_STORAGE_EXTENSION_NAME);
  struct features has = {0}, want = {0};
  link_features(&has, has_bytes);
  link_features(&want, has_bytes);
  vkGetPhysicalDeviceFeatures2(device->physical, &has.all);
  if (!ask_all(device, &has, &want, words, count)) return false;
  want.all.features.robustBufferAccess = has.all.features.robustBufferAccess;
  const char *extensions[2];
  uint32_t extension_count = 0;
  if (device->version == 1 && has_bytes) extensions[extension_count++] = VK_KHR_8BIT_STORAGE_EXTENSION_NAME;
  if (device->version == 1) extensions[extension_count++] = VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME;
  const float priority = 1;
  const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueFamilyIndex = device->family, .queueCount = 1, .pQueuePriorities = &priority};
  const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                   .pNext = &want.all,
                                   .queueCreateInfoCount = 1,
                                   .pQueueCreateInfos = &queue,
                                   .enabledExtensionCount = extension_count,
                                   .ppEnabledExtensionNames = extensions};
  if (!vk_check(device, vkCreateDevice(device->physical, &info, NULL, &device->device), "vkCreateDevice")) return false;
  vkGetDeviceQueue(device->device, device->family, 0, &device->queue);
  return true;
}
