#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/cost/seconds.hpp"
#include "base/bytes/types.hpp"
#include "machine/machine.hpp"
#include "machine/parameters.hpp"
#include "plan/plan.hpp"

namespace laneway {

inline constexpr std::size_t stages = 4;

/// Equal messages between two ranks.
struct Hop {
  Stage stage = Stage::direct;
  LinkClass link = LinkClass::network;
  bool shared = false;  ///< handed over in memory that the two ranks share
  std::int64_t messages = 1;
  std::int64_t bytes = 0;  ///< of all of them
};

/// What the models say of an exchange, in seconds.
struct Prediction : Load {
  double seconds = 0;  ///< of the whole exchange

  /// Of the busiest rank, by stage and LinkClass, one message after another.
  std::array<std::array<double, link_classes>, stages> parts{};

  [[nodiscard]] double part(Stage stage) const;
  /// Takes the larger of each number.
  void merge(const Prediction& other);
};

/// One of the things that the overlap model puts together.
struct Bound {
  const char* name;
  double Prediction::*seconds;
};
inline constexpr std::array<Bound, 4> bounds = {{{"latency", &Prediction::latency},
                                                 {"injection", &Prediction::injection},
                                                 {"link", &Prediction::link},
                                                 {"processor", &Prediction::processor}}};

/// Calls f with the same number of each of the predictions, one number after another, always in the same order.
template <class F, class... P>
void for_each_number(F&& f, P&... predictions) {
  f(predictions.seconds...);
  for (const Bound& bound : bounds) f(predictions.*bound.seconds...);
  f(predictions.fill...);
  for (std::size_t s = 0; s < stages; ++s)
    for (std::size_t l = 0; l < link_classes; ++l) f(predictions.parts[s][l]...);
}

/// How costs are put together.
enum class ModelKind : std::uint8_t {
  postal,    ///< alpha + beta * bytes for each message, of the busiest rank in each stage
  max_rate,  ///< the same, with the bound on what a node can inject
  overlap    ///< stages overlap: latency, and the largest of injection, link and processor time
};
[[nodiscard]] const char* name(ModelKind kind);

/// The messages of the ranks of one node (or of another region), and what they cost.
///
/// - postal: W. Gropp, L. Olson, P. Samfass: Modeling MPI communication performance on SMP nodes (2016), as in
/// Lockhart,
///   Bienz, Gropp, Olson: Characterizing the performance of node-aware strategies, Equation 2.1
/// - max-rate: the same, Equation 2.2
/// - overlap: after LogGP (Alexandrov et al. 1995, overhead and gap for bytes), with the time of searching message
/// queues
///   (Bienz, Gropp, Olson: Improving performance models for irregular point-to-point communication, 2018) and ranks
///   that share processors
class NodeLoad {
 public:
  /// `combined`: seconds for each byte that is sent, of an exchange that is run backwards: it comes back, and is
  /// combined with what is there.
  explicit NodeLoad(const Region& region, double combined = 0);

  void send(Rank rank, const Hop& hop, const Parameters& parameters);
  void receive(Rank rank, const Hop& hop, const Parameters& parameters);
  /// Combines so many bytes with what is there.
  void combine(Rank rank, Stage stage, std::int64_t bytes, const Parameters& parameters);
  /// What was handed on inside the node in such a message is handed on once more.
  void hand_on_again(const Hop& hop, const Parameters& parameters);
  /// For so many seconds all this keeps the busiest links between the devices of the node.
  void pass_links(double seconds) { device_links_ = seconds; }

  /// Of these ranks alone.
  [[nodiscard]] HostLoad host_load(const Parameters& parameters) const;
  [[nodiscard]] Prediction predict(const Parameters& parameters, ModelKind kind, HostLoad host) const;

 private:
  using Direction = std::array<std::array<LinearCost, link_classes>, stages>;
  struct RankLoad {
    Direction sent;
    Direction received;
    double processor = 0;
    double posted = 0;                   ///< receives of the MPI library
    bool crosses = false;                ///< sends to another node, or receives from there
    std::array<double, stages> waits{};  ///< seconds; 0: for nothing
  };
  enum Way : std::uint8_t { out, in };
  /// Of each stage, the most of any rank in either direction.
  using StageCosts = std::array<LinearCost, stages>;

  void add_traffic(const RankLoad& rank, Prediction& result, StageCosts& costs) const;
  [[nodiscard]] int turns() const;
  [[nodiscard]] static double max_rate(const StageCosts& costs, const Prediction& result, double injection);
  void add(Rank rank, const Hop& hop, const Parameters& parameters, Way way);
  [[nodiscard]] RankLoad& load_of(Rank rank);
  [[nodiscard]] static double processor(const RankLoad& rank, const Parameters& parameters);
  [[nodiscard]] double shared_byte(const Hop& hop, const Parameters& parameters) const;
  [[nodiscard]] double fill(const Parameters& parameters) const;
  [[nodiscard]] double fill_of_own_cores(double busiest) const;

  std::vector<Rank> members_;
  std::vector<RankLoad> ranks_;
  std::array<std::array<bool, link_classes>, stages> used_{};  // by some rank
  std::array<double, stages> latency_{};
  double again_ = 0;                  ///< latency of what is handed on more than once
  std::array<double, stages> one_{};  ///< work of both ends of one message, and the wait for it
  std::array<double, stages> work_{};
  std::array<double, 2> crossings_{};  ///< messages between nodes
  std::array<double, 2> injection_{};
  double device_links_ = 0;  ///< seconds
  double combined_ = 0;
};

/// The largest numbers of all nodes. Those of one host, if it has several, are taken to be like the average.
[[nodiscard]] Prediction predict(std::span<const NodeLoad> nodes, const Parameters& parameters,
                                 ModelKind kind = ModelKind::overlap);

/// Messages inside a node that nobody relays share memory up to this size, unless `lnw_local_message` says otherwise.
/// The MPI library copies larger ones once, which is faster between cores with caches of their own. Of messages that
/// none answers, half as large ones share memory; predictions do not tell these apart.
inline constexpr std::int64_t default_mailbox_bytes = 16384;

/// Of the exchange that the plans of all ranks make together. The plans are those that verify checks, before messages
/// inside nodes are replaced; `shares_memory`: whether these go through memory of the node instead, as far as they are
/// relayed or no larger than `mailbox_bytes`.
[[nodiscard]] Prediction predict(std::span<const Plan> plans, const Machine& machine, const Parameters& parameters,
                                 ModelKind kind, bool shares_memory = true,
                                 std::int64_t mailbox_bytes = default_mailbox_bytes);

}  // namespace laneway
