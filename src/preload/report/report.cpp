#include "preload/report/report.hpp"

#include <dlfcn.h>
#include <link.h>
#include <mpi.h>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/log_line.hpp"
#include "preload/calls/gather.hpp"
#include "preload/p2p/point_to_point.hpp"
#include "preload/report/report_forms.hpp"
#include "preload/report/rows.hpp"
#include "preload/settings.hpp"

namespace laneway::interpose {

namespace {

constexpr std::size_t rows_on_stderr = 20;
constexpr double default_wait = 30;
double began = 0;

bool uses_petsc() {
  if (dlsym(RTLD_DEFAULT, "PetscInitialize") != nullptr) return true;
  return dl_iterate_phdr(
             [](dl_phdr_info* library, std::size_t, void*) {
               const std::string_view path = library->dlpi_name;
               return path.substr(path.rfind('/') + 1).starts_with("libpetsc") ? 1 : 0;
             },
             nullptr) != 0;
}

std::string note() {
  const char* const set = std::getenv("LANEWAY_PRELOAD_PETSC");
  if (set == nullptr || std::string_view(set) != "neighbor" || !uses_petsc()) return "";
  return "laneway run has had PETSc call neighborhood collectives (-sf_type neighbor in PETSC_OPTIONS).";
}

double seconds_to_wait() {
  const char* const text = std::getenv("LANEWAY_REPORT_WAIT");
  const double seconds = text != nullptr ? std::atof(text) : 0;
  return seconds > 0 ? seconds : default_wait;
}

/// What this rank has counted, by MPI function.
void log_counts(const Summary& own) {
  struct Counts {
    std::int64_t taken = 0;
    std::map<std::string, std::int64_t> left;
  };
  std::map<std::string, Counts> calls;
  for (const auto& [key, row] : own.rows) {
    Counts& counts = calls[std::get<2>(key)];
    counts.taken += row.taken;
    for (const auto& [reason, count] : row.left) counts.left[reason] += count;
  }
  if (calls.empty())
    log_line("preload: the program has called no neighborhood operation, so there was nothing to do" +
             std::string(uses_petsc() ? "; PETSc calls them with -sf_type neighbor" : ""));
  for (const auto& [name, found] : calls) {
    if (found.taken > 0) log_line("preload: " + name + ": " + std::to_string(found.taken) + " taken over (rank 0)");
    for (const auto& [reason, count] : found.left)
      log_line("preload: " + name + ": " + std::to_string(count) + " left to the MPI library (rank 0): " + reason);
  }
}

/// Where more is said; empty where that cannot be written.
std::string write(const std::string& file, const std::string& text) {
  std::ofstream out(file);
  if (out << text && out.flush()) return file;
  log_line("LANEWAY_REPORT: cannot write " + file);
  return "";
}

/// One line, if anything was taken over. `where`: what says more, or nothing.
void say_line(const Summary& summary, const std::string& where) {
  const Verdict found = verdict(summary);
  if (found.measured + found.unmeasured == 0) return;
  log_line(sentence(summary) + (where.empty() ? "" : " " + where + " says more.") +
           (note().empty() ? "" : " " + note()));
}

void say(const Summary& summary, const ReportWanted& wanted) {
  switch (wanted.form) {
    case ReportForm::none:
      return;
    case ReportForm::line:
      return say_line(summary, "LANEWAY_REPORT=1");
    case ReportForm::table:
      return log_line("what the preload saved\n" + as_table(summary, note(), rows_on_stderr));
    case ReportForm::text:
      return say_line(summary, write(wanted.file, as_table(summary, note(), 0)));
    case ReportForm::json:
      const std::string written = write(wanted.file, as_json(summary, note()));
      say_line(summary, written);
      if (!wanted.page.empty() && !written.empty())
        log_line("`laneway report " + written + " -o " + wanted.page + "` makes a page of it.");
  }
}

}  // namespace

void begin_report() {
  began = PMPI_Wtime();
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0 && !report_wanted().complaint.empty()) log_line(report_wanted().complaint);
}

void report() {
  try {
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    Summary own = own_summary();
    own.elapsed = PMPI_Wtime() - began;
    if (rank == 0 && is_verbose("interpose")) log_counts(own);
    const ReportWanted& wanted = report_wanted();
    const Wish wish = wants_rows() ? Wish::always : wanted.form == ReportForm::none ? Wish::never : Wish::if_any;
    const auto say_it = [&](const Summary& summary) { say(summary, wanted); };
    own.point_to_point = p2p::of_all_ranks;
    if (p2p::of_all_ranks && p2p::of_all_ranks->taken > 0 && wanted.form != ReportForm::none)
      log_line("preload: " + sentence(*p2p::of_all_ranks));
    const std::optional<Summary> all = gather(std::move(own), wish, seconds_to_wait(), say_it);
    if (all) say_it(*all);
  } catch (const std::exception& error) {
    log_line(std::string("no report: ") + error.what());
  }
}

}  // namespace laneway::interpose
