#pragma once

#include <exception>
#include <utility>

namespace laneway {

/// What `body` throws, for the others to learn of in what ranks do together next; null if nothing.
template <class Body>
[[nodiscard]] std::exception_ptr failure_of(Body&& body) {
  try {
    std::forward<Body>(body)();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

}  // namespace laneway
