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

/// With the length of segments that passes a vector from node to node in the least time: after the first node, a
/// segment more on each link, and the latency of each segment. As of a pipeline in J. Pjesivac-Grbovic et al.:
/// Performance analysis of MPI collective operations, Cluster Computing 10 (2007); at most what `settings` has, a power
/// of two. Blocks, of which a rank has one for each other, keep that.
[[nodiscard]] DenseSettings with_segments(DenseSettings settings, const DenseFacts& facts, const Layout& layout,
                                          const Parameters& parameters);

/// The rule that is expected to be the fastest of those that apply. Windows are for those who ask for them: no model
/// knows what an MPI library makes of them. From facts that all ranks share alone, so that all
/// choose the same.
[[nodiscard]] DenseChoice choose_dense_rule(const DenseFacts& facts, const Layout& layout, const Parameters& parameters,
                                            const DenseSettings& unsegmented = {}, OnNode on_node = OnNode::messages);

}  // namespace laneway
