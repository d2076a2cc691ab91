#include "base/error.hpp"

namespace laneway {

const char* name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::argument:
      return "invalid argument";
    case ErrorKind::count:
      return "invalid count";
    case ErrorKind::type:
      return "invalid datatype";
    case ErrorKind::rank:
      return "invalid rank";
    case ErrorKind::topology:
      return "invalid topology";
    case ErrorKind::communicator:
      return "invalid communicator";
    case ErrorKind::request:
      return "invalid request";
    case ErrorKind::buffer:
      return "invalid buffer";
    case ErrorKind::info:
      return "invalid hint";
    case ErrorKind::io:
      return "input/output error";
    case ErrorKind::mpi:
      return "MPI error";
    case ErrorKind::device:
      return "device error";
    case ErrorKind::internal:
      return "internal error";
    case ErrorKind::unsupported:
      return "not supported";
  }
  return "error";
}

void internal_error(const char* what, const char* file, int line) {
  throw Error(ErrorKind::internal,
              std::string("internal error: ") + what + " (" + file + ":" + std::to_string(line) + ")");
}

}  // namespace laneway
