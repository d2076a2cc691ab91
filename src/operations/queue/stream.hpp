#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/device/device.hpp"

namespace laneway {

/// Where the work of a queue is in order: words that it writes and waits for.
class QueueStream {
 public:
  using Word = std::uint64_t;

  QueueStream() = default;
  virtual ~QueueStream() = default;
  QueueStream(const QueueStream&) = delete;
  QueueStream& operator=(const QueueStream&) = delete;

  /// A new word, of zero, which lives as long as the stream.
  [[nodiscard]] virtual Word* word() = 0;
  /// Put into the stream: the word is written when all before is done; what comes later waits until it is `value` at
  /// least.
  virtual void write(Word* word, std::uint64_t value) = 0;
  virtual void wait(Word* word, std::uint64_t value) = 0;
  virtual void call(void (*function)(void*), void* argument) = 0;
  /// By the host, for the stream to see.
  virtual void post(Word* word, std::uint64_t value) = 0;

  /// Of a stream that who advances the queue runs: does what can be done, and returns how many calls have been
  /// completed.
  [[nodiscard]] virtual int advance() { return 0; }
  [[nodiscard]] virtual bool is_advanced() const { return false; }

  [[nodiscard]] virtual bool idle() const = 0;
  /// Whether what is put into it is recorded into a graph instead of being done.
  [[nodiscard]] virtual bool is_recording() const = 0;
  /// None of a queue of host tasks.
  [[nodiscard]] virtual Device device() const = 0;
};

/// What a word holds now, and all that was written before it.
[[nodiscard]] inline std::uint64_t value_of(const QueueStream::Word* word) {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/// A user's stream. `vendor` is that of a plugin. Throws Error(unsupported) where that is not loaded, Error(argument)
/// where the stream is not one of its devices.
[[nodiscard]] std::unique_ptr<QueueStream> device_stream(const char* vendor, lnw_device_stream handle);

/// An in-order queue of host tasks with a thread of its own.
[[nodiscard]] std::unique_ptr<QueueStream> host_stream();

}  // namespace laneway
