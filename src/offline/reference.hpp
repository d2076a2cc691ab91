#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "plan/pattern.hpp"
#include "plan/plan.hpp"

namespace laneway {

/// A buffer argument of one rank: the bytes at offsets [first, first + bytes.size()).
struct Memory {
  std::int64_t first = 0;
  std::vector<std::byte> bytes;

  /// The bytes at [offset, offset + n); throws Error(buffer) if they are not all there.
  [[nodiscard]] std::span<const std::byte> at(std::int64_t offset, std::int64_t n) const;
  [[nodiscard]] std::span<std::byte> at(std::int64_t offset, std::int64_t n);

  friend bool operator==(const Memory&, const Memory&) = default;
};

/// What an exchange means: moves the bytes of each edge straight from source to destination, edge by edge in the order
/// of the destination's list. The oracle of all tests.
void exchange(const Pattern& pattern, std::span<const Memory> send, std::span<Memory> receive);

struct ReferenceOptions {
  /// Chooses among the things that can happen next.
  std::uint64_t seed = 1;
  /// True: a send completes only after its receive has started. False: it may complete as soon as it has started.
  bool rendezvous = false;
  /// to = to op from, for plans that combine.
  std::function<void(const Combination& how, std::span<std::byte> to, std::span<const std::byte> from)> combine{};
  /// Steps may read the receive buffer, as those of operations among all ranks do.
  bool reads_receive = false;
};

/// Runs the plans of all ranks in this process, one event at a time, slowly and obviously. Any event that an executor
/// on any transport could see next may be chosen, under two rules that every executor keeps: messages of a rank that
/// depend on nothing start first, in plan order; and messages of one channel match in the order in which they start.
/// Throws Error(internal) naming the step if nothing can happen before all steps are complete, if two sides of a
/// message differ in size, or if a message is left over.
void run_reference(std::span<const Plan> plans, std::span<const Memory> send, std::span<Memory> receive,
                   const ReferenceOptions& options = {});

}  // namespace laneway
