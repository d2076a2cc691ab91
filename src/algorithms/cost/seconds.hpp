#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "machine/parameters.hpp"

/// From what ranks, links and hosts have to do to seconds: the one account for lanes, rules of collectives, finders,
/// setup, memory paths and cuts of partitions.
namespace laneway {

/// What carries a message: memory that its ranks share, or the MPI library inside a node or between nodes.
enum class Medium : std::uint8_t { memory, node, network };

[[nodiscard]] const Overhead& overhead(const Parameters& parameters, Medium medium);
/// What a message of so many bytes takes alone; nothing if the parameters do not say.
[[nodiscard]] std::optional<LinearCost> message_cost(const Parameters& parameters, Medium medium, std::int64_t bytes);
/// What is left of the time of a message, `alpha` and no bytes, when its ends have done their work: none of it in
/// parameters of ranks that share cores, where work is measured with the turns of the others.
[[nodiscard]] double latency(double alpha, const Overhead& work, const Parameters& parameters);
/// To combine a byte with another: it is read and written as in a copy, and the arithmetic is hidden behind that.
[[nodiscard]] double combining_seconds(const Parameters& parameters);

/// Messages of a rank, of a node, or of all ranks together.
struct Flow {
  double messages = 0;
  double bytes = 0;
  double waits = 0;  ///< times that a rank waits for some of them

  void add(const Flow& more, double times = 1) {
    messages += times * more.messages;
    bytes += times * more.bytes;
    waits += times * more.waits;
  }
  void raise(const Flow& other) {
    messages = std::max(messages, other.messages);
    bytes = std::max(bytes, other.bytes);
    waits = std::max(waits, other.waits);
  }
};

/// What one rank does, or all of them together, by what carries its messages.
struct Flows {
  Flow node = {};
  Flow network = {};
  double combined_bytes = 0;  ///< or copied
  Flow memory = {};

  void add(const Flows& more, double times = 1) {
    node.add(more.node, times);
    network.add(more.network, times);
    combined_bytes += times * more.combined_bytes;
    memory.add(more.memory, times);
  }
};

/// Of the ranks at both ends.
[[nodiscard]] double work_seconds(const Flow& flow, const Overhead& work);
[[nodiscard]] double work_seconds(const Flows& work, const Parameters& parameters);
/// Of a rank at one or both ends of a message: where only its latency is known, messages take it one after another.
[[nodiscard]] double work_seconds(const Overhead& work, int ends, double alpha);
/// Of the network of a node, where a short message takes longer than its bytes do.
[[nodiscard]] double injection_seconds(const Flow& flow, const Parameters& parameters);

/// What keeps ranks and links busy in an exchange, in seconds.
struct Load {
  double latency = 0;    ///< of messages that wait for one another
  double injection = 0;  ///< of what leaves or enters the busiest node
  double link = 0;       ///< of the bytes of the busiest rank between nodes, or of the busiest links between devices
  double processor = 0;  ///< of the work of the ranks that share the busiest processors
  double fill = 0;       ///< of the part of that work which injection and link wait for, or which waits for them
};

/// What the ranks of a host do, which matters where they share its cores.
struct HostLoad {
  double work = 0;     ///< seconds, of all of them
  double waiting = 0;  ///< ranks that wait for something
  double turns = 0;    ///< times that they do after the first, whose turn is in the overheads
  double turn = 0;     ///< seconds of one, for each rank that waits
};

/// How much of a load hides behind the rest.
struct Overlap {
  int sharpness = 6;   ///< or 3, of a norm: the largest bound, a little more where several are large; 0: it alone
  bool turns = false;  ///< turns are time of the link, of which work hides a part
};

/// Of so many nodes, those that share the cores of a host.
[[nodiscard]] double nodes_of_host(const Parameters& parameters, double nodes);
/// With what the other ranks of the host add where they share its cores: whoever waits gets one again when they have
/// had their turn, and processors are busy with the work of all.
[[nodiscard]] Load on_shared_cores(Load load, const HostLoad& host, const Parameters& parameters,
                                   const Overlap& overlap = {});
[[nodiscard]] double overlapped(const Load& load, const Overlap& overlap = {});
/// Of an exchange: both.
[[nodiscard]] double seconds(const Load& load, const HostLoad& host, const Parameters& parameters,
                             const Overlap& overlap = {});

}  // namespace laneway
