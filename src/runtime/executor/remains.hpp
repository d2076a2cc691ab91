#pragma once

#include <memory>
#include <vector>

#include "base/bytes/block_memory.hpp"
#include "runtime/carriers/bound_carrier.hpp"
#include "runtime/carriers/memory.hpp"

namespace laneway {

/// What an exchange that has failed leaves behind: steps that carriers could neither complete nor cancel, and memory
/// that they, or peers, may still read or write.
struct Remains {
  std::shared_ptr<PlanMemory> memory;
  BlockMemory staging;
  std::vector<std::unique_ptr<BoundCarrier>> carriers;

  /// What may still be used.
  [[nodiscard]] Left abandon() noexcept;
};

/// Keeps them until nothing is under way any more, or as long as the process runs.
void keep(Remains remains);

/// Frees what is kept for nothing. Called now and then.
void look_through_remains() noexcept;

}  // namespace laneway
