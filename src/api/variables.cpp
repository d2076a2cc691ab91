#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "api/barrier.hpp"
#include "api/preload_counts.hpp"
#include "base/simulated.hpp"
#include "communicator/hints/hints.hpp"
#include "operations/request/request_counters.hpp"

using namespace laneway;

namespace {

struct Counts : RequestCounts {
  PreloadCounts preload{};
};

/// The preload has a copy of this library of its own, and what it counts.
Counts counts_of(MPI_Comm comm) {
  static const auto of_preload = reinterpret_cast<decltype(&laneway_preload_counts)>(
      simulated ? nullptr : dlsym(RTLD_DEFAULT, "laneway_preload_counts"));
  const Communicator* const known = comm == MPI_COMM_NULL ? nullptr : Communicator::find(comm);
  Counts counts;
  if (comm == MPI_COMM_NULL || known != nullptr)
    counts = {count_requests(known != nullptr ? &known->known_private_comm() : nullptr), {}};
  if (of_preload != nullptr) counts.preload = of_preload(comm);
  return counts;
}

struct CounterRow {
  const char* name;
  const char* description;
  std::int64_t (*read)(const Counts&);
};

template <MPI_Count Statistics::*member>
std::int64_t of_exchanges(const Counts& counts) {
  return counts.of_exchanges.*member;
}

constexpr std::array<CounterRow, 16> counter_rows{{
    {"requests_made", "persistent and nonblocking requests", [](const Counts& all) { return all.made; }},
    {"requests", "persistent requests that have not been freed", [](const Counts& all) { return all.live; }},
    {"exchanges", "exchanges of requests that have been started", [](const Counts& all) { return all.exchanges; }},
    {"blocking_calls", "blocking neighborhood and dense operations that have returned",
     [](const Counts& all) { return all.blocking; }},
    {"messages", "messages that this rank sends in exchanges of persistent requests",
     of_exchanges<&Statistics::messages>},
    {"bytes", "bytes in them", of_exchanges<&Statistics::bytes>},
    {"net_messages", "of these messages, to other nodes", of_exchanges<&Statistics::net_messages>},
    {"net_bytes", "bytes in them", of_exchanges<&Statistics::net_bytes>},
    {"copied_bytes", "bytes that this rank copies in these exchanges", of_exchanges<&Statistics::copied_bytes>},
    {"held_staging_bytes", "memory that persistent requests hold for data in transit",
     of_exchanges<&Statistics::staging_bytes>},
    {"held_window_bytes", "and for flags and mailboxes that the ranks of the node share",
     of_exchanges<&Statistics::window_bytes>},
    {"held_metadata_bytes", "and for plans, copy programs and tables", of_exchanges<&Statistics::metadata_bytes>},
    {"preload_taken", "calls of MPI that the preload has taken over",
     [](const Counts& all) { return all.preload.taken; }},
    {"preload_left", "calls of the same operations that it has left to the MPI library",
     [](const Counts& all) { return all.preload.left; }},
    {"preload_messages", "messages of this rank in both, if LANEWAY_REPORT is 1 or a file",
     [](const Counts& all) { return all.preload.messages; }},
    {"preload_bytes", "bytes in them", [](const Counts& all) { return all.preload.bytes; }},
}};

/// The texts of rows are literals, which end with a zero.
LNW_Variable variable_of(const HintRow& row) {
  return {row.key.data(), row.environment.empty() ? "" : row.environment.data(), row.meaning.data()};
}
LNW_Variable variable_of(const CounterRow& row) {
  return {row.name, "", row.description};
}

template <class Row>
const Row& row_at(std::span<const Row> rows, int index) {
  require(index >= 0 && static_cast<std::size_t>(index) < rows.size(), ErrorKind::argument,
          [&] { return "index is " + std::to_string(index) + " of " + std::to_string(rows.size()); });
  return rows[static_cast<std::size_t>(index)];
}

template <class Row>
int index_of(std::span<const Row> rows, const char* name) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (std::string_view(variable_of(rows[i]).name) == name) return static_cast<int>(i);
  throw Error(ErrorKind::argument, std::string("name is ") + name + ", which no variable has");
}

constexpr std::span<const HintRow> controls() {
  return hint_rows;
}
constexpr std::span<const CounterRow> counters() {
  return counter_rows;
}

}  // namespace

int LNW_Cvar_get_num(int* num) {
  return guarded_alone(__func__, MPI_COMM_WORLD, [&] {
    require_pointer(num, "num");
    *num = static_cast<int>(controls().size());
  });
}

int LNW_Cvar_get_info(int index, LNW_Variable* variable) {
  return guarded_alone(__func__, MPI_COMM_WORLD, [&] {
    require_pointer(variable, "variable");
    *variable = variable_of(row_at(controls(), index));
  });
}

int LNW_Cvar_get_index(const char* name, int* index) {
  return guarded_alone(__func__, MPI_COMM_WORLD, [&] {
    require_pointer(name, "name");
    require_pointer(index, "index");
    *index = index_of(controls(), name);
  });
}

int LNW_Cvar_read(int index, MPI_Comm comm, char* text, int size, int* length) {
  return guarded_alone(__func__, MPI_COMM_WORLD, [&] {
    const HintRow& row = row_at(controls(), index);
    require_pointer(length, "length");
    const Communicator* const known = comm == MPI_COMM_NULL ? nullptr : Communicator::find(comm);
    const std::string found = hint_text(row, known != nullptr ? known->hints : HintTexts{});
    *length = static_cast<int>(found.size());
    if (size <= 0) return;
    require_pointer(text, "text");
    const std::size_t copied = std::min(found.size(), static_cast<std::size_t>(size) - 1);
    std::memcpy(text, found.data(), copied);
    text[copied] = '\0';
  });
}

int LNW_Pvar_get_num(int* num) {
  return guarded_alone(__func__, MPI_COMM_WORLD, [&] {
    require_pointer(num, "num");
    *num = static_cast<int>(counters().size());
  });
}

int LNW_Pvar_get_info(int index, LNW_Variable* variable) {
  return guarded_alone(__func__, MPI_COMM_WORLD, [&] {
    require_pointer(variable, "variable");
    *variable = variable_of(row_at(counters(), index));
  });
}

int LNW_Pvar_get_index(const char* name, int* index) {
  return guarded_alone(__func__, MPI_COMM_WORLD, [&] {
    require_pointer(name, "name");
    require_pointer(index, "index");
    *index = index_of(counters(), name);
  });
}

int LNW_Pvar_read(int index, MPI_Comm comm, MPI_Count* value) {
  return guarded_alone(__func__, MPI_COMM_WORLD, [&] {
    const CounterRow& row = row_at(counters(), index);
    require_pointer(value, "value");
    *value = row.read(counts_of(comm));
  });
}
