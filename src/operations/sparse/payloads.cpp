#include "operations/sparse/payloads.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "communicator/datatypes/datatype.hpp"

namespace laneway {

namespace {

/// In as few bytes as it takes, as Writer::put_compact.
void append_number(Bytes& bytes, std::int64_t number) {
  for (; number > 0x7f; number >>= 7) bytes.push_back(static_cast<std::byte>(number | 0x80));
  bytes.push_back(static_cast<std::byte>(number));
}

void append(Bytes& bytes, const void* data, std::int64_t size) {
  const auto* const begin = static_cast<const std::byte*>(data);
  if (size > 0) bytes.insert(bytes.end(), begin, begin + size);
}

/// A block in a payload: which set it is in, how many elements of how many bytes.
struct Parcel {
  std::int64_t set = 0;
  std::int64_t count = 0;
  std::int64_t element_bytes = 0;
  std::span<const std::byte> data;
};

template <class F>
void for_each_parcel(const Bytes& payload, F&& f) {
  std::size_t at = 0;
  const auto number = [&] {
    std::int64_t value = 0;
    for (int shift = 0;; shift += 7) {
      LANEWAY_ASSERT(at < payload.size());
      const auto byte = static_cast<std::uint8_t>(payload[at++]);
      value |= std::int64_t{byte & 0x7f} << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < payload.size()) {
    Parcel parcel{number(), number(), number(), {}};
    const auto bytes = static_cast<std::size_t>(parcel.count * parcel.element_bytes);
    LANEWAY_ASSERT(bytes <= payload.size() - at);
    parcel.data = std::span(payload).subspan(at, bytes);
    at += bytes;
    f(parcel);
  }
}

void append_parcel(Bytes& payload, std::int64_t set, std::int64_t count, std::int64_t element_bytes) {
  append_number(payload, set);
  append_number(payload, count);
  append_number(payload, element_bytes);
}

/// Gathers elements of any datatype.
void append_elements(Bytes& payload, const SparseSet& set, const TypeMap& map, std::int64_t count,
                     std::int64_t offset) {
  if (count == 0) return;
  const auto* const buffer = static_cast<const std::byte*>(set.buffer);
  if (const std::optional<Range> range = map.contiguous(count, offset))
    return append(payload, buffer + range->offset, range->bytes);
  map.elements(count, offset).for_each([&](Range range) { append(payload, buffer + range.offset, range.bytes); });
}

std::int64_t count_at(const SparseSet& set, std::int64_t i) {
  return set.counts.null() ? set.count : set.counts[i];
}

std::string name_of(const char* list, std::int64_t i) {
  return std::string(list) + "[" + std::to_string(i) + "]";
}

void check_set(const SparseSet& set, Rank ranks, bool fixed_count) {
  check_destinations(set.degree, set.destinations, ranks, "ndestinations", "destinations");
  if (fixed_count) {
    require(set.count >= 0, ErrorKind::count, "sendcount is " + std::to_string(set.count));
  } else {
    require(!set.counts.null() || set.degree == 0, ErrorKind::argument, "sendcounts is NULL");
    require(!set.displacements.null() || set.degree == 0, ErrorKind::argument, "sdispls is NULL");
  }
  require(set.type != MPI_DATATYPE_NULL, ErrorKind::type, "sendtype is MPI_DATATYPE_NULL");
  bool sends = false;
  for (int i = 0; i < set.degree; ++i) {
    if (!fixed_count)
      require(count_at(set, i) >= 0, ErrorKind::count,
              name_of("sendcounts", i) + " is " + std::to_string(count_at(set, i)));
    sends = sends || (count_at(set, i) > 0 && set.destinations[i] != MPI_PROC_NULL);
  }
  check_buffers(set.buffer, nullptr);
  require(set.buffer != nullptr || !sends, ErrorKind::buffer, "sendbuf is NULL");
}

}  // namespace

void check_destinations(int degree, const int* destinations, Rank ranks, const char* degree_name,
                        const char* ranks_name) {
  require(degree >= 0, ErrorKind::argument, std::string(degree_name) + " is " + std::to_string(degree));
  require(destinations != nullptr || degree == 0, ErrorKind::argument, std::string(ranks_name) + " is NULL");
  for (int i = 0; i < degree; ++i)
    require(destinations[i] == MPI_PROC_NULL || (destinations[i] >= 0 && destinations[i] < ranks), ErrorKind::rank,
            name_of(ranks_name, i) + " is " + std::to_string(destinations[i]) + " in a communicator of " +
                std::to_string(ranks) + " ranks");
}

std::uint64_t shape_of(const std::vector<SparseSet>& sets, bool fixed_count, bool asks) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  const auto add = [&](std::int64_t value) { hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x100000001b3ULL; };
  add(static_cast<std::int64_t>(sets.size()));
  add((fixed_count ? 2 : 0) + (asks ? 1 : 0));
  for (const SparseSet& set : sets) {
    require(set.type != MPI_DATATYPE_NULL, ErrorKind::type, "sendtype is MPI_DATATYPE_NULL");
    add(type_map(set.type)->ranges.bytes());
    if (fixed_count) add(set.count);
  }
  return hash;
}

std::vector<Payload> payloads_of(const std::vector<SparseSet>& sets, Rank ranks, bool fixed_count) {
  std::map<Rank, Bytes> payloads;
  for (std::size_t index = 0; index < sets.size(); ++index) {
    const SparseSet& set = sets[index];
    check_set(set, ranks, fixed_count);
    const std::shared_ptr<const TypeMap> map = type_map(set.type);
    std::int64_t next = 0;
    for (int i = 0; i < set.degree; ++i) {
      const std::int64_t count = count_at(set, i);
      const std::int64_t displacement = set.displacements.null() ? next : set.displacements[i];
      next += count;
      if (set.destinations[i] == MPI_PROC_NULL) continue;
      Bytes& payload = payloads[set.destinations[i]];
      append_parcel(payload, static_cast<std::int64_t>(index), count, map->ranges.bytes());
      append_elements(payload, set, *map, count, displacement * map->extent);
    }
  }
  std::vector<Payload> list;
  list.reserve(payloads.size());
  for (auto& [rank, payload] : payloads) list.push_back({rank, std::move(payload)});
  return list;
}

std::vector<std::unique_ptr<Arrivals>> arrivals_of(const std::vector<Payload>& payloads, std::size_t sets) {
  std::vector<std::unique_ptr<Arrivals>> arrivals;
  for (std::size_t set = 0; set < sets; ++set) arrivals.push_back(std::make_unique<Arrivals>());
  std::vector<std::size_t> bytes(sets);
  for (const Payload& payload : payloads)
    for_each_parcel(payload.data,
                    [&](const Parcel& parcel) { bytes[static_cast<std::size_t>(parcel.set)] += parcel.data.size(); });
  for (std::size_t set = 0; set < sets; ++set) arrivals[set]->data.reserve(bytes[set]);
  std::vector<MPI_Count> next(sets);
  for (const Payload& payload : payloads)
    for_each_parcel(payload.data, [&](const Parcel& parcel) {
      const auto set = static_cast<std::size_t>(parcel.set);
      Arrivals& here = *arrivals[set];
      here.sources.push_back(payload.peer);
      here.counts.push_back(parcel.count);
      here.offsets.push_back(next[set]);
      next[set] += parcel.count;
      append(here.data, parcel.data.data(), static_cast<std::int64_t>(parcel.data.size()));
    });
  return arrivals;
}

Bytes answer_payload(const Payload& payload, const Answerer& answerer) {
  Bytes answers;
  Bytes one;
  for_each_parcel(payload.data, [&](const Parcel& parcel) {
    one.clear();
    answerer(payload.peer, parcel.data, one);
    append_parcel(answers, 0, static_cast<std::int64_t>(one.size()), 1);
    append(answers, one.data(), static_cast<std::int64_t>(one.size()));
  });
  return answers;
}

std::unique_ptr<Arrivals> answers_of(const std::vector<Payload>& payloads, const SparseSet& requests) {
  std::map<Rank, std::vector<std::span<const std::byte>>> said;
  for (const Payload& payload : payloads)
    for_each_parcel(payload.data, [&](const Parcel& parcel) { said[payload.peer].push_back(parcel.data); });
  auto answers = std::make_unique<Arrivals>();
  answers->element_bytes = 1;
  std::map<Rank, std::size_t> next;
  for (int i = 0; i < requests.degree; ++i) {
    const Rank target = requests.destinations[i];
    std::span<const std::byte> answer;
    if (target != MPI_PROC_NULL) {
      const std::vector<std::span<const std::byte>>& of_target = said[target];
      std::size_t& at = next[target];
      require(at < of_target.size(), ErrorKind::argument,
              "rank " + std::to_string(target) + " has reported an error in its answer");
      answer = of_target[at++];
    }
    answers->sources.push_back(target);
    answers->counts.push_back(static_cast<MPI_Count>(answer.size()));
    answers->offsets.push_back(static_cast<MPI_Count>(answers->data.size()));
    append(answers->data, answer.data(), static_cast<std::int64_t>(answer.size()));
  }
  return answers;
}

}  // namespace laneway
