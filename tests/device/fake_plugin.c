/* A device plugin that is not as it should be, by definition: NEWER and OLDER have another table than the library,
 * REFUSES gives none, NO_SYMBOL exports nothing, NO_DRIVER finds no driver, and OTHER_VENDOR says that all memory which
 * begins with the eight letters FAKEFAKE is its own. */
#include <laneway/device.h>
#include <string.h>

#ifndef FAKE_NEWER
#define FAKE_NEWER 0
#endif

static int probe(void) {
#ifdef FAKE_NO_DRIVER
  return LNW_DEVICE_ABSENT;
#else
  return LNW_DEVICE_OK;
#endif
}

static const char* message(int status) {
  return status == LNW_DEVICE_ABSENT ? "there is no fake driver" : "a fake failure";
}

static int memory_at(const void* pointer, lnw_device_memory* memory) {
  memset(memory, 0, sizeof *memory);
  if (memcmp(pointer, "FAKEFAKE", 8) != 0) return LNW_DEVICE_OK;
  memory->kind = LNW_MEMORY_MANAGED;
  memory->base = (void*)pointer;
  memory->bytes = 8;
  return LNW_DEVICE_OK;
}

static const lnw_device_table table = {
    .version = LNW_DEVICE_TABLE_VERSION + FAKE_NEWER,
#ifdef FAKE_OLDER
    .bytes = sizeof(lnw_device_table) - 8,
#else
    .bytes = sizeof(lnw_device_table),
#endif
    .vendor = "fake",
    .probe = probe,
    .message = message,
    .memory_at = memory_at,
};

#ifndef FAKE_NO_SYMBOL
__attribute__((visibility("default")))
#endif
const lnw_device_table*
laneway_device_table(int wanted_version);

const lnw_device_table* laneway_device_table(int wanted_version) {
  (void)wanted_version;
#ifdef FAKE_REFUSES
  return NULL;
#else
  return &table;
#endif
}
