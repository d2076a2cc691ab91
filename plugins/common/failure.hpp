#pragma once

#include <laneway/device.h>

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace laneway::plugin {

/// What a table function returns instead of LNW_DEVICE_OK, with the text that message() gives.
struct Failure : std::runtime_error {
  Failure(int failure_status, const std::string& what) : std::runtime_error(what), status(failure_status) {}
  int status;
};

/// Of the calling thread.
struct LastFailure {
  int status = LNW_DEVICE_OK;
  std::string text;
};
[[nodiscard]] LastFailure& last_failure();

/// lnw_device_table.message.
[[nodiscard]] const char* message(int status);

inline int fail(int status, const char* text) {
  last_failure() = {status, text};
  return status;
}

/// Runs a table function's body, which returns nothing or a status, and makes a status of what it throws.
template <class Body>
int attempt(Body&& body) noexcept {
  try {
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      return LNW_DEVICE_OK;
    } else {
      return body();
    }
  } catch (const Failure& failure) {
    return fail(failure.status, failure.what());
  } catch (const std::bad_alloc&) {
    return fail(LNW_DEVICE_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    return fail(LNW_DEVICE_FAILED, error.what());
  }
}

}  // namespace laneway::plugin
