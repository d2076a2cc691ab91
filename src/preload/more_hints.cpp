#include "preload/more_hints.hpp"

#include <cstdlib>

#include "algorithms/trials/expected_exchanges.hpp"

namespace laneway::interpose {

namespace {

bool has(MPI_Info info, const char* key) {
  int length = 0;
  int found = 0;
  return info != MPI_INFO_NULL && PMPI_Info_get_valuelen(info, key, &length, &found) == MPI_SUCCESS && found;
}

}  // namespace

MoreHints::MoreHints(MPI_Info given) {
  const int code = given == MPI_INFO_NULL ? PMPI_Info_create(&info_) : PMPI_Info_dup(given, &info_);
  if (code != MPI_SUCCESS) info_ = MPI_INFO_NULL;
  if (std::getenv("LANEWAY_EXCHANGES") == nullptr && !has(info_, "lnw_exchanges"))
    set("lnw_exchanges", exchanges_of_programs);
}

MoreHints::~MoreHints() {
  if (info_ != MPI_INFO_NULL) PMPI_Info_free(&info_);
}

void MoreHints::set(const char* key, const char* value) {
  if (info_ != MPI_INFO_NULL) PMPI_Info_set(info_, key, value);
}

}  // namespace laneway::interpose
