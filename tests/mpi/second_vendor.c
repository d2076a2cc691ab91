/* A plugin of a vendor whose only device memory is the page at the address in SECOND_VENDOR_MEMORY. */
#include <laneway/device.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int probe(void) {
  return LNW_DEVICE_OK;
}

static const char* message(int status) {
  (void)status;
  return "the second vendor has no driver";
}

static int device_count(int* count) {
  *count = 0;
  return LNW_DEVICE_OK;
}

static int memory_at(const void* pointer, lnw_device_memory* memory) {
  memset(memory, 0, sizeof *memory);
  const char* const text = getenv("SECOND_VENDOR_MEMORY");
  const uintptr_t base = text != NULL ? (uintptr_t)strtoull(text, NULL, 16) : 0;
  const uintptr_t at = (uintptr_t)pointer;
  memory->device = -1;
  if (base == 0 || at < base || at >= base + 8192) return LNW_DEVICE_OK;
  memory->kind = LNW_MEMORY_DEVICE;
  memory->device = 0;
  memory->base = (void*)base;
  memory->bytes = 8192;
  return LNW_DEVICE_OK;
}

__attribute__((visibility("default"))) const lnw_device_table* laneway_device_table(int wanted_version);

const lnw_device_table* laneway_device_table(int wanted_version) {
  static const lnw_device_table table = {
      .version = LNW_DEVICE_TABLE_VERSION,
      .bytes = sizeof(lnw_device_table),
      .vendor = "second",
      .probe = probe,
      .message = message,
      .device_count = device_count,
      .memory_at = memory_at,
  };
  (void)wanted_version;
  return &table;
}
