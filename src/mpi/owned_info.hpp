#pragma once

#include <mpi.h>

#include <map>
#include <string>
#include <utility>

#include "mpi/check.hpp"

namespace laneway {

/// An info object that this library has made, and frees unless it gives it away.
class OwnedInfo {
 public:
  OwnedInfo() { check_mpi(MPI_Info_create(&info_), "MPI_Info_create"); }
  /// MPI_INFO_NULL, of no texts.
  explicit OwnedInfo(const std::map<std::string, std::string>& texts) {
    if (!texts.empty()) check_mpi(MPI_Info_create(&info_), "MPI_Info_create");
    for (const auto& [key, text] : texts) set(key, text);
  }
  ~OwnedInfo() {
    if (info_ != MPI_INFO_NULL) MPI_Info_free(&info_);
  }
  OwnedInfo(const OwnedInfo&) = delete;
  OwnedInfo& operator=(const OwnedInfo&) = delete;

  /// Too long a key, or value, is cut.
  void set(const std::string& key, const std::string& value) {
    check_mpi(
        MPI_Info_set(info_, key.substr(0, MPI_MAX_INFO_KEY - 1).c_str(), value.substr(0, MPI_MAX_INFO_VAL - 1).c_str()),
        "MPI_Info_set");
  }
  [[nodiscard]] MPI_Info get() const { return info_; }
  [[nodiscard]] MPI_Info release() { return std::exchange(info_, MPI_INFO_NULL); }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

}  // namespace laneway
