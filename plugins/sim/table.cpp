// The sim device's functions. Device memory is a file of memfd_create that is mapped twice: where the user has it
// nobody may touch it, and only the code here knows the other place.
#include <laneway/device.h>
#include <laneway/sim_device.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <vector>

#include "kernels.hpp"
#include "sim.hpp"

namespace laneway::sim {

namespace {

/// The way of a copy.
struct Way {
  const Rate Settings::*rate;
  std::uint64_t lnw_sim_counters::*count;
  std::uint64_t lnw_sim_counters::*bytes;
  const char* engine;
  int device;
};

Way way_of(int device, const void* to, const void* from) {
  const auto device_of = [](const void* pointer) {
    const auto found = sim().memory.find(pointer);
    return found && found->kind == LNW_MEMORY_DEVICE ? found->device : -1;
  };
  const int target = device_of(to);
  const int source = device_of(from);
  using Counters = lnw_sim_counters;
  if (target < 0 && source < 0)
    return {&Settings::device_to_device, &Counters::host_to_host, &Counters::host_to_host_bytes, "h2h", device};
  if (source < 0)
    return {&Settings::host_to_device, &Counters::host_to_device, &Counters::host_to_device_bytes, "h2d", target};
  if (target < 0)
    return {&Settings::device_to_host, &Counters::device_to_host, &Counters::device_to_host_bytes, "d2h", source};
  if (target == source)
    return {&Settings::device_to_device, &Counters::device_to_device, &Counters::device_to_device_bytes, "d2d", target};
  return {&Settings::peer, &Counters::peer, &Counters::peer_bytes, "peer", source};
}

void count_copy(const Way& way, std::size_t bytes) {
  const std::lock_guard lock(sim().mutex);
  ++(sim().counters.*way.count);
  sim().counters.*way.bytes += bytes;
}

void copy_in_parts(Stream& stream, std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::size_t parts = 4;
  if (!stream.reorders() || bytes < 64 * parts) {
    std::memmove(to, from, bytes);
    return;
  }
  std::array<std::size_t, parts> order{};
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), stream.random());
  for (const std::size_t part : order) {
    const std::size_t begin = bytes * part / parts;
    const std::size_t end = bytes * (part + 1) / parts;
    std::memcpy(to + begin, from + begin, end - begin);
    if (part == order[1]) stream.hesitate();
  }
}

bool overlap(const std::byte* a, const std::byte* b, std::size_t bytes) {
  return a < b + bytes && b < a + bytes;
}

void run_copy(Stream& stream, void* to, const void* from, std::size_t bytes) {
  std::byte* const target = sim().memory.accessible(to, bytes);
  const std::byte* const source = sim().memory.accessible(from, bytes);
  if (overlap(target, source, bytes)) {
    std::memmove(target, source, bytes);
    return;
  }
  spoil(stream, target, bytes);
  copy_in_parts(stream, target, source, bytes);
}

void for_each_row(const lnw_device_rows& rows, auto&& body) {
  for (std::uint64_t row = 0; row < rows.count; ++row) {
    const auto i = static_cast<std::int64_t>(row);
    body(static_cast<std::byte*>(rows.to) + i * rows.to_stride,
         static_cast<const std::byte*>(rows.from) + i * rows.from_stride);
  }
}

// --- events

/// What another process opens an event by.
struct EventHandle {
  std::int64_t descriptor;
  std::uint64_t token;
};

std::shared_ptr<Event> add_event(std::shared_ptr<Event> event) {
  Sim& s = sim();
  const std::lock_guard lock(s.mutex);
  s.events[event.get()] = event;
  return event;
}

bool complete(const Event& event) {
  return event.words->completed.load(std::memory_order_acquire) >= event.words->recorded.load();
}

void check_word(const std::uint64_t* word) {
  if (word == nullptr || reinterpret_cast<std::uintptr_t>(word) % sizeof *word != 0)
    throw Failure(LNW_DEVICE_INVALID, "a flag is a word that is aligned to 8 bytes");
  if (!sim().memory.find(word))
    throw Failure(LNW_DEVICE_INVALID, "a flag has to be in pinned memory or that of a device");
}

std::uint64_t& accessible_word(std::uint64_t* word) {
  return *reinterpret_cast<std::uint64_t*>(sim().memory.accessible(word, sizeof *word));
}

// --- the table

int probe() {
  if (sim().wrong_settings.empty()) return LNW_DEVICE_OK;
  return plugin::fail(LNW_DEVICE_FAILED, sim().wrong_settings.c_str());
}

int device_info(int device, lnw_device_info* info) {
  return attempt([&] {
    check_device(device);
    const Settings& settings = sim().settings;
    *info = {};
    std::snprintf(info->name, sizeof info->name, "Laneway sim device %d", device);
    write_uuid(device, info->uuid);
    info->pci_domain = info->pci_bus = info->pci_device = info->pci_function = -1;
    if (!settings.buses.empty()) {
      info->pci_domain = info->pci_device = info->pci_function = 0;
      info->pci_bus = settings.buses[static_cast<std::size_t>(device)];
    }
    info->numa_node = -1;
    info->features = settings.features;
    info->processors = 4;
    info->copy_engines = 2;
    info->memory_bytes = settings.memory_bytes;
  });
}

int number_of(const lnw_device_info& info) {
  for (int device = 0; device < sim().settings.devices; ++device) {
    unsigned char uuid[16];
    write_uuid(device, uuid);
    if (std::memcmp(uuid, info.uuid, sizeof uuid) == 0) return device;
  }
  throw Failure(LNW_DEVICE_ABSENT, "there is no sim device of this uuid on this node");
}

int link(const lnw_device_info* a, const lnw_device_info* b, lnw_device_link* link) {
  return attempt([&] {
    const auto from = static_cast<std::size_t>(number_of(*a));
    const auto to = static_cast<std::size_t>(number_of(*b));
    const Settings& settings = sim().settings;
    link->links = settings.links[from][to];
    link->hops = settings.hops[from][to];
    link->bytes_per_second =
        link->hops > 0 ? settings.link_bytes_per_second * std::max(link->links, 1) : settings.peer.bytes_per_second;
    link->peer_access = 1;
  });
}

int allocate(lnw_memory_kind kind, int device, std::size_t bytes, void** pointer) {
  return attempt([&] {
    check_device(device);
    if (kind == LNW_MEMORY_MANAGED && (sim().settings.features & LNW_DEVICE_HAS_MANAGED) == 0)
      throw Failure(LNW_DEVICE_UNSUPPORTED, "this sim device has no managed memory");
    *pointer = sim().memory.allocate(kind, device, bytes);
  });
}

int release(void* pointer, bool device_memory) {
  return try_anyway([&] { sim().memory.free(pointer, device_memory); });
}

void need(std::uint32_t feature, const char* what) {
  if ((sim().settings.features & feature) == 0)
    throw Failure(LNW_DEVICE_UNSUPPORTED, std::string("this sim device has no ") + what);
}

int memory_at(const void* pointer, lnw_device_memory* memory) {
  return attempt([&] {
    *memory = {};
    memory->device = -1;
    const auto found = sim().memory.find(pointer);
    if (!found) return;
    *memory = {found->kind, found->device, found->base, found->bytes, found->buffer_id, found->imported ? 1 : 0};
  });
}

int copy(int device, lnw_device_stream stream, void* to, const void* from, std::size_t bytes) {
  return attempt([&] {
    if (bytes == 0) return;
    (void)sim().memory.accessible(to, bytes);
    (void)sim().memory.accessible(from, bytes);
    const Way way = way_of(device, to, from);
    put(device, stream, [=](Stream& in) {
      run_copy(in, to, from, bytes);
      take_time(rate_of(way.rate), way.device, way.engine, bytes);
    });
    count_copy(way, bytes);
  });
}

int copy_rows(int device, lnw_device_stream stream, const lnw_device_rows* rows, std::size_t count) {
  return attempt([&] {
    std::vector<lnw_device_rows> all(rows, rows + count);
    std::erase_if(all, [](const lnw_device_rows& one) { return one.bytes == 0 || one.count == 0; });
    if (all.empty()) return;
    for (const lnw_device_rows& one : all) {
      for_each_row(one, [&](std::byte* to, const std::byte* from) {
        (void)sim().memory.accessible(to, one.bytes);
        (void)sim().memory.accessible(from, one.bytes);
      });
      count_copy(way_of(device, one.to, one.from), one.bytes * one.count);
    }
    put(device, stream, [=](Stream& in) mutable {
      if (in.reorders()) std::shuffle(all.begin(), all.end(), in.random());
      for (const lnw_device_rows& one : all) {
        for_each_row(one, [&](std::byte* to, const std::byte* from) { run_copy(in, to, from, one.bytes); });
        const Way way = way_of(device, one.to, one.from);
        take_time(rate_of(way.rate), way.device, way.engine, one.bytes * one.count);
      }
    });
  });
}

int fill(int device, lnw_device_stream stream, void* to, unsigned char value, std::size_t bytes) {
  return attempt([&] {
    if (bytes == 0) return;
    (void)sim().memory.accessible(to, bytes);
    put(device, stream, [=](Stream&) { std::memset(sim().memory.accessible(to, bytes), value, bytes); });
  });
}

int stream_destroy(int device, lnw_device_stream handle) {
  return try_anyway([&] {
    const auto stream = find_stream(device, handle);
    stream->end();
    const std::lock_guard lock(sim().mutex);
    sim().streams.erase(handle);
  });
}

int stream_synchronize(int device, lnw_device_stream handle) {
  return attempt([&] {
    find_stream(device, handle)->synchronize();
    check_earlier_work();
    const std::lock_guard lock(sim().mutex);
    ++sim().counters.stream_synchronizes;
  });
}

int stream_device(lnw_device_stream handle, int* device) {
  return attempt([&] {
    if (handle == nullptr) {
      *device = chosen_device();
      return;
    }
    const std::lock_guard lock(sim().mutex);
    const auto found = sim().streams.find(handle);
    if (found == sim().streams.end()) throw Failure(LNW_DEVICE_INVALID, "there is no such stream");
    *device = found->second->device();
  });
}

int event_create(int device, int flags, lnw_device_event* event) {
  return attempt([&] {
    check_device(device);
    if ((flags & LNW_DEVICE_EVENT_SHARED) != 0) {
      need(LNW_DEVICE_HAS_IPC_EVENTS, "events that processes share");
      if ((flags & LNW_DEVICE_EVENT_TIMED) != 0)
        throw Failure(LNW_DEVICE_INVALID, "an event is timed or shared, not both");
    }
    auto made = std::make_shared<Event>();
    made->device = device;
    made->flags = flags;
    if ((flags & LNW_DEVICE_EVENT_SHARED) != 0) {
      made->token = new_token();
      made->descriptor = make_shared(sizeof(EventWords), made->token);
      made->words = new (map_shared(made->descriptor, sizeof(EventWords))) EventWords;
    }
    *event = add_event(made).get();
  });
}

int event_destroy(int, lnw_device_event handle) {
  return try_anyway([&] {
    const auto event = find_event(handle);
    const std::lock_guard lock(sim().mutex);
    sim().events.erase(handle);
  });
}

int event_record(int device, lnw_device_event handle, lnw_device_stream stream) {
  return attempt([&] {
    const auto event = find_event(handle);
    const auto target = find_stream(device, stream);
    check_records_no_graph(*target);
    {
      const std::lock_guard lock(sim().mutex);
      event->recorded_in = target;
      event->recorded_after = target->put_so_far();
    }
    if (drops_dependency(event.get())) return;
    const std::uint64_t number = ++event->words->recorded;
    target->put([event, number](Stream&) {
      event->completed_at = Seconds(std::chrono::steady_clock::now().time_since_epoch()).count();
      std::uint64_t before = event->words->completed;
      while (before < number && !event->words->completed.compare_exchange_weak(before, number)) {
      }
    });
  });
}

int stream_wait_event(int device, lnw_device_stream stream, lnw_device_event handle) {
  return attempt([&] {
    const auto event = find_event(handle);
    (void)find_stream(device, stream);
    if (drops_dependency(event.get())) return;
    const std::uint64_t number = event->words->recorded;
    put(device, stream, [event, number](Stream&) { wait_until(event->words->completed, number); });
  });
}

int event_query(int, lnw_device_event handle) {
  return attempt([&]() -> int { return complete(*find_event(handle)) ? LNW_DEVICE_OK : LNW_DEVICE_NOT_READY; });
}

int event_synchronize(int, lnw_device_event handle) {
  return attempt([&] {
    const auto event = find_event(handle);
    if (!drops_dependency(event.get())) wait_until(event->words->completed, event->words->recorded);
    check_earlier_work();
    const std::lock_guard lock(sim().mutex);
    ++sim().counters.event_synchronizes;
  });
}

int event_elapsed(lnw_device_event begin, lnw_device_event end, double* seconds) {
  return attempt([&]() -> int {
    const auto first = find_event(begin);
    const auto last = find_event(end);
    if ((first->flags & last->flags & LNW_DEVICE_EVENT_TIMED) == 0)
      throw Failure(LNW_DEVICE_INVALID, "the events are not timed");
    if (!complete(*first) || !complete(*last)) return LNW_DEVICE_NOT_READY;
    *seconds = last->completed_at - first->completed_at;
    return LNW_DEVICE_OK;
  });
}

int host_call(int device, lnw_device_stream stream, void (*function)(void*), void* argument) {
  return attempt([&] {
    put(device, stream, [=](Stream&) {
      in_host_call() = true;
      function(argument);
      in_host_call() = false;
    });
  });
}

int ipc_memory_open(int device, const lnw_ipc_memory* memory, void** base) {
  return attempt([&] {
    check_device(device);
    need(LNW_DEVICE_HAS_IPC_MEMORY, "memory that processes share");
    *base = sim().memory.open(*memory);
    const std::lock_guard lock(sim().mutex);
    ++sim().counters.memory_mappings_opened;
  });
}

int ipc_memory_close(int, void* base) {
  return try_anyway([&] {
    sim().memory.close(base);
    const std::lock_guard lock(sim().mutex);
    ++sim().counters.memory_mappings_closed;
  });
}

int ipc_event_get(int, lnw_device_event handle, lnw_ipc_event* shared) {
  return attempt([&] {
    const auto event = find_event(handle);
    if ((event->flags & LNW_DEVICE_EVENT_SHARED) == 0) throw Failure(LNW_DEVICE_INVALID, "the event is not shared");
    *shared = {};
    const EventHandle wire{event->descriptor, event->token};
    std::memcpy(shared->handle, &wire, sizeof wire);
    shared->process = getpid();
  });
}

int ipc_event_open(int device, const lnw_ipc_event* shared, lnw_device_event* event) {
  return attempt([&] {
    check_device(device);
    need(LNW_DEVICE_HAS_IPC_EVENTS, "events that processes share");
    EventHandle wire{};
    std::memcpy(&wire, shared->handle, sizeof wire);
    auto opened = std::make_shared<Event>();
    opened->device = device;
    opened->token = wire.token;
    opened->descriptor = open_shared(shared->process, wire.descriptor, wire.token);
    opened->words = reinterpret_cast<EventWords*>(map_shared(opened->descriptor, sizeof(EventWords)));
    *event = add_event(opened).get();
  });
}

int flag_malloc(int device, std::size_t count, std::uint64_t** words) {
  return attempt([&] {
    check_device(device);
    *words = reinterpret_cast<std::uint64_t*>(sim().memory.allocate(LNW_MEMORY_PINNED, device, count * 64));
  });
}

/// A device whose streams do not write and wait by themselves runs a kernel of one thread.
void count_kernel_of_word() {
  if ((sim().settings.features & LNW_DEVICE_HAS_STREAM_VALUES) != 0) return;
  const std::lock_guard lock(sim().mutex);
  ++sim().counters.kernels;
}

int write_value(int device, lnw_device_stream stream, std::uint64_t* word, std::uint64_t value) {
  return attempt([&] {
    check_word(word);
    put(device, stream, [=](Stream&) { __atomic_store_n(&accessible_word(word), value, __ATOMIC_RELEASE); });
    count_kernel_of_word();
  });
}

int wait_value(int device, lnw_device_stream stream, std::uint64_t* word, std::uint64_t value) {
  return attempt([&] {
    check_word(word);
    (void)find_stream(device, stream);
    if (drops_dependency(nullptr)) return;
    put(device, stream, [=](Stream&) { wait_until(accessible_word(word), value); });
    count_kernel_of_word();
  });
}

// --- the extensions

int set_capturing(lnw_device_stream handle, bool capturing) {
  return attempt([&] {
    int device = 0;
    if (stream_device(handle, &device) != LNW_DEVICE_OK) throw Failure(LNW_DEVICE_INVALID, "there is no such stream");
    find_stream(device, handle)->capturing = capturing;
  });
}

std::shared_ptr<Stream> any_stream(lnw_device_stream handle) {
  int device = 0;
  if (stream_device(handle, &device) != LNW_DEVICE_OK) throw Failure(LNW_DEVICE_INVALID, "there is no such stream");
  return find_stream(device, handle);
}

using Graph = std::vector<Stream::Work>;

constexpr lnw_sim_graphs graphs_table = {
    .begin =
        [](lnw_device_stream handle) {
          return attempt([&] {
            const auto stream = any_stream(handle);
            if (stream->recorded != nullptr) throw Failure(LNW_DEVICE_INVALID, "the stream records a graph already");
            stream->recorded = std::make_shared<Graph>();
          });
        },
    .end =
        [](lnw_device_stream handle, void** graph) {
          return attempt([&] {
            const auto stream = any_stream(handle);
            if (stream->recorded == nullptr) throw Failure(LNW_DEVICE_INVALID, "the stream records no graph");
            *graph = new Graph(std::move(*stream->recorded));
            stream->recorded.reset();
          });
        },
    .launch =
        [](void* graph, lnw_device_stream handle) {
          return attempt([&] {
            const auto stream = any_stream(handle);
            check_records_no_graph(*stream);
            for (const Stream::Work& work : *static_cast<const Graph*>(graph)) stream->put(work);
          });
        },
    .destroy = [](void* graph) { return try_anyway([&] { delete static_cast<Graph*>(graph); }); },
};

constexpr lnw_sim_device extension_table = {
    .set_device =
        [](int device) {
          return attempt([&] {
            check_device(device);
            chosen_device() = device;
          });
        },
    .copy_now =
        [](void* to, const void* from, std::size_t bytes) {
          return attempt([&] {
            if (bytes > 0)
              std::memmove(sim().memory.accessible(to, bytes), sim().memory.accessible(from, bytes), bytes);
          });
        },
    .configure =
        [](const char* settings) {
          return attempt([&] {
            const std::lock_guard lock(sim().mutex);
            sim().settings.read(settings, true);
            sim().publish();
          });
        },
    .counters =
        [](lnw_sim_counters* counters) {
          return try_anyway([&] {
            const std::lock_guard lock(sim().mutex);
            *counters = sim().counters;
            counters->allocations = sim().memory.allocations();
          });
        },
    .begin_capture = [](lnw_device_stream stream) { return set_capturing(stream, true); },
    .end_capture = [](lnw_device_stream stream) { return set_capturing(stream, false); },
};

constexpr lnw_device_table table = {
    .version = LNW_DEVICE_TABLE_VERSION,
    .bytes = sizeof(lnw_device_table),
    .vendor = "sim",
    .probe = probe,
    .message = plugin::message,
    .device_count = [](int* count) { return attempt([&] { *count = sim().settings.devices; }); },
    .device_info = device_info,
    .current_device = [](int* device) { return attempt([&] { *device = chosen_device(); }); },
    .link = link,
    .peer_enable =
        [](int device, int peer) {
          return attempt([&] {
            check_device(device);
            check_device(peer);
          });
        },
    .memory_at = memory_at,
    .device_malloc = [](int device, std::size_t bytes,
                        void** to) { return allocate(LNW_MEMORY_DEVICE, device, bytes, to); },
    .device_free = [](int, void* pointer) { return release(pointer, true); },
    .managed_malloc = [](int device, std::size_t bytes,
                         void** to) { return allocate(LNW_MEMORY_MANAGED, device, bytes, to); },
    .host_malloc = [](int device, std::size_t bytes,
                      void** to) { return allocate(LNW_MEMORY_PINNED, device, bytes, to); },
    .host_free = [](int, void* pointer) { return release(pointer, false); },
    .host_register =
        [](int device, void* pointer, std::size_t bytes) {
          return attempt([&] {
            check_device(device);
            sim().memory.pin(device, pointer, bytes);
          });
        },
    .host_unregister = [](int, void* pointer) { return try_anyway([&] { sim().memory.unpin(pointer); }); },
    .stream_create =
        [](int device, int, lnw_device_stream* stream) {
          return attempt([&] {
            check_device(device);
            const auto made = Stream::create(device, sim().pace);
            const std::lock_guard lock(sim().mutex);
            sim().streams[made.get()] = made;
            *stream = made.get();
          });
        },
    .stream_destroy = stream_destroy,
    .stream_synchronize = stream_synchronize,
    .stream_query =
        [](int device, lnw_device_stream stream) {
          return attempt(
              [&]() -> int { return find_stream(device, stream)->idle() ? LNW_DEVICE_OK : LNW_DEVICE_NOT_READY; });
        },
    .stream_is_capturing =
        [](int device, lnw_device_stream stream, int* capturing) {
          return attempt([&] {
            const auto found = find_stream(device, stream);
            *capturing = found->capturing || found->recorded != nullptr ? 1 : 0;
          });
        },
    .stream_device = stream_device,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .stream_wait_event = stream_wait_event,
    .event_query = event_query,
    .event_synchronize = event_synchronize,
    .event_elapsed = event_elapsed,
    .host_call = host_call,
    .copy = copy,
    .copy_rows = copy_rows,
    .fill = fill,
    .moves_create = moves_create,
    .moves_destroy = moves_destroy,
    .moves_launch = moves_launch,
    .ipc_memory_get =
        [](int, const void* pointer, lnw_ipc_memory* memory) {
          return attempt([&] {
            need(LNW_DEVICE_HAS_IPC_MEMORY, "memory that processes share");
            sim().memory.share(pointer, memory);
          });
        },
    .ipc_memory_open = ipc_memory_open,
    .ipc_memory_close = ipc_memory_close,
    .ipc_event_get = ipc_event_get,
    .ipc_event_open = ipc_event_open,
    .flag_malloc = flag_malloc,
    .flag_free = [](int, std::uint64_t* words) { return release(words, false); },
    .write_value = write_value,
    .wait_value = wait_value,
    .extension = [](const char* name) -> const void* {
      if (std::strcmp(name, LNW_DEVICE_KERNELS_EXTENSION) == 0) return &program_kernels;
      if (std::strcmp(name, LNW_DEVICE_COMBINE_EXTENSION) == 0) return &combine_kernels;
      if (std::strcmp(name, LNW_SIM_GRAPHS_EXTENSION) == 0) return &graphs_table;
      return std::strcmp(name, LNW_SIM_DEVICE_EXTENSION) == 0 ? &extension_table : nullptr;
    },
};

}  // namespace

}  // namespace laneway::sim

extern "C" __attribute__((visibility("default"))) const lnw_device_table* laneway_device_table(int) {
  return &laneway::sim::table;
}
