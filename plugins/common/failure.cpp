#include "failure.hpp"

namespace laneway::plugin {

LastFailure& last_failure() {
  thread_local LastFailure last;
  return last;
}

const char* message(int status) {
  if (status == last_failure().status && !last_failure().text.empty()) return last_failure().text.c_str();
  switch (status) {
    case LNW_DEVICE_OK:
      return "no error";
    case LNW_DEVICE_NOT_READY:
      return "not complete yet";
    case LNW_DEVICE_ABSENT:
      return "no such device";
    case LNW_DEVICE_INVALID:
      return "invalid argument";
    case LNW_DEVICE_OUT_OF_MEMORY:
      return "out of memory";
    case LNW_DEVICE_UNSUPPORTED:
      return "not supported";
    default:
      return "the device failed";
  }
}

}  // namespace laneway::plugin
