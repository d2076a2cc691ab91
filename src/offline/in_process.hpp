#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "runtime/carriers/transport.hpp"

namespace laneway {

/// Carries messages between virtual ranks that one thread runs in turn: executors are tested on it without MPI.
/// It never blocks: wait_all throws if something cannot complete.
class InProcessNetwork {
 public:
  using Copy = void (*)(void* to, const void* from, std::size_t bytes);
  static void copy_bytes(void* to, const void* from, std::size_t bytes);

  /// `copy`: reads what is sent and writes what is received.
  explicit InProcessNetwork(Copy copy = copy_bytes) : copy_(copy) {}

  /// The transport of one virtual rank. The network must outlive it and its endpoints.
  [[nodiscard]] std::unique_ptr<Transport> transport(Rank rank);

 private:
  friend class InProcessEndpoint;
  using Key = std::tuple<Rank, Rank, int>;
  std::map<Key, std::deque<std::vector<std::byte>>> in_flight_;
  Copy copy_;
};

}  // namespace laneway
