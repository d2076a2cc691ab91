/* Memory of the first device of the plugin that LANEWAY_DEVICE_PLUGINS names, for a Fortran program. */
#include <dlfcn.h>
#include <laneway/device.h>
#include <stdio.h>
#include <stdlib.h>

static const lnw_device_table* table(void) {
  static const lnw_device_table* loaded;
  if (loaded) return loaded;
  void* const library = dlopen(getenv("LANEWAY_DEVICE_PLUGINS"), RTLD_NOW | RTLD_LOCAL);
  const lnw_device_table_function get =
      library ? (lnw_device_table_function)dlsym(library, LNW_DEVICE_TABLE_SYMBOL) : NULL;
  loaded = get ? get(LNW_DEVICE_TABLE_VERSION) : NULL;
  if (loaded) return loaded;
  fprintf(stderr, "FAILED: no device plugin\n");
  exit(1);
}

static void check(int status) {
  if (status == LNW_DEVICE_OK) return;
  fprintf(stderr, "FAILED: %s\n", table()->message(status));
  exit(1);
}

void* device_malloc(size_t bytes) {
  void* pointer = NULL;
  check(table()->device_malloc(0, bytes, &pointer));
  return pointer;
}

void device_free(void* pointer) {
  check(table()->device_free(0, pointer));
}

void device_copy(void* to, const void* from, size_t bytes) {
  check(table()->copy(0, NULL, to, from, bytes));
  check(table()->stream_synchronize(0, NULL));
}
