#include "output/provenance.hpp"

#include <sched.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <utility>

#include "base/json.hpp"
#include "output/format.hpp"

namespace laneway::bench {

namespace {

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

int usable_processors() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                     : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
}

std::string utc_now() {
  const std::time_t time = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

Json& known_provenance() {
  static Json all = {{"schema", schema_number}, {"version", build_version()}, {"commit", build_commit()},
                     {"date", utc_now()},       {"host", host_name()},        {"processors", usable_processors()}};
  return all;
}

}  // namespace

const Json& provenance() {
  return known_provenance();
}

void add_provenance(const Json& more) {
  known_provenance().update(more);
}

Json with_provenance(Json record) {
  record["run"] = provenance();
  return record;
}

void append_record(const std::string& path, Json record) {
  append_line(path, with_provenance(std::move(record)).dump());
}

}  // namespace laneway::bench
