#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/carriers/bootstrap.hpp"
#include "runtime/carriers/node/node_memory.hpp"

namespace laneway {

/// How far each rank of a node has come in steps that all of them take, and in which step it has failed. Each rank
/// writes its own words alone. Nothing waits, and nothing allocates but what makes it.
class NodeSteps {
 public:
  /// `may_share`: whether all of its ranks use the same memory. Collective over the node. Empty on all of its ranks
  /// where they share none.
  NodeSteps(Bootstrap& bootstrap, const Region& node, bool may_share);
  NodeSteps(const NodeSteps&) = delete;
  NodeSteps& operator=(const NodeSteps&) = delete;

  [[nodiscard]] bool empty() const { return words_.empty(); }
  [[nodiscard]] std::size_t own() const { return own_; }
  [[nodiscard]] std::size_t size() const { return words_.size(); }

  /// This rank is through with that step and all before it, whether it has failed or not.
  void reach(std::uint64_t step) const { raise(word(own_, Word::reached), step); }
  /// This rank has failed in a step that it has yet to reach. Only the first failure counts.
  void fail_in(std::uint64_t step) const { set_once(Word::failed, step); }
  /// The same, and it knows that ranks of all nodes know of a failure.
  void report_failure_in(std::uint64_t step) const { set_once(Word::reported, step); }

  /// Whether all ranks of the node have reached it.
  [[nodiscard]] bool all_reached(std::uint64_t step);
  /// Whether a rank has failed in that step, which all have reached, or before it.
  [[nodiscard]] bool some_failed(std::uint64_t step) const { return some(Word::failed, step); }
  [[nodiscard]] bool some_reported(std::uint64_t step) const { return some(Word::reported, step); }

 private:
  enum class Word : std::uint8_t { reached, failed, reported };
  static constexpr std::size_t kinds = 3;

  [[nodiscard]] std::byte* word(std::size_t rank, Word kind) const {
    return words_[rank] + static_cast<std::size_t>(kind) * sizeof(std::uint64_t);
  }
  void set_once(Word kind, std::uint64_t step) const;
  [[nodiscard]] bool some(Word kind, std::uint64_t step) const;

  std::shared_ptr<NodeMemory> memory_;
  std::vector<std::byte*> words_;  // of each rank
  std::size_t own_;
  std::uint64_t awaited_ = 0;  // the step for which `seen_` ranks have been seen
  std::size_t seen_ = 0;
  alignas(8) std::array<std::uint64_t, kinds> alone_{};
};

}  // namespace laneway
