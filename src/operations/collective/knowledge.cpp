#include "operations/collective/knowledge.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/simulated.hpp"
#include "communicator/arguments/dense_blocks.hpp"
#include "communicator/control/check_edges.hpp"
#include "communicator/control/control_rounds.hpp"
#include "mpi/check.hpp"
#include "operations/choose/agreed.hpp"
#include "operations/choose/costs.hpp"
#include "operations/choose/quick_calibration.hpp"
#include "operations/collective/own_collectives.hpp"
#include "operations/pipeline/pipeline.hpp"
#include "runtime/device/plugin.hpp"

namespace laneway {

namespace {

/// Where a rank is, as it says itself.
struct Placed {
  Rank node = 0;
  bool has_devices = false;
  HostShare share;
};

/// Those that do not say whether ranks share cores, as no measured ones do: with what the busiest host says.
std::shared_ptr<const Parameters> with_cores(std::shared_ptr<const Parameters> parameters,
                                             const std::vector<Placed>& all) {
  const auto ratio = [](const Placed& one) { return one.share.cores > 0 ? one.share.nodes : 0; };
  const Placed& busiest = *std::ranges::max_element(all, {}, ratio);
  if (parameters->cores > 0 || busiest.share.cores == 0) return parameters;
  Parameters shared = *parameters;
  shared.cores = busiest.share.cores;
  shared.host_nodes = busiest.share.nodes;
  return std::make_shared<const Parameters>(std::move(shared));
}

/// With what MPI's own operations take, as a machine file has it of ranks for which it was measured.
std::shared_ptr<const Parameters> with_own_collectives(Parameters parameters, const PrivateComm& comm, Rank nodes) {
  parameters.own_collectives = time_own_collectives(comm, nodes);
  return std::make_shared<const Parameters>(std::move(parameters));
}

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(by, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

bool is_some_rule(std::string_view name) {
  return std::ranges::any_of(dense_rules(), [&](const DenseRule& rule) { return rule.name == name; });
}

std::string valid_names(const Dense* kind) {
  std::vector<std::string_view> names = {"auto", "mpi"};
  for (const DenseRule& rule : dense_rules())
    if ((kind == nullptr || rule.kind == *kind) && std::ranges::count(names, rule.name) == 0)
      names.push_back(rule.name);
  std::string valid;
  for (const std::string_view name : names) valid += (valid.empty() ? "" : ", ") + std::string(name);
  return valid;
}

/// Whether an operation, or operations of which it is a form, are called so.
bool is_called(std::string_view operation, DenseKind kind) {
  return operation == name(kind) || operation == name(family_of(kind));
}

/// Of the operations that are called so.
Dense family_called(const std::string& text, std::string_view operation) {
  for (int number = 1; number <= static_cast<int>(DenseKind::barrier); ++number)
    if (is_called(operation, static_cast<DenseKind>(number))) return family_of(static_cast<DenseKind>(number));
  throw Error(ErrorKind::info, "lnw_collective=" + text + ": " + std::string(operation) + " is no dense operation");
}

}  // namespace

std::shared_ptr<const DenseKnowledge> learn_dense(Communicator& communicator, const PrivateComm& comm,
                                                  const Hints& hints, bool translate, bool have_helpers) {
  std::shared_ptr<const DenseKnowledge>& known = communicator.attachment<KnownDense>().by_hints[hints.fingerprint()];
  if (known) return known;
  const Region node = communicator.regions(hints, translate).front();
  const Region sharing = find_sharing(communicator, hints, translate);
  std::shared_ptr<const Parameters> parameters = parameters_of(communicator, comm, hints, sharing);
  const std::vector<Placed> all =
      gather_progressing(comm, Placed{node.id, !device_plugins().empty(), share_of_host(node.members.size())});
  std::vector<Rank> nodes;
  for (const Placed& one : all) nodes.push_back(one.node);
  const bool have_devices = std::ranges::all_of(all, [](const Placed& one) { return one.has_devices; });
  Layout layout(nodes);
  parameters = with_cores(std::move(parameters), all);
  if (hints.parameters == measured_parameters && layout.largest() > 1)
    parameters = with_own_collectives(*parameters, comm, layout.regions());
  known = std::make_shared<const DenseKnowledge>(
      DenseKnowledge{hints, std::move(layout), have_helpers, node, sharing, std::move(parameters), have_devices});
  return known;
}

std::shared_ptr<const DenseKnowledge> know_dense(Communicator& communicator) {
  const std::shared_ptr<PrivateComm> comm = communicator.private_comm();
  KnownDense& known = communicator.attachment<KnownDense>();
  if (known.own) return known.own;
  known.own = together(*comm, [&] {
    Hints hints;
    const Agreement agreement = agree_on_hints(communicator, *comm, MPI_INFO_NULL, hints, [&](Proposal&) {
      (void)read_collective(hints.collective, DenseKind::barrier);
    });
    return learn_dense(communicator, *comm, hints, agreement.knows_nodes, agreement.have_helpers);
  });
  return known.own;
}

const DenseRule* find_rule(Dense kind, std::string_view name) {
  for (const DenseRule& rule : dense_rules())
    if (rule.kind == kind && rule.name == name) return &rule;
  return nullptr;
}

CollectiveHint read_collective(const std::string& text, DenseKind kind) {
  CollectiveHint hint;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t colon = part.find(':');
    const bool is_for_one = colon != std::string_view::npos;
    const std::string_view name = is_for_one ? part.substr(colon + 1) : part;
    const Dense family = is_for_one ? family_called(text, part.substr(0, colon)) : family_of(kind);
    const bool is_word = name == "auto" || name == "mpi";
    require(is_word || is_some_rule(name), ErrorKind::info,
            [&] { return "lnw_collective=" + text + ": valid are " + valid_names(nullptr); });
    const DenseRule* const rule = is_word ? nullptr : find_rule(family, name);
    require(is_word || rule != nullptr || !is_for_one, ErrorKind::info, [&] {
      return "lnw_collective=" + text + ": of " + laneway::name(family) + " valid are " + valid_names(&family);
    });
    if (!is_for_one || is_called(part.substr(0, colon), kind)) hint = {name == "mpi", rule};
  }
  return hint;
}

void compare_collective(const PrivateComm& comm, const CollectiveCall& call, std::int64_t block_bytes) {
  std::string text = name(call.kind);
  const auto add_bytes = [&](std::int64_t bytes, const char* of) {
    text += ", " + std::to_string(bytes) + " bytes in " + of;
  };
  if (has_root(call.kind)) text += ", root " + std::to_string(call.root);
  if (reduces(call.kind)) {
    MPI_Count size = 0;
    check_mpi(MPI_Type_size_x(call.receive.type, &size), "MPI_Type_size_x");
    text += std::string(", op ") + operator_name(call.op);
    add_bytes(size, "datatype");
  }
  if (const char* const count = row_of(call.kind).receive.count) add_bytes(block_bytes, count);
  check_same(comm, "the call is", text, MPI_ERR_ARG);
}

}  // namespace laneway
