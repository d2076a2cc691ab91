#include "mpi/reasons.hpp"

#include <sstream>

#include "core/readable.hpp"
#include "core/tell.hpp"
#include "transport/p2p.hpp"

namespace laneway {

MPI_Info info_of(const Reasons& reasons) {
  MPI_Info info = MPI_INFO_NULL;
  check_mpi(MPI_Info_create(&info), "MPI_Info_create");
  const auto set = [&](const std::string& key, const std::string& value) {
    check_mpi(MPI_Info_set(info, key.c_str(), value.c_str()), "MPI_Info_set");
  };
  set("lnw_strategy", reasons.strategy);
  if (!reasons.selection.predictions.empty()) set("lnw_parameters", reasons.parameters);
  for (std::size_t c = 0; c < reasons.selection.predictions.size(); ++c) {
    const Prediction& prediction = reasons.selection.predictions[c];
    std::ostringstream numbers;
    numbers << prediction.seconds;
    for (const Bound& bound : bounds) numbers << ' ' << prediction.*bound.seconds;
    set("lnw_cost_" + reasons.candidates[c], numbers.str());
  }
  for (const Reasons::Measured& measured : reasons.measured) {
    std::ostringstream seconds;
    seconds << measured.seconds;
    set("lnw_measured_" + measured.strategy, seconds.str());
  }
  if (!reasons.remembered.empty()) set("lnw_remembered", reasons.remembered);
  if (!reasons.path_reason.empty()) {
    set("lnw_memory_path", std::string(name(reasons.path)));
    set("lnw_memory_path_reason", reasons.path_reason);
  }
  for (const auto& [path, predicted] : reasons.path_seconds) {
    std::ostringstream seconds;
    seconds << predicted;
    set("lnw_path_cost_" + std::string(name(path)), seconds.str());
  }
  return info;
}

namespace {

void tell_path(const Reasons& reasons) {
  if (reasons.path_seconds.empty()) return;
  std::string text = "memory path " + std::string(name(reasons.path)) + ", " + reasons.path_reason;
  for (const auto& [path, seconds] : reasons.path_seconds)
    text += "\n  " + std::string(name(path)) + ": " + readable_seconds(seconds);
  tell(text);
}

}  // namespace

void tell_reasons(const Reasons& reasons, Rank rank) {
  if (rank != 0 || !is_verbose()) return;
  tell_path(reasons);
  if (reasons.candidates.empty()) return;
  std::ostringstream text;
  text << "strategy " << reasons.strategy;
  if (!reasons.remembered.empty())
    text << ", remembered in " << reasons.remembered;
  else if (!reasons.measured.empty())
    text << ", measured";
  else if (reasons.selection.predictions.empty())
    text << ": all ranks are in one region, so there is nothing to relay";
  else
    text << ", chosen with the parameters '" << reasons.parameters << "'";
  for (std::size_t c = 0; c < reasons.selection.predictions.size(); ++c) {
    const Prediction& prediction = reasons.selection.predictions[c];
    text << "\n  " << reasons.candidates[c] << ": " << readable_seconds(prediction.seconds);
    const char* separator = " (";
    for (const Bound& bound : bounds) {
      text << separator << bound.name << ' ' << readable_seconds(prediction.*bound.seconds);
      separator = ", ";
    }
    text << ')';
    for (const Reasons::Measured& measured : reasons.measured)
      if (measured.strategy == reasons.candidates[c]) text << ", measured " << readable_seconds(measured.seconds);
  }
  tell(text.str());
}

}  // namespace laneway
