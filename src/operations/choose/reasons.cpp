#include "operations/choose/reasons.hpp"

#include <sstream>
#include <utility>

#include "algorithms/cost/load.hpp"
#include "base/log_line.hpp"
#include "base/readable.hpp"
#include "mpi/check.hpp"
#include "mpi/owned_info.hpp"

namespace laneway {

MPI_Info info_of(const Reasons& reasons) {
  OwnedInfo info;
  const auto set = [&](const std::string& key, const std::string& value) { info.set(key, value); };
  const auto number = [](double value) {
    std::ostringstream text;
    text << value;
    return text.str();
  };
  set("lnw_strategy", reasons.strategy);
  if (reasons.has_costs()) set("lnw_parameters", reasons.parameters);
  for (const Candidate& candidate : reasons.candidates) {
    if (!candidate.seconds) continue;
    std::string numbers = number(*candidate.seconds);
    for (const double bound : candidate.bounds) numbers += ' ' + number(bound);
    set("lnw_cost_" + candidate.name, numbers);
  }
  for (const Reasons::Measured& measured : reasons.measured)
    set("lnw_measured_" + measured.strategy, number(measured.seconds));
  if (!reasons.remembered.empty()) set("lnw_remembered", reasons.remembered);
  if (!reasons.rule_reason.empty()) set("lnw_reason", reasons.rule_reason);
  if (!reasons.progress_by.empty()) set("lnw_progress_by", reasons.progress_by);
  if (!reasons.progress_reason.empty()) set("lnw_progress_reason", reasons.progress_reason);
  if (!reasons.transport_reason.empty()) set("lnw_transport_reason", reasons.transport_reason);
  if (!reasons.path_reason.empty()) {
    set("lnw_memory_path", std::string(name(reasons.path)));
    set("lnw_memory_path_reason", reasons.path_reason);
  }
  for (const auto& [path, predicted] : reasons.path_seconds)
    set("lnw_path_cost_" + std::string(name(path)), number(predicted));
  return info.release();
}

namespace {

void log_path(const Reasons& reasons) {
  if (reasons.path_seconds.empty()) return;
  std::string text = "memory path " + std::string(name(reasons.path)) + ", " + reasons.path_reason;
  for (const auto& [path, seconds] : reasons.path_seconds)
    text += "\n  " + std::string(name(path)) + ": " + readable_seconds(seconds);
  log_line(text);
}

}  // namespace

void log_reasons(const Reasons& reasons, Rank rank) {
  if (rank != 0 || !is_verbose("choose")) return;
  log_path(reasons);
  if (!reasons.transport_reason.empty()) log_line("lnw_transport: " + reasons.transport_reason);
  if (!reasons.progress_reason.empty()) log_line("strategy " + reasons.strategy + ": " + reasons.progress_reason);
  if (!reasons.rule_reason.empty()) log_line("rule " + reasons.strategy + ": " + reasons.rule_reason);
  if (reasons.candidates.empty() || !reasons.rule_reason.empty()) return;
  std::ostringstream text;
  text << "strategy " << reasons.strategy;
  if (!reasons.remembered.empty())
    text << ", remembered in " << reasons.remembered;
  else if (!reasons.measured.empty())
    text << ", measured";
  else if (!reasons.has_costs())
    text << (reasons.one_region ? ": all ranks are in one region, so there is nothing to relay"
                                : ": there is no other to choose from");
  else
    text << (reasons.is_trial ? ", to be tried: of those that relay it should be the fastest" : ", chosen")
         << " with the parameters '" << reasons.parameters << "'";
  for (const Candidate& candidate : reasons.candidates) {
    if (!candidate.seconds) continue;
    text << "\n  " << candidate.name << ": " << readable_seconds(*candidate.seconds);
    const char* separator = " (";
    for (std::size_t b = 0; b < candidate.bounds.size(); ++b) {
      text << separator << bounds[b].name << ' ' << readable_seconds(candidate.bounds[b]);
      separator = ", ";
    }
    text << ')';
    for (const Reasons::Measured& measured : reasons.measured)
      if (measured.strategy == candidate.name) text << ", measured " << readable_seconds(measured.seconds);
  }
  log_line(text.str());
}

}  // namespace laneway
