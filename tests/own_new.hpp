#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

/// The operators of the program that includes this, in one of its files: each allocation, of whatever is linked into
/// it, asks `LANEWAY_TEST_ALLOCATES(bytes)`, which the file defines before, whether it may be had. Sanitizers bring
/// their own operators; there nothing asks.
#if !defined(LANEWAY_TEST_SANITIZED) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define LANEWAY_TEST_OWN_NEW 1

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (LANEWAY_TEST_ALLOCATES(bytes))
    if (void* memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
#endif
