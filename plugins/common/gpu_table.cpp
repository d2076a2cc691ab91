// The table of functions over a vendor's driver: api.hpp is that of the plugin which is compiled.
#include <laneway/device.h>
#include <laneway/device_kernels.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "api.hpp"
#include "failure.hpp"
#include "gpu_context.hpp"
#include "node.hpp"
#include "program.hpp"

namespace laneway::gpu {

namespace {

lnw_device_memory look_at(const void* pointer) {
  lnw_device_memory memory{};
  memory.device = -1;
  if (api::missing() != nullptr || !api::may_have_memory()) return memory;
  check(api::memory_at(pointer, &memory), "looking at an address");
  if (memory.kind == LNW_MEMORY_DEVICE) {
    const std::lock_guard lock(state().mutex);
    memory.imported = state().imported.count(memory.base) != 0 ? 1 : 0;
  }
  return memory;
}

template <class Allocate>
int allocate(int device, std::size_t bytes, void** pointer, Allocate&& how, const char* what) {
  if (bytes == 0) {
    *pointer = nullptr;
    return LNW_DEVICE_OK;
  }
  return on(device, [&] {
    void* made = nullptr;
    check(how(&made, bytes), what);
    *pointer = made;
  });
}

void check_word(const std::uint64_t* word) {
  if (word == nullptr || reinterpret_cast<std::uintptr_t>(word) % sizeof *word != 0)
    throw Failure(LNW_DEVICE_INVALID, "a flag is a word that is aligned to 8 bytes");
}

// --- the table

int device_info(int device, lnw_device_info* info) {
  return attempt([&] {
    start();
    int devices = 0;
    check(api::count(&devices), "counting devices");
    if (device < 0 || device >= devices)
      throw Failure(LNW_DEVICE_ABSENT,
                    "there is no device " + std::to_string(device) + ": there are " + std::to_string(devices));
    lnw_device_info found{};
    check(api::describe(device, &found), "describing a device");
    found.numa_node = plugin::numa_node_of_pci(found.pci_domain, found.pci_bus, found.pci_device, found.pci_function);
    *info = found;
  });
}

int device_count(int* count) {
  return attempt([&] {
    *count = 0;
    if (api::missing() != nullptr || api::status_of(api::start()) == LNW_DEVICE_ABSENT) return;
    start();
    const api::Error error = api::count(count);
    if (api::status_of(error) == LNW_DEVICE_ABSENT) return;
    check(error, "counting devices");
  });
}

int find_link(const lnw_device_info* a, const lnw_device_info* b, lnw_device_link* link) {
  return attempt([&] {
    start();
    lnw_device_link found{0, -1, 0, 0};
    int devices = 0;
    check(api::count(&devices), "counting devices");
    int first = -1;
    int second = -1;
    for (int device = 0; device < devices; ++device) {
      lnw_device_info info{};
      check(api::describe(device, &info), "describing a device");
      if (std::memcmp(info.uuid, a->uuid, sizeof info.uuid) == 0) first = device;
      if (std::memcmp(info.uuid, b->uuid, sizeof info.uuid) == 0) second = device;
    }
    const bool same = std::memcmp(a->uuid, b->uuid, sizeof a->uuid) == 0;
    int access = same ? 1 : 0;
    if (!same && first >= 0 && second >= 0) check(api::can_access(&access, first, second), "asking for peer access");
    if (!api::find_link(*a, *b, &found))
      throw Failure(LNW_DEVICE_UNSUPPORTED, "the vendor's management library is missing, or does not know the devices");
    if (same) found.hops = 0;
    found.peer_access = access;
    *link = found;
  });
}

int peer_enable(int device, int peer) {
  return on(device, [&] {
    if (device == peer) return;
    int access = 0;
    check(api::can_access(&access, device, peer), "asking for peer access");
    if (access == 0)
      throw Failure(LNW_DEVICE_UNSUPPORTED,
                    "device " + std::to_string(device) + " cannot address memory of device " + std::to_string(peer));
    check(api::enable_access(peer), "enabling peer access");
  });
}

int copy_rows(int device, lnw_device_stream stream, const lnw_device_rows* rows, std::size_t count) {
  return on(device, [&] {
    for (std::size_t i = 0; i < count; ++i) {
      const lnw_device_rows& one = rows[i];
      if (one.bytes == 0 || one.count == 0) continue;
      const auto width = static_cast<std::int64_t>(one.bytes);
      if (one.count > 1 && one.to_stride == width && one.from_stride == width) {
        check(api::copy(as_stream(stream), one.to, one.from, one.bytes * one.count), "copying");
      } else if (one.count > 1 && one.to_stride >= width && one.from_stride >= width) {
        check(api::copy_rows(as_stream(stream), one), "copying rows");
      } else {
        for (std::uint64_t row = 0; row < one.count; ++row) {
          const auto number = static_cast<std::int64_t>(row);
          check(api::copy(as_stream(stream), static_cast<char*>(one.to) + number * one.to_stride,
                          static_cast<const char*>(one.from) + number * one.from_stride, one.bytes),
                "copying a row");
        }
      }
    }
  });
}

/// Of the current device.
std::unique_ptr<lnw_device_moves_s> make_moves(int device, const Kernels& known, const Program& program) {
  auto made = std::make_unique<lnw_device_moves_s>();
  made->device = device;
  made->bases = program.bases;
  made->tile_count = static_cast<std::uint32_t>(program.tiles.size());
  if (made->tile_count == 0) return made;
  const std::size_t tile_bytes = program.tiles.size() * sizeof(Tile);
  const std::size_t index_bytes = program.index.size() * sizeof(std::uint32_t);
  void* memory = nullptr;
  check(api::device_malloc(&memory, tile_bytes + index_bytes), "allocating the runs");
  made->tiles = static_cast<Tile*>(memory);
  made->index = reinterpret_cast<std::uint32_t*>(static_cast<char*>(memory) + tile_bytes);
  try {
    check(api::copy(known.upload, made->tiles, program.tiles.data(), tile_bytes), "copying the runs");
    if (index_bytes > 0)
      check(api::copy(known.upload, made->index, program.index.data(), index_bytes), "copying the runs");
    check(api::stream_synchronize(known.upload), "copying the runs");
  } catch (...) {
    (void)api::device_free(memory);
    throw;
  }
  return made;
}

int moves_create(int device, const lnw_device_run* runs, std::size_t count, lnw_device_moves* moves) {
  return on(device, [&] {
    const Kernels& known = kernels(device);
    *moves = make_moves(device, known, compile({runs, count}, known.warps)).release();
  });
}

int combine_create(int device, int operation, int number, const lnw_device_run* runs, std::size_t count,
                   lnw_device_moves* moves) {
  return on(device, [&] {
    constexpr std::array<std::int64_t, LNW_DEVICE_UINT16 + 1> bytes = {4, 4, 8, 8, 4, 8, 1, 1, 2, 2};
    const bool is_real = number == LNW_DEVICE_FLOAT32 || number == LNW_DEVICE_FLOAT64;
    if (operation < LNW_DEVICE_SUM || operation > (is_real ? LNW_DEVICE_PROD : LNW_DEVICE_BXOR) ||
        number < LNW_DEVICE_INT32 || number > LNW_DEVICE_UINT16)
      throw Failure(LNW_DEVICE_UNSUPPORTED, "no kernel combines such numbers");
    const Kernels& known = kernels(device);
    auto made =
        make_moves(device, known, compile_numbers({runs, count}, known.warps, bytes[static_cast<std::size_t>(number)]));
    made->operation = operation;
    made->number = number;
    *moves = made.release();
  });
}

int moves_destroy(lnw_device_moves moves) {
  if (moves == nullptr) return LNW_DEVICE_OK;
  const std::unique_ptr<lnw_device_moves_s> owner(moves);
  if (moves->tiles == nullptr) return LNW_DEVICE_OK;
  return on(moves->device, [&] { check(api::device_free(moves->tiles), "freeing the runs"); });
}

int moves_launch(lnw_device_moves moves, lnw_device_stream stream, void* const* bases, std::size_t base_count) {
  if (moves->tile_count == 0) return LNW_DEVICE_OK;
  return on(moves->device, [&] {
    if (base_count < moves->bases || base_count > LNW_DEVICE_BASES)
      throw Failure(LNW_DEVICE_INVALID, "runs are relative to " + std::to_string(moves->bases) + " bases, and " +
                                            std::to_string(base_count) + " are given");
    const Kernels& known = kernels(moves->device);
    Bases given{};
    for (std::size_t base = 0; base < base_count; ++base) given.at[base] = static_cast<char*>(bases[base]);
    const unsigned tiles_of_block = block_threads / known.warp_threads;
    std::array<void*, 6> arguments = {&moves->tiles, &moves->index,     &moves->tile_count,
                                      &given,        &moves->operation, &moves->number};
    const api::Function kernel = moves->operation < 0 ? known.moves : known.combine;
    check(api::launch(kernel, (moves->tile_count + tiles_of_block - 1) / tiles_of_block, block_threads,
                      as_stream(stream), arguments.data()),
          "launching moves");
  });
}

int ipc_memory_get(int device, const void* pointer, lnw_ipc_memory* memory) {
  return on(device, [&] {
    const lnw_device_memory found = look_at(pointer);
    if (found.kind != LNW_MEMORY_DEVICE || found.imported != 0)
      throw Failure(LNW_DEVICE_UNSUPPORTED, "only this process's device memory can be shared");
    lnw_ipc_memory made{};
    lnw_device_info info{};
    check(api::describe(found.device, &info), "describing a device");
    std::memcpy(made.device_uuid, info.uuid, sizeof made.device_uuid);
    check(api::ipc_memory_get(made.handle, found.base), "sharing memory");
    made.buffer_id = found.buffer_id;
    made.base = reinterpret_cast<std::uintptr_t>(found.base);
    made.bytes = found.bytes;
    made.offset = static_cast<std::uint64_t>(static_cast<const char*>(pointer) - static_cast<const char*>(found.base));
    made.process = getpid();
    made.process_began_at = plugin::process_began_at();
    *memory = made;
  });
}

int ipc_memory_open(int device, const lnw_ipc_memory* memory, void** base) {
  return on(device, [&] {
    if (memory->process == getpid()) throw Failure(LNW_DEVICE_INVALID, "it is of this process");
    void* opened = nullptr;
    check(api::ipc_memory_open(&opened, memory->handle), "opening memory of another process");
    const std::lock_guard lock(state().mutex);
    state().imported.insert(opened);
    *base = opened;
  });
}

int ipc_memory_close(int device, void* base) {
  return on(device, [&] {
    {
      const std::lock_guard lock(state().mutex);
      state().imported.erase(base);
    }
    check(api::ipc_memory_close(base), "closing memory of another process");
  });
}

int event_create(int device, int flags, lnw_device_event* event) {
  const bool timed = (flags & LNW_DEVICE_EVENT_TIMED) != 0;
  const bool shared = (flags & LNW_DEVICE_EVENT_SHARED) != 0;
  if (timed && shared) return plugin::fail(LNW_DEVICE_INVALID, "an event is timed or shared, not both");
  return on(device, [&] {
    api::Event made{};
    check(api::event_create(&made, timed, shared), "creating an event");
    *event = made;
  });
}

int event_elapsed(lnw_device_event begin, lnw_device_event end, double* seconds) {
  return attempt([&]() -> int {
    start();
    float milliseconds = 0;
    const api::Error error = api::event_elapsed(&milliseconds, as_event(begin), as_event(end));
    if (api::status_of(error) == LNW_DEVICE_NOT_READY) return LNW_DEVICE_NOT_READY;
    check(error, "reading events");
    *seconds = static_cast<double>(milliseconds) * 1e-3;
    return LNW_DEVICE_OK;
  });
}

int flag_malloc(int device, std::size_t count, std::uint64_t** words) {
  return on(device, [&] {
    void* memory = nullptr;
    check(api::host_malloc(&memory, count * 64), "allocating flags");
    std::memset(memory, 0, count * 64);
    *words = static_cast<std::uint64_t*>(memory);
  });
}

template <class Call>
int put_value(int device, lnw_device_stream stream, std::uint64_t* word, std::uint64_t value, Call&& call,
              api::Function Kernels::*kernel) {
  return on(device, [&] {
    check_word(word);
    const Kernels& known = kernels(device);
    if (known.has_stream_values) return check(call(as_stream(stream), word, value), "a flag of a stream");
    std::array<void*, 2> arguments = {&word, &value};
    check(api::launch(known.*kernel, 1, 1, as_stream(stream), arguments.data()), "a flag of a stream");
  });
}

// --- the extension

/// With a thread for each of `count` numbers.
void launch_each(api::Function function, std::uint64_t count, lnw_device_stream stream, void** arguments) {
  if (count == 0) return;
  const std::uint64_t blocks = (count + block_threads - 1) / block_threads;
  if (blocks > most_blocks) throw Failure(LNW_DEVICE_INVALID, "so many numbers need more threads than a kernel has");
  check(api::launch(function, static_cast<unsigned>(blocks), block_threads, as_stream(stream), arguments),
        "launching a kernel");
}

int multiply(int device, lnw_device_stream stream, const lnw_device_csr* matrix, const double* x, double* y,
             int width) {
  return on(device, [&] {
    if (matrix->rows < 0 || width < 1) throw Failure(LNW_DEVICE_INVALID, "a product of a negative size");
    lnw_device_csr a = *matrix;
    auto columns = static_cast<unsigned>(width);
    std::array<void*, 7> arguments = {&a.rows, &a.row_begin, &a.column, &a.value, &x, &y, &columns};
    launch_each(kernels(device).multiply, static_cast<std::uint64_t>(a.rows) * columns, stream, arguments.data());
  });
}

int move_elements(int device, lnw_device_stream stream, std::uint64_t* to, const std::uint32_t* to_index,
                  const std::uint64_t* from, const std::uint32_t* from_index, std::size_t count) {
  return on(device, [&] {
    std::uint64_t elements = count;
    std::array<void*, 5> arguments = {&to, &to_index, &from, &from_index, &elements};
    launch_each(kernels(device).move_elements, elements, stream, arguments.data());
  });
}

constexpr lnw_device_kernels extension_table = {.multiply = multiply, .move_elements = move_elements};
constexpr lnw_device_combine combine_table = {.create = combine_create};

// --- the table itself

constexpr lnw_device_table table = {
    .version = LNW_DEVICE_TABLE_VERSION,
    .bytes = sizeof(lnw_device_table),
    .vendor = api::vendor,
    .probe = [] { return api::missing() == nullptr ? LNW_DEVICE_OK : plugin::fail(LNW_DEVICE_ABSENT, api::missing()); },
    .message = plugin::message,
    .device_count = device_count,
    .device_info = device_info,
    .current_device =
        [](int* device) {
          return attempt([&] {
            start();
            check(api::current(device), "asking for the current device");
          });
        },
    .link = find_link,
    .peer_enable = peer_enable,
    .memory_at = [](const void* pointer,
                    lnw_device_memory* memory) { return attempt([&] { *memory = look_at(pointer); }); },
    .device_malloc =
        [](int device, std::size_t bytes, void** pointer) {
          return allocate(device, bytes, pointer, api::device_malloc, "allocating device memory");
        },
    .device_free =
        [](int device, void* pointer) {
          return pointer == nullptr ? LNW_DEVICE_OK
                                    : on(device, [&] { check(api::device_free(pointer), "freeing device memory"); });
        },
    .managed_malloc =
        [](int device, std::size_t bytes, void** pointer) {
          return allocate(device, bytes, pointer, api::managed_malloc, "allocating managed memory");
        },
    .host_malloc =
        [](int device, std::size_t bytes, void** pointer) {
          return allocate(device, bytes, pointer, api::host_malloc, "allocating pinned memory");
        },
    .host_free =
        [](int device, void* pointer) {
          return pointer == nullptr ? LNW_DEVICE_OK
                                    : on(device, [&] { check(api::host_free(pointer), "freeing pinned memory"); });
        },
    .host_register =
        [](int device, void* pointer, std::size_t bytes) {
          return on(device, [&] { check(api::host_register(device, pointer, bytes), "registering memory"); });
        },
    .host_unregister =
        [](int device, void* pointer) {
          return on(device, [&] { check(api::host_unregister(pointer), "unregistering memory"); });
        },
    .stream_create =
        [](int device, int urgent, lnw_device_stream* stream) {
          return on(device, [&] {
            api::Stream made{};
            check(api::stream_create(&made, urgent != 0), "creating a stream");
            *stream = made;
          });
        },
    .stream_destroy =
        [](int device, lnw_device_stream stream) {
          return on(device, [&] { check(api::stream_destroy(as_stream(stream)), "destroying a stream"); });
        },
    .stream_synchronize =
        [](int device, lnw_device_stream stream) {
          return on(device, [&] { check(api::stream_synchronize(as_stream(stream)), "waiting for a stream"); });
        },
    .stream_query =
        [](int device, lnw_device_stream stream) {
          return call_on(device, "asking a stream", [&] { return api::stream_query(as_stream(stream)); });
        },
    .stream_is_capturing =
        [](int device, lnw_device_stream stream, int* capturing) {
          return on(device, [&] {
            bool is = false;
            check(api::stream_is_capturing(as_stream(stream), &is), "asking a stream");
            *capturing = is ? 1 : 0;
          });
        },
    .stream_device =
        [](lnw_device_stream stream, int* device) {
          return attempt([&] {
            start();
            check(api::stream_device(as_stream(stream), device), "asking for the device of a stream");
          });
        },
    .event_create = event_create,
    .event_destroy =
        [](int device, lnw_device_event event) {
          return on(device, [&] { check(api::event_destroy(as_event(event)), "destroying an event"); });
        },
    .event_record =
        [](int device, lnw_device_event event, lnw_device_stream stream) {
          return on(device,
                    [&] { check(api::event_record(as_event(event), as_stream(stream)), "recording an event"); });
        },
    .stream_wait_event =
        [](int device, lnw_device_stream stream, lnw_device_event event) {
          return on(device,
                    [&] { check(api::stream_wait_event(as_stream(stream), as_event(event)), "waiting for an event"); });
        },
    .event_query =
        [](int device, lnw_device_event event) {
          return call_on(device, "asking an event", [&] { return api::event_query(as_event(event)); });
        },
    .event_synchronize =
        [](int device, lnw_device_event event) {
          return on(device, [&] { check(api::event_synchronize(as_event(event)), "waiting for an event"); });
        },
    .event_elapsed = event_elapsed,
    .host_call =
        [](int device, lnw_device_stream stream, void (*function)(void*), void* argument) {
          return on(device, [&] { check(api::host_call(as_stream(stream), function, argument), "calling the host"); });
        },
    .copy =
        [](int device, lnw_device_stream stream, void* to, const void* from, std::size_t bytes) {
          return bytes == 0 ? LNW_DEVICE_OK
                            : on(device, [&] { check(api::copy(as_stream(stream), to, from, bytes), "copying"); });
        },
    .copy_rows = copy_rows,
    .fill =
        [](int device, lnw_device_stream stream, void* to, unsigned char value, std::size_t bytes) {
          return bytes == 0 ? LNW_DEVICE_OK
                            : on(device, [&] { check(api::fill(as_stream(stream), to, value, bytes), "filling"); });
        },
    .moves_create = moves_create,
    .moves_destroy = moves_destroy,
    .moves_launch = moves_launch,
    .ipc_memory_get = ipc_memory_get,
    .ipc_memory_open = ipc_memory_open,
    .ipc_memory_close = ipc_memory_close,
    .ipc_event_get =
        [](int device, lnw_device_event event, lnw_ipc_event* shared) {
          return on(device, [&] {
            lnw_ipc_event made{};
            check(api::ipc_event_get(made.handle, as_event(event)), "sharing an event");
            made.process = getpid();
            *shared = made;
          });
        },
    .ipc_event_open =
        [](int device, const lnw_ipc_event* shared, lnw_device_event* event) {
          return on(device, [&] {
            api::Event opened{};
            check(api::ipc_event_open(&opened, shared->handle), "opening an event of another process");
            *event = opened;
          });
        },
    .flag_malloc = flag_malloc,
    .flag_free =
        [](int device, std::uint64_t* words) {
          return words == nullptr ? LNW_DEVICE_OK : on(device, [&] { check(api::host_free(words), "freeing flags"); });
        },
    .write_value =
        [](int device, lnw_device_stream stream, std::uint64_t* word, std::uint64_t value) {
          return put_value(device, stream, word, value, api::write_value, &Kernels::write);
        },
    .wait_value =
        [](int device, lnw_device_stream stream, std::uint64_t* word, std::uint64_t value) {
          return put_value(device, stream, word, value, api::wait_value, &Kernels::wait);
        },
    .extension = [](const char* name) -> const void* {
      if (std::strcmp(name, LNW_DEVICE_COMBINE_EXTENSION) == 0) return &combine_table;
      return std::strcmp(name, LNW_DEVICE_KERNELS_EXTENSION) == 0 ? &extension_table : nullptr;
    },
};

}  // namespace

}  // namespace laneway::gpu

extern "C" __attribute__((visibility("default"))) const lnw_device_table* laneway_device_table(int) {
  return &laneway::gpu::table;
}
