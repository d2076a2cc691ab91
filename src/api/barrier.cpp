#include "api/barrier.hpp"

#include <map>
#include <mutex>
#include <new>
#include <string>
#include <tuple>

#include "base/log_line.hpp"
#include "base/simulated.hpp"
#include "mpi/attribute_key.hpp"

namespace laneway {

namespace {

int error_class(ErrorKind kind, int mpi_class) {
  switch (kind) {
    case ErrorKind::argument:
      return MPI_ERR_ARG;
    case ErrorKind::count:
      return MPI_ERR_COUNT;
    case ErrorKind::type:
      return MPI_ERR_TYPE;
    case ErrorKind::rank:
      return MPI_ERR_RANK;
    case ErrorKind::topology:
      return MPI_ERR_TOPOLOGY;
    case ErrorKind::communicator:
      return MPI_ERR_COMM;
    case ErrorKind::request:
      return MPI_ERR_REQUEST;
    case ErrorKind::buffer:
      return MPI_ERR_BUFFER;
    case ErrorKind::info:
      return MPI_ERR_INFO_VALUE;
    case ErrorKind::io:
      return MPI_ERR_IO;
    case ErrorKind::unsupported:
      return MPI_ERR_UNSUPPORTED_OPERATION;
    case ErrorKind::mpi:
      return mpi_class != 0 ? mpi_class : MPI_ERR_OTHER;
    case ErrorKind::device:
    case ErrorKind::internal:
      return MPI_ERR_OTHER;
  }
  return MPI_ERR_OTHER;
}

/// Some MPI libraries take no constant text.
int add_error_string(int code, const std::string& text) {
  return MPI_Add_error_string(code, const_cast<char*>(text.c_str()));
}

/// A new error code whose text can be set. MPICH loses the texts of codes in the classes of the standard; there it is
/// in a class of its own.
int new_code(ErrorKind kind, int mpi_class) {
  const auto keeps_text = [](int code) {
    const std::string probe = "laneway";
    if (add_error_string(code, probe) != MPI_SUCCESS) return false;
    char text[MPI_MAX_ERROR_STRING + 1] = {};
    int length = 0;
    return MPI_Error_string(code, text, &length) == MPI_SUCCESS && text == probe;
  };
  const int wanted = error_class(kind, mpi_class);
  int code = wanted;
  if (MPI_Add_error_code(wanted, &code) == MPI_SUCCESS && keeps_text(code)) return code;
  int own_class = MPI_ERR_OTHER;
  if (MPI_Add_error_class(&own_class) != MPI_SUCCESS) return wanted;
  add_error_string(own_class, name(kind));
  return MPI_Add_error_code(own_class, &code) == MPI_SUCCESS ? code : own_class;
}

/// One code for each kind, and each class of MPI's own errors, made when first needed; its text is that of the last
/// error.
int code_with_text(ErrorKind kind, const std::string& text, int mpi_class = 0) {
  if constexpr (simulated) {
    log_line(text);
    return error_class(kind, mpi_class);
  }
  static std::mutex mutex;
  static std::map<std::tuple<int, ErrorKind, int>, int> codes;
  const std::lock_guard lock(mutex);
  const std::tuple key(mpi_instance(), kind, mpi_class);
  auto it = codes.find(key);
  if (it == codes.end()) it = codes.emplace(key, new_code(kind, mpi_class)).first;
  add_error_string(it->second, text.substr(0, MPI_MAX_ERROR_STRING - 1));
  return it->second;
}

}  // namespace

int error_code(const char* call, int rank) noexcept {
  try {
    const std::string where = std::string(call) + " on rank " + std::to_string(rank) + ": ";
    try {
      throw;
    } catch (const Error& error) {
      return code_with_text(error.kind(), where + error.what(), error.mpi_class());
    } catch (const std::bad_alloc&) {
      return code_with_text(ErrorKind::internal, where + "out of memory");
    } catch (const std::exception& error) {
      return code_with_text(ErrorKind::internal, where + error.what());
    }
  } catch (...) {
    return MPI_ERR_OTHER;
  }
}

namespace {

/// Where no function of MPI can be called, nobody can be asked what to do: the text is written.
int raise_without_mpi(const char* call) noexcept {
  try {
    try {
      throw;
    } catch (const Error& error) {
      log_line(std::string(call) + ": " + error.what());
      return error_class(error.kind(), error.mpi_class());
    } catch (const std::exception& error) {
      log_line(std::string(call) + ": " + error.what());
    }
  } catch (...) {
  }
  return MPI_ERR_OTHER;
}

}  // namespace

int raise_on(MPI_Comm comm, const char* call) noexcept {
  if (!is_running(comm)) return raise_without_mpi(call);
  const MPI_Comm target = comm == MPI_COMM_NULL ? MPI_COMM_WORLD : comm;
  int rank = -1;
  MPI_Comm_rank(target, &rank);
  const int code = error_code(call, rank);
  call_error_handler(target, code);
  return code;
}

int raise_on(LNW_Request request, const char* call) noexcept {
  if (request == LNW_REQUEST_NULL) return raise_on(MPI_COMM_WORLD, call);
  if (is_too_late()) return raise_without_mpi(call);
  const int code = error_code(call, request_of(request).rank());
  request_of(request).call_error_handler(code);
  return code;
}

int raise_on(const Requests& requests, const char* call) noexcept {
  for (int i = 0; requests.array != nullptr && i < requests.count; ++i)
    if (requests.array[i] != LNW_REQUEST_NULL) return raise_on(requests.array[i], call);
  return raise_on(LNW_REQUEST_NULL, call);
}

int raise_on(LNW_Topology topology, const char* call) noexcept {
  if (topology == LNW_TOPOLOGY_NULL) return raise_on(MPI_COMM_WORLD, call);
  if (is_too_late()) return raise_without_mpi(call);
  const int code = error_code(call, topology_of(topology).rank());
  topology_of(topology).call_error_handler(code);
  return code;
}

}  // namespace laneway
