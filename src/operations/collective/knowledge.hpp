#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "algorithms/collective/layout.hpp"
#include "algorithms/collective/rules.hpp"
#include "communicator/arguments/collective.hpp"
#include "communicator/communicator.hpp"
#include "communicator/hints/hints.hpp"
#include "machine/parameters.hpp"

namespace laneway {

/// What the ranks of a communicator know of it, learnt once: equal on all of them, but for this rank's regions.
struct DenseKnowledge {
  Hints hints;
  Layout layout;
  bool have_helpers = false;  ///< has_helper, of all ranks
  Region node;                ///< this rank's
  Region sharing;             ///< the ranks that use the same memory as this one
  std::shared_ptr<const Parameters> parameters;
  bool have_devices = false;  ///< every rank has loaded a plugin
};

/// Kept with a communicator.
struct KnownDense final : Attachment {
  std::shared_ptr<const DenseKnowledge> own;  ///< under the communicator's own hints
  std::map<std::uint64_t, std::shared_ptr<const DenseKnowledge>> by_hints;
  void on(Change) override {
    own = nullptr;
    by_hints.clear();
  }
};

/// With hints that all ranks have agreed on, under which nodes follow by translation or not. One message that grows
/// with ranks, unless that has been done before. Collective.
[[nodiscard]] std::shared_ptr<const DenseKnowledge> learn_dense(Communicator& communicator, const PrivateComm& comm,
                                                                const Hints& hints, bool translate, bool have_helpers);

/// Under the communicator's own hints. Collective in the first call. Throws Error(info) where these differ.
[[nodiscard]] std::shared_ptr<const DenseKnowledge> know_dense(Communicator& communicator);

/// What lnw_collective says of an operation.
struct CollectiveHint {
  bool is_mpi = false;
  const DenseRule* rule = nullptr;  ///< null: the costs choose
};
/// Throws Error(info) that names what is valid.
[[nodiscard]] CollectiveHint read_collective(const std::string& text, DenseKind kind);

/// Null: none is called so.
[[nodiscard]] const DenseRule* find_rule(Dense kind, std::string_view name);

/// Under the hint lnw_check: throws on all ranks where an operation, a root, an operator, a datatype's size or a count
/// differs, with the call of the first rank and of the first one that has another. `block_bytes`: as check_collective
/// returns. Collective.
void compare_collective(const PrivateComm& comm, const CollectiveCall& call, std::int64_t block_bytes);

}  // namespace laneway
