#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "machine/parameters.hpp"
#include "plan/memory_path.hpp"

namespace laneway {

// The models of S. Lockhart, A. Bienz, W. D. Gropp and L. N. Olson, "Characterizing the performance of node-aware
// strategies for irregular point-to-point communication on heterogeneous architectures", with its names: a node has two
// sockets with GPUs and processes, each GPU has a host process. They are for the worst case inside a node, and know no
// plan. docs/results/closed-forms.md says how they were read where the paper leaves something open.

/// Table 5, where `two_step` is modelled for two distributions of the data (section 4.6): every GPU sends to every
/// node, or all data for a node is in one GPU, which is the best case.
enum class Rule : std::uint8_t { standard, three_step, two_step_all, two_step_one, split_md, split_dd };

struct ClosedForm {
  std::string_view name;
  Rule rule = Rule::standard;
  MemoryPath path = MemoryPath::staged;
};

/// All rows of Table 6.
[[nodiscard]] std::span<const ClosedForm> closed_forms();

/// What a node holds. The paper's have two sockets; its terms for the other socket count once for each other one.
struct NodeShape {
  int gpus_per_socket = 2;        ///< gps
  int processes_per_socket = 20;  ///< pps
  int sockets = 2;

  [[nodiscard]] int gpus() const { return sockets * gpus_per_socket; }
  [[nodiscard]] int processes() const { return sockets * processes_per_socket; }  ///< ppn
  [[nodiscard]] int other_sockets() const { return sockets - 1; }
};

/// Section 4.6: a node sends `messages` messages of `bytes` each, dealt evenly to its GPUs and to `nodes` other nodes.
struct Scenario {
  int nodes = 1;
  int messages = 1;
  double bytes = 0;
  double duplicates = 0;  ///< share of the bytes that strategies other than standard need not send
};

/// Bytes of Table 7, each of the process, node or pair of nodes where they are most.
struct MostBytes {
  double proc = 0;       ///< s_proc
  double node = 0;       ///< s_node
  double node_pair = 0;  ///< s_node->node
};

/// What goes between nodes in any exchange. Counts are those of the process, or node, where they are most.
struct Crossings {
  double messages = 1;    ///< that a process sends to other nodes
  double nodes = 1;       ///< that a node sends to
  double proc_nodes = 1;  ///< m_proc->node: that a process sends to
  MostBytes standard;
  MostBytes unique;  ///< without what is sent to a node more than once
};

/// Table 7, and what one process sends in the step between nodes.
struct Volumes {
  double proc_bytes = 0;       ///< s_proc
  double node_bytes = 0;       ///< s_node
  double node_pair_bytes = 0;  ///< s_node->node
  double messages = 1;         ///< m of equations 4.3 and 4.4: messages between nodes of one process
  double message_bytes = 0;    ///< of one of them: selects the protocol
};

class ClosedForms {
 public:
  /// `machine` is referred to. Throws Error(info) if it lacks what the equations need: links of sockets, nodes and
  /// network for host and device memory, copies by one process and by four, and the injection limit.
  explicit ClosedForms(const Parameters& machine, const NodeShape& node = {});

  [[nodiscard]] Crossings crossings(const Scenario& scenario) const;
  /// Table 6, in seconds.
  [[nodiscard]] double seconds(const ClosedForm& form, const Crossings& crossings) const;
  [[nodiscard]] double seconds(const ClosedForm& form, const Scenario& scenario) const {
    return seconds(form, crossings(scenario));
  }
  /// What a row of Table 6 is applied to.
  [[nodiscard]] Volumes volumes(Rule rule, const Crossings& crossings) const;

  /// Equation 4.1: inside the node, 3-Step and 2-Step, on `links`.
  [[nodiscard]] double on_node(MemoryPath path, double bytes) const;
  /// Equation 4.2: inside the node, Split; each message carries `bytes`, one process's part; a GPU has
  /// `processes_per_gpu` host processes.
  [[nodiscard]] double on_node_split(double bytes, int processes_per_gpu) const;
  /// Equation 4.3, the max-rate model 2.2, for host memory; 4.4, the postal model 2.1, for device memory. `bytes` are
  /// those of one process.
  [[nodiscard]] double off_node(MemoryPath path, const Volumes& volumes, double bytes) const;
  /// Equation 4.5. `processes` copy from and to a GPU at a time.
  [[nodiscard]] double copy(double sent_bytes, double received_bytes, int processes) const;

  /// The cap of Split: the largest message between nodes that is not sent by rendezvous.
  [[nodiscard]] std::int64_t message_cap() const;

 private:
  [[nodiscard]] const LinkCost& link(MemoryPath path, LinkClass link) const;
  [[nodiscard]] double split_messages(const Crossings& crossings, const Volumes& volumes) const;

  const Parameters& machine_;
  NodeShape node_;
};

}  // namespace laneway
