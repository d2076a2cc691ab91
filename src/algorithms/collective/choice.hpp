#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/collective/rules.hpp"
#include "machine/parameters.hpp"

namespace laneway {

/// A rule and what the model says of it.
struct DenseCandidate {
  const DenseRule* rule = nullptr;
  double seconds = 0;
};

struct DenseChoice {
  const DenseRule* rule = nullptr;
  double seconds = 0;
  std::vector<DenseCandidate> candidates;  ///< the fastest first
  std::string reason;                      ///< a sentence
};

/// How ranks of a node hand each other data.
enum class OnNode : std::uint8_t { messages, memory };

/// Seconds: the longer of two, of the rank and the link that have most to do (max-rate, with LogP's work of messages),
/// and of the processors that the ranks of a host share, where they do.
[[nodiscard]] double predict(const DenseCost& cost, const Parameters& parameters, const Layout& layout,
                             OnNode on_node = OnNode::messages);

/// What nobody has asked for, as it costs least by a rule: the radix, where the rule has one, and the length of
/// segments in which a vector passes node after node. Of a pipeline the last node waits for a segment more on each
/// link, and each segment has its latency (J. Pjesivac-Grbovic et al.: Performance analysis of MPI collective
/// operations, Cluster Computing 10, 2007); a power of two, at most what `settings` has. Equal on all ranks.
[[nodiscard]] DenseSettings settled(const DenseRule& rule, const DenseFacts& facts, const Layout& layout,
                                    const Parameters& parameters, const DenseSettings& settings);

/// The rule that is expected to be the fastest of those that apply. Windows are for those who ask for them: no model
/// knows what an MPI library makes of them. From facts that all ranks share alone, so that all
/// choose the same.
[[nodiscard]] DenseChoice choose_dense_rule(const DenseFacts& facts, const Layout& layout, const Parameters& parameters,
                                            const DenseSettings& settings = {}, OnNode on_node = OnNode::messages);

}  // namespace laneway
