#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "algorithms/planner/planner.hpp"
#include "base/bytes/types.hpp"
#include "base/bytes/wire.hpp"
#include "machine/machine.hpp"

namespace laneway {

/// How ranks talk to each other while carriers share out the messages of a plan and make the memory for them. Whoever
/// has a communicator gives one.
class Bootstrap {
 public:
  virtual ~Bootstrap() = default;

  [[nodiscard]] virtual Rank rank() const = 0;
  /// An MPI_Comm of all ranks, for carriers that are compiled with MPI.
  [[nodiscard]] virtual const void* communicator() const = 0;
  /// How many ranks of the job this machine has.
  [[nodiscard]] virtual std::size_t ranks_of_machine() const = 0;
  /// Carries a round of control messages, which all ranks that it names come to.
  [[nodiscard]] virtual std::vector<Bytes> carry(Round round) = 0;
  /// The bits that all ranks give. Collective over all of them.
  [[nodiscard]] virtual std::uint64_t common_bits(std::uint64_t bits) = 0;
  /// The first rank of `node` that has failed, if any. Collective over it. `none_failed` may find out without control
  /// messages that none has.
  [[nodiscard]] virtual std::optional<Rank> find_failure(const Region& node, bool failed,
                                                         const std::function<bool()>& none_failed) = 0;
};

/// What all ranks of `node` give. Collective over it.
template <class T>
[[nodiscard]] std::vector<T> gather(Bootstrap& bootstrap, const Region& node, const T& mine) {
  Writer writer;
  writer.put(mine);
  std::vector<T> all;
  for (const Bytes& bytes : bootstrap.carry({Round::Kind::region_gather, {}, {}, writer.take(), &node}))
    all.push_back(Reader(bytes).get<T>());
  return all;
}

/// The largest value that a rank of `node` gives. Collective over it.
[[nodiscard]] inline std::int64_t largest(Bootstrap& bootstrap, const Region& node, std::int64_t value) {
  const std::vector<std::int64_t> all = gather(bootstrap, node, value);
  return *std::ranges::max_element(all);
}

}  // namespace laneway
