#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/bytes/types.hpp"
#include "runtime/carriers/bootstrap.hpp"
#include "runtime/carriers/carrier.hpp"
#include "runtime/carriers/memory.hpp"
#include "runtime/carriers/nccl/library.hpp"
#include "runtime/device/device.hpp"

namespace laneway {

/// What a group of NCCL moves between this rank and another.
struct Transfer {
  bool is_send = false;
  Rank peer = 0;
  std::byte* data = nullptr;
  std::int64_t bytes = 0;
};

/// A communicator of NCCL for all ranks of one of this library's. NCCL matches what two ranks exchange by the order in
/// which they begin it. So groups are launched in the order in which exchanges begin, whichever is packed first, and in
/// one stream. What throws, throws Error(device).
class NcclConnection final : public CarrierMemory {
 public:
  /// Collective.
  NcclConnection(const NcclLibrary& library, const Device& device, const NcclLibrary::UniqueId& id, Rank ranks,
                 Rank rank);
  ~NcclConnection() override { abort(); }
  NcclConnection(const NcclConnection&) = delete;
  NcclConnection& operator=(const NcclConnection&) = delete;

  [[nodiscard]] const Device& device() const { return device_; }
  [[nodiscard]] const Stream& stream() const { return stream_; }

  /// @name For an exchange, one after another; none of them allocates or blocks
  /// @{
  /// When it begins: its place among all.
  [[nodiscard]] std::uint64_t take_turn() { return next_turn_.fetch_add(1, std::memory_order_relaxed); }
  /// When all is there that it sends. False: it is not yet its turn.
  [[nodiscard]] bool launch(std::uint64_t turn, std::span<const Transfer> transfers, const Event& done);
  void complete() { completed_.fetch_add(1, std::memory_order_relaxed); }
  /// Throws if something has failed since, here or where NCCL knows of it.
  void check() const;
  /// @}

  /// How many exchanges have begun. `all_complete`: so many are.
  [[nodiscard]] std::uint64_t begun() const { return next_turn_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool all_complete() const { return completed_.load(std::memory_order_relaxed) == begun(); }
  /// NCCL connects two ranks in their first group, which waits for both: this is that group. Waits.
  void meet(std::span<const Rank> sends_to, std::span<const Rank> receives_from) const;

  /// All ranks do it, unless an exchange is still under way: then this one ends it alone.
  void close() noexcept override { end(all_complete() ? library_.comm_destroy : library_.comm_abort); }
  /// Ends what is under way. Local.
  void abort() noexcept { end(library_.comm_abort); }

 private:
  void group(std::span<const Transfer> transfers) const;
  void end(int (*how)(NcclLibrary::Comm)) noexcept;

  const NcclLibrary& library_;
  Device device_;
  Stream stream_;
  std::atomic<NcclLibrary::Comm> comm_{nullptr};  // null: it has ended
  std::atomic<std::uint64_t> next_turn_{0};
  std::atomic<std::uint64_t> turn_{0};  // whose it is
  std::atomic<std::uint64_t> completed_{0};
};

/// For Carrier::connect: what the communicator keeps, which the first call makes. NCCL takes the device that the
/// calling thread has chosen.
[[nodiscard]] std::shared_ptr<NcclConnection> connect_by_nccl(Bootstrap& bootstrap, const DeviceEnds& ends,
                                                              std::shared_ptr<NcclConnection>& kept, std::string& why);

}  // namespace laneway
