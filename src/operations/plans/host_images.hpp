#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <laneway/device.h>

#include "base/bytes/ranges.hpp"
#include "communicator/arguments/collective.hpp"
#include "plan/plan.hpp"
#include "runtime/device/buffers.hpp"
#include "runtime/device/device.hpp"

namespace laneway {

/// What an operation reads and writes of its two buffers: no byte of a gap, which others may be writing meanwhile.
struct TouchedBytes {
  RangeSet sent;     ///< read, of the send buffer
  RangeSet read;     ///< of the receive buffer
  RangeSet written;  ///< of the receive buffer

  [[nodiscard]] Extents extents() const;
};
/// By a plan without scattered messages.
[[nodiscard]] TouchedBytes touched_by(const Plan& plan);
/// By MPI's own operation on an intracommunicator; the call has been found good.
[[nodiscard]] TouchedBytes touched_by(const CollectiveCall& call, Rank rank, Rank ranks);

/// Copies, in memory of the host, of buffers that are on devices; a buffer that the host may touch is its own image.
/// Offsets are those of the buffers. Copies are put into streams of the object's own, and are complete when it says so.
/// Allocates in its constructor only.
class HostImages {
 public:
  /// `memory`: MemoryKind::pinned for images that are used again and again, else MemoryKind::host, which costs less to
  /// make and more to copy.
  HostImages(Buffers buffers, const BufferMemory& where, const TouchedBytes& touched, MemoryKind memory);

  [[nodiscard]] Buffers images() const { return images_; }
  /// Begins to bring in what is read. Nothing may be under way.
  void fetch();
  /// Begins to bring back what has been written. Nothing may be under way.
  void put_back();
  /// Whether all that has begun is complete.
  [[nodiscard]] bool complete() const;
  void synchronize() const;
  /// Does something on the images between the two, and waits for all of it.
  template <class Body>
  void run(Body&& body) {
    fetch();
    synchronize();
    std::forward<Body>(body)();
    put_back();
    synchronize();
  }

 private:
  /// Of one buffer.
  class Image {
   public:
    Image() = default;
    Image(const MemoryInfo& where, void* buffer, const RangeSet& read, const RangeSet& written, MemoryKind memory);
    ~Image();
    Image(Image&& other) noexcept = default;
    Image& operator=(Image&& other) = delete;

    [[nodiscard]] void* first() const { return first_; }
    void fetch() const { copy(fetched_); }
    void put_back() const { copy(stored_); }
    [[nodiscard]] bool complete() const { return !stream_ || stream_.idle(); }
    void synchronize() const {
      if (stream_) stream_.synchronize();
    }

   private:
    void copy(const std::vector<lnw_device_rows>& rows) const {
      if (!rows.empty()) stream_.copy(rows);
    }

    std::unique_ptr<std::byte[]> pageable_;
    DeviceMemory pinned_;
    std::byte* first_ = nullptr;  // where offset 0 is
    std::vector<lnw_device_rows> fetched_;
    std::vector<lnw_device_rows> stored_;
    Stream stream_;
  };

  std::optional<Image> send_;
  std::optional<Image> receive_;
  Buffers images_;
};

/// For MPI's own operation on an intracommunicator: null where the MPI library takes the buffers as they are. `touched`
/// is called where buffers may be on devices.
[[nodiscard]] std::unique_ptr<HostImages> images_for_mpi(Buffers buffers, const std::function<TouchedBytes()>& touched,
                                                         MemoryKind memory);
[[nodiscard]] std::unique_ptr<HostImages> images_for_mpi(const CollectiveCall& call, Rank rank, Rank ranks,
                                                         MemoryKind memory);
/// The call on the images of its buffers.
[[nodiscard]] CollectiveCall on_images(CollectiveCall call, const HostImages& images);

}  // namespace laneway
