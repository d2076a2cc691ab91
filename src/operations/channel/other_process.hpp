#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/process/processors.hpp"

namespace laneway {

/// What one process tells another of itself. Trivially copyable, to be sent as bytes.
struct OwnProcess {
  std::uint64_t machine = 0;  ///< the same for all processes of a node; 0: not known
  std::int64_t process = 0;   ///< its number
  Processors processors;
};
[[nodiscard]] OwnProcess own_process();

/// Waiting loops of this process know from now on whether it and `other` have a processor each, if they are on one
/// machine. `ranks`: of the job, on this machine, as far as known; 0: not known.
void learn_patience_of(const OwnProcess& other, std::size_t ranks);

/// Another process of this machine, which may end. All that watch one have a descriptor together.
class OtherProcess {
 public:
  /// From now on, one that has the same numbers of processes; nothing where the system has no way to, or `process` is
  /// this one. Once.
  void watch(std::int64_t process);
  /// One system call, if the last one was long enough ago; false where nothing is watched.
  [[nodiscard]] bool has_ended() const;

 private:
  class Descriptor;
  std::shared_ptr<const Descriptor> descriptor_;
  mutable std::atomic<std::int64_t> next_question_{0};  // of the steady clock
};

}  // namespace laneway
