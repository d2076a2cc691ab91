#include "c/barrier.hpp"

#include <map>
#include <mutex>
#include <new>
#include <string>

namespace laneway {

namespace {

int error_class(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::argument: return MPI_ERR_ARG;
    case ErrorKind::count: return MPI_ERR_COUNT;
    case ErrorKind::type: return MPI_ERR_TYPE;
    case ErrorKind::rank: return MPI_ERR_RANK;
    case ErrorKind::topology: return MPI_ERR_TOPOLOGY;
    case ErrorKind::communicator: return MPI_ERR_COMM;
    case ErrorKind::request: return MPI_ERR_REQUEST;
    case ErrorKind::buffer: return MPI_ERR_BUFFER;
    case ErrorKind::info: return MPI_ERR_INFO_VALUE;
    case ErrorKind::io: return MPI_ERR_IO;
    case ErrorKind::unsupported: return MPI_ERR_UNSUPPORTED_OPERATION;
    case ErrorKind::mpi:
    case ErrorKind::internal: return MPI_ERR_OTHER;
  }
  return MPI_ERR_OTHER;
}

/// One code for each kind, made when first needed; its text is that of the last error.
int code_with_text(ErrorKind kind, const std::string& text) {
  static std::mutex mutex;
  static std::map<ErrorKind, int> codes;
  const std::lock_guard lock(mutex);
  auto it = codes.find(kind);
  if (it == codes.end()) {
    int code = MPI_ERR_OTHER;
    if (MPI_Add_error_code(error_class(kind), &code) != MPI_SUCCESS) return error_class(kind);
    it = codes.emplace(kind, code).first;
  }
  MPI_Add_error_string(it->second, text.substr(0, MPI_MAX_ERROR_STRING - 1).c_str());
  return it->second;
}

}  // namespace

int error_code(const char* call, int rank) noexcept {
  try {
    const std::string where = std::string(call) + " on rank " + std::to_string(rank) + ": ";
    try {
      throw;
    } catch (const Error& error) {
      return code_with_text(error.kind(), where + error.what());
    } catch (const std::bad_alloc&) {
      return code_with_text(ErrorKind::internal, where + "out of memory");
    } catch (const std::exception& error) {
      return code_with_text(ErrorKind::internal, where + error.what());
    }
  } catch (...) {
    return MPI_ERR_OTHER;
  }
}

int raise_on(MPI_Comm comm, const char* call) noexcept {
  const MPI_Comm target = comm == MPI_COMM_NULL ? MPI_COMM_WORLD : comm;
  int rank = -1;
  MPI_Comm_rank(target, &rank);
  const int code = error_code(call, rank);
  MPI_Comm_call_errhandler(target, code);
  return code;
}

int raise_on(const LNW_Request_s* request, const char* call) noexcept {
  if (!request) return raise_on(MPI_COMM_WORLD, call);
  const int code = error_code(call, request->request->rank());
  request->request->call_error_handler(code);
  return code;
}

}  // namespace laneway
