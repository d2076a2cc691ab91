#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace laneway {

/// Says that segments of one channel are free again: bit i of `mask` stands for segment `first` + i.
struct Credits {
  std::int64_t number = -1;  ///< of the channel; -1: none
  std::int32_t first = 0;
  std::uint32_t mask = 0;
};

/// Credits that one rank owes another, of a few channels and stretches of segments. Any thread adds and takes: each
/// stretch is one word. Each credit is taken once.
class OwedCredits {
 public:
  /// How many segments of its stretch are owed with it; 0: there is no room, and it is not owed.
  int add(std::int64_t number, std::int64_t segment) {
    if (number >= most_channels || segment >= most_segments) return 0;
    const std::uint64_t key = key_of(number, segment);
    const std::uint64_t bit = std::uint64_t{1} << (segment % stretch);
    for (std::atomic<std::uint64_t>& word : words_) {
      std::uint64_t now = word.load(std::memory_order_relaxed);
      while (mask_of(now) == 0 || key_in(now) == key) {
        const std::uint64_t with = mask_of(now) == 0 ? key << stretch | bit : now | bit;
        if (word.compare_exchange_weak(now, with, std::memory_order_acq_rel)) return std::popcount(mask_of(with));
      }
    }
    return 0;
  }
  [[nodiscard]] bool has(std::int64_t number, std::int64_t segment) const {
    if (number >= most_channels || segment < 0 || segment >= most_segments) return false;
    return std::ranges::any_of(words_, [&](const auto& word) {
      const std::uint64_t now = word.load(std::memory_order_relaxed);
      return key_in(now) == key_of(number, segment) && (now >> (segment % stretch) & 1) != 0;
    });
  }
  [[nodiscard]] bool any() const {
    return std::ranges::any_of(words_,
                               [](const auto& word) { return mask_of(word.load(std::memory_order_relaxed)) != 0; });
  }
  /// Those of one stretch.
  [[nodiscard]] std::optional<Credits> take() {
    for (std::atomic<std::uint64_t>& word : words_) {
      if (mask_of(word.load(std::memory_order_relaxed)) == 0) continue;
      const std::uint64_t was = word.exchange(0, std::memory_order_acq_rel);
      if (mask_of(was) == 0) continue;  // another thread has them
      const std::uint64_t key = key_in(was);
      return Credits{static_cast<std::int64_t>(key / (most_segments / stretch)),
                     static_cast<std::int32_t>(key % (most_segments / stretch) * stretch), mask_of(was)};
    }
    return std::nullopt;
  }

 private:
  static constexpr std::int64_t stretch = 32;
  static constexpr std::int64_t most_channels = std::int64_t{1} << 20;
  static constexpr std::int64_t most_segments = stretch << 12;

  static constexpr std::uint64_t key_of(std::int64_t number, std::int64_t segment) {
    return static_cast<std::uint64_t>(number * (most_segments / stretch) + segment / stretch);
  }
  static constexpr std::uint64_t key_in(std::uint64_t word) { return word >> stretch; }
  static constexpr std::uint32_t mask_of(std::uint64_t word) { return static_cast<std::uint32_t>(word); }

  std::array<std::atomic<std::uint64_t>, 8> words_{};
};

/// Whether it pays to owe a credit until a message goes its way anyhow. A peer that needs the segment waits meanwhile,
/// so that this is done only where the last credits would have been carried soon; what was owed in vain makes it
/// rarer. Times are nanoseconds. What threads do to each other's counts only makes the guess worse.
class CreditPolicy {
 public:
  /// No credit is owed for longer.
  static constexpr std::int64_t longest = 100'000;

  [[nodiscard]] bool owes() const {
    return good_.load(std::memory_order_relaxed) >= needed_.load(std::memory_order_relaxed);
  }
  /// A credit has gone the way that it is guessed to go, so long after it could.
  void carried(std::int64_t after) { after <= longest ? succeed() : fail(); }
  /// Somebody had to wait for it, or nothing has come to carry it.
  void fail() {
    if (owes()) needed_.store(std::min(2 * needed_.load(std::memory_order_relaxed), most), std::memory_order_relaxed);
    good_.store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr int least = 4;
  static constexpr int most = 64;

  void succeed() {
    const int good = good_.load(std::memory_order_relaxed) + 1;
    const int needed = needed_.load(std::memory_order_relaxed);
    if (good < needed + forgets) return good_.store(good, std::memory_order_relaxed);
    needed_.store(std::max(least, needed / 2), std::memory_order_relaxed);
    good_.store(needed, std::memory_order_relaxed);
  }
  static constexpr int forgets = 16;  // so many good ones make up for a bad one

  std::atomic<int> good_{0};
  std::atomic<int> needed_{least};
};

}  // namespace laneway
