#include <algorithm>
#include <array>
#include <string>

#include "collectives/costs.hpp"
#include "collectives/rules/rules.hpp"
#include "core/error.hpp"

namespace laneway {

namespace {

constexpr std::string_view all_to_all =
    "A. Bienz and others: all-to-all for many-core nodes (talk), Algorithms 1 to 5; node-aware forms after these";
constexpr std::string_view multi_lane =
    "J. L. Traeff, S. Hunold: Decomposing MPI collectives for exploiting multi-lane communication, CLUSTER 2020";
constexpr std::string_view mpich =
    "R. Thakur, R. Rabenseifner, W. Gropp: Optimization of collective communication operations in MPICH, 2005";
constexpr std::string_view bruck_1997 =
    "J. Bruck and others: Efficient algorithms for all-to-all communications in multiport message-passing systems, "
    "1997";
constexpr std::string_view windows_2025 =
    "E. Namugwanya, A. Bienz, M. Dosanjh, A. Skjellum: RMA-based alltoallv: performance analysis, 2025";
constexpr std::string_view canonical = "operands in the order of ranks, as in MPI 4.1, 6.9.1";

constexpr std::array<DenseRule, 50> dense_rows = {{
    {Dense::alltoall, "nonblocking", "all messages at once", all_to_all, DenseTraits{}, dense::alltoall::nonblocking,
     nullptr, dense::costs::alltoall::nonblocking},
    {Dense::alltoall, "pairwise", "one partner after another", all_to_all, DenseTraits{}, dense::alltoall::pairwise,
     nullptr, dense::costs::alltoall::pairwise},
    {Dense::alltoall, "bruck", "in log2 rounds, blocks hop by powers of two", bruck_1997,
     DenseTraits{.equal_only = true, .relays = true}, dense::alltoall::bruck, nullptr, dense::costs::alltoall::bruck},
    {Dense::alltoall, "hierarchical", "one leader a node gathers, exchanges and scatters", all_to_all,
     DenseTraits{.relays = true}, dense::alltoall::hierarchical, dense::alltoall::want_hierarchical,
     dense::costs::alltoall::hierarchical},
    {Dense::alltoall, "multi_leader", "several leaders a node, each for the ranks next to it", all_to_all,
     DenseTraits{.relays = true}, dense::alltoall::multi_leader, dense::alltoall::want_multi_leader,
     dense::costs::alltoall::multi_leader},
    {Dense::alltoall, "node_aware", "each rank sends each node one message, which is handed on inside", all_to_all,
     DenseTraits{.relays = true}, dense::alltoall::node_aware, dense::alltoall::want_node_aware,
     dense::costs::alltoall::node_aware},
    {Dense::alltoall, "locality_aware", "as node_aware, with several regions a node", all_to_all,
     DenseTraits{.relays = true}, dense::alltoall::locality_aware, dense::alltoall::want_locality_aware,
     dense::costs::alltoall::locality_aware},
    {Dense::alltoall, "multi_leader_locality", "several leaders gather, send each node one message, and hand it on",
     all_to_all, DenseTraits{.relays = true}, dense::alltoall::multi_leader_locality,
     dense::alltoall::want_multi_leader_locality, dense::costs::alltoall::multi_leader_locality},
    {Dense::alltoall, "rma_fence", "each rank puts into the windows of all others, between two fences", windows_2025,
     DenseTraits{.windows = Windows::fence}, dense::alltoall::nonblocking, nullptr,
     dense::costs::alltoall::nonblocking},
    {Dense::alltoall, "rma_lock", "each rank puts into the windows of all others, which are locked once", windows_2025,
     DenseTraits{.windows = Windows::lock}, dense::alltoall::nonblocking, nullptr, dense::costs::alltoall::nonblocking},
    {Dense::allgather, "direct", "each rank sends its block to each other one", mpich, DenseTraits{},
     dense::allgather::direct, nullptr, dense::costs::allgather::direct},
    {Dense::allgather, "ring", "blocks go from rank to rank", mpich, DenseTraits{.relays = true},
     dense::allgather::ring, nullptr, dense::costs::allgather::ring},
    {Dense::allgather, "bruck", "in log2 rounds, of twice as many blocks each", bruck_1997, DenseTraits{.relays = true},
     dense::allgather::bruck, nullptr, dense::costs::allgather::bruck},
    {Dense::allgather, "node_aware", "leaders gather, exchange and broadcast", all_to_all, DenseTraits{.relays = true},
     dense::allgather::node_aware, nullptr, dense::costs::allgather::node_aware},
    {Dense::allgather, "multi_lane", "each rank to its lane in each node, then inside of nodes", multi_lane,
     DenseTraits{.relays = true}, dense::allgather::multi_lane, nullptr, dense::costs::allgather::multi_lane},
    {Dense::gather, "direct", "each rank with the root", mpich, DenseTraits{}, dense::gather::direct, nullptr,
     dense::costs::gather::direct},
    {Dense::gather, "binomial", "along a binomial tree", mpich, DenseTraits{.equal_only = true, .relays = true},
     dense::gather::binomial, nullptr, dense::costs::gather::binomial},
    {Dense::gather, "node_aware", "one message a node", all_to_all, DenseTraits{.relays = true},
     dense::gather::node_aware, dense::gather::want_node_aware, dense::costs::gather::node_aware},
    {Dense::scatter, "direct", "each rank with the root", mpich, DenseTraits{}, dense::scatter::direct, nullptr,
     dense::costs::gather::direct},
    {Dense::scatter, "binomial", "along a binomial tree", mpich, DenseTraits{.equal_only = true, .relays = true},
     dense::scatter::binomial, nullptr, dense::costs::gather::binomial},
    {Dense::scatter, "node_aware", "one message a node", all_to_all, DenseTraits{.relays = true},
     dense::scatter::node_aware, dense::scatter::want_node_aware, dense::costs::gather::node_aware},
    {Dense::bcast, "binomial", "along a binomial tree", mpich, DenseTraits{.relays = true}, dense::bcast::binomial,
     nullptr, dense::costs::tree::binomial},
    {Dense::bcast, "node_aware", "along a tree of nodes, and trees inside", all_to_all, DenseTraits{.relays = true},
     dense::bcast::node_aware, nullptr, dense::costs::tree::node_aware},
    {Dense::bcast, "chain", "from node to node and from rank to rank, in segments", mpich, DenseTraits{.relays = true},
     dense::bcast::chain, nullptr, dense::costs::tree::chain},
    {Dense::bcast, "multi_lane", "scatter on a node, along lanes, allgather on nodes", multi_lane,
     DenseTraits{.relays = true}, dense::bcast::multi_lane, nullptr, dense::costs::tree::multi_lane},
    {Dense::reduce, "direct", "each rank with the root", mpich, DenseTraits{}, dense::reduction::direct, nullptr,
     dense::costs::tree::direct},
    {Dense::reduce, "binomial", "the transpose of that of bcast", mpich, DenseTraits{.relays = true},
     dense::reduction::binomial, nullptr, dense::costs::tree::binomial},
    {Dense::reduce, "node_aware", "the transpose of that of bcast", all_to_all, DenseTraits{.relays = true},
     dense::reduction::node_aware, nullptr, dense::costs::tree::node_aware},
    {Dense::reduce, "chain", "the transpose of that of bcast", mpich, DenseTraits{.relays = true},
     dense::reduction::chain, nullptr, dense::costs::tree::chain},
    {Dense::reduce, "multi_lane", "the transpose of that of bcast", multi_lane, DenseTraits{.relays = true},
     dense::reduction::multi_lane, nullptr, dense::costs::tree::multi_lane},
    {Dense::reduce, "ordered", "from rank to rank in their order, in segments", canonical,
     DenseTraits{.in_order = true, .relays = true}, dense::reduction::ordered, nullptr, dense::costs::tree::ordered},
    {Dense::allreduce, "recursive_doubling", "in log2 rounds of the whole vector", mpich, DenseTraits{.relays = true},
     dense::allreduce::recursive_doubling, nullptr, dense::costs::allreduce::recursive_doubling},
    {Dense::allreduce, "ring", "reduce_scatter and allgather by rings", mpich, DenseTraits{.relays = true},
     dense::allreduce::ring, nullptr, dense::costs::allreduce::ring},
    {Dense::allreduce, "rabenseifner", "reduce_scatter by halves, allgather by doubling",
     "R. Rabenseifner: Optimization of collective reduction operations, ICCS 2004", DenseTraits{.relays = true},
     dense::allreduce::rabenseifner, nullptr, dense::costs::allreduce::rabenseifner},
    {Dense::allreduce, "node_aware", "one leader a node", all_to_all, DenseTraits{.relays = true},
     dense::allreduce::node_aware, nullptr, dense::costs::allreduce::node_aware},
    {Dense::allreduce, "multi_lane", "reduce_scatter on nodes, allreduce along lanes, allgather on nodes", multi_lane,
     DenseTraits{.relays = true}, dense::allreduce::multi_lane, nullptr, dense::costs::allreduce::multi_lane},
    {Dense::allreduce, "locality_aware", "each step has as many partners as a node has ranks",
     "A. Bienz, L. Olson, W. Gropp: Node-aware improvements to allreduce, ExaMPI 2019", DenseTraits{.relays = true},
     dense::allreduce::locality_aware, nullptr, dense::costs::allreduce::locality_aware},
    {Dense::allreduce, "ordered", "each rank combines its part in the order of ranks", canonical,
     DenseTraits{.in_order = true}, dense::allreduce::ordered, nullptr, dense::costs::allreduce::ordered},
    {Dense::reduce_scatter, "pairwise", "each part goes to its rank, which combines in the order of ranks", mpich,
     DenseTraits{.in_order = true}, dense::reduce_scatter::pairwise, nullptr, dense::costs::reduce_scatter::pairwise},
    {Dense::reduce_scatter, "ring", "the transpose of that of allgather", mpich, DenseTraits{.relays = true},
     dense::reduce_scatter::ring, nullptr, dense::costs::reduce_scatter::ring},
    {Dense::reduce_scatter, "recursive_halving", "in log2 rounds of half as much each", mpich,
     DenseTraits{.relays = true}, dense::reduce_scatter::recursive_halving, nullptr,
     dense::costs::reduce_scatter::recursive_halving},
    {Dense::reduce_scatter, "node_aware", "the transpose of multi_lane of allgather", multi_lane,
     DenseTraits{.relays = true}, dense::reduce_scatter::node_aware, nullptr, dense::costs::reduce_scatter::node_aware},
    {Dense::scan, "recursive_doubling", "in log2 rounds", "W. D. Hillis, G. L. Steele: Data parallel algorithms, 1986",
     DenseTraits{.relays = true}, dense::scan::recursive_doubling, nullptr, dense::costs::scan::recursive_doubling},
    {Dense::scan, "linear", "from rank to rank, in segments", canonical, DenseTraits{.in_order = true, .relays = true},
     dense::scan::linear, nullptr, dense::costs::scan::linear},
    {Dense::scan, "node_aware", "inside of nodes, between them, and back", all_to_all, DenseTraits{.relays = true},
     dense::scan::node_aware, nullptr, dense::costs::scan::node_aware},
    {Dense::exscan, "recursive_doubling", "in log2 rounds",
     "W. D. Hillis, G. L. Steele: Data parallel algorithms, 1986", DenseTraits{.relays = true},
     dense::scan::recursive_doubling, nullptr, dense::costs::scan::recursive_doubling},
    {Dense::exscan, "linear", "from rank to rank, in segments", canonical,
     DenseTraits{.in_order = true, .relays = true}, dense::scan::linear, nullptr, dense::costs::scan::linear},
    {Dense::exscan, "node_aware", "inside of nodes, between them, and back", all_to_all, DenseTraits{.relays = true},
     dense::scan::node_aware, nullptr, dense::costs::scan::node_aware},
    {Dense::barrier, "dissemination", "in log2 rounds",
     "D. Hensgen, R. Finkel, U. Manber: Two algorithms for barrier synchronization, 1988", DenseTraits{.relays = true},
     dense::barrier::dissemination, nullptr, dense::costs::barrier::dissemination},
    {Dense::barrier, "node_aware", "leaders by dissemination, the others with them", all_to_all,
     DenseTraits{.relays = true}, dense::barrier::node_aware, nullptr, dense::costs::barrier::node_aware},
}};

}  // namespace

std::span<const DenseRule> dense_rules() {
  return dense_rows;
}

const DenseRule& find_dense_rule(Dense kind, std::string_view name) {
  std::string names;
  for (const DenseRule& rule : dense_rows) {
    if (rule.kind != kind) continue;
    if (rule.name == name) return rule;
    names += (names.empty() ? "" : ", ") + std::string(rule.name);
  }
  throw Error(ErrorKind::info,
              "unknown rule '" + std::string(name) + "' for " + laneway::name(kind) + "; valid are auto, " + names);
}

bool applies(const DenseRule& rule, const DenseFacts& facts) {
  return rule.kind == facts.kind && (facts.equal || !rule.traits.equal_only) &&
         (!facts.in_order || rule.traits.in_order);
}

std::vector<Want> wanted_sizes(const DenseRule& rule, Rank rank, Rank root, const Layout& layout,
                               const DenseSettings& settings) {
  return rule.wants == nullptr ? std::vector<Want>{} : rule.wants(rank, root, layout, settings);
}

Plan make_dense_plan(const DenseRule& rule, const DenseCall& call, const Layout& layout,
                     const DenseSettings& settings) {
  LANEWAY_ASSERT(rule.kind == call.kind && call.combination.element_bytes > 0);
  require(rule.traits.in_order || !reduces(call.kind) || !call.combination.in_order, ErrorKind::argument,
          "dense: a rule that exchanges operands was asked for an operator whose operands are in order");
  Schedule schedule(call.rank);
  rule.write(schedule, call, layout, settings);
  return schedule.take();
}

}  // namespace laneway
