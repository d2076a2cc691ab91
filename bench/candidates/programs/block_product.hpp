#pragma once

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "matrix/csr.hpp"
#include "matrix/halo.hpp"

namespace laneway::bench {

/// Threads that are there all the time, of which the first is the one that has made them.
class Team {
 public:
  explicit Team(int threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  [[nodiscard]] int size() const { return static_cast<int>(others_.size()) + 1; }
  /// Calls `work(thread)` on all of them and returns when all have returned.
  void run(const std::function<void(int thread)>& work);
  /// Inside `run`: returns when all threads have called it.
  void meet() { inside_.arrive_and_wait(); }

 private:
  std::barrier<> begin_;
  std::barrier<> inside_;
  std::barrier<> end_;
  const std::function<void(int)>* work_ = nullptr;
  std::vector<std::jthread> others_;
};

/// Part `partition` of the elements for one neighbour, or from one.
struct BlockPart {
  int edge = 0;
  int partition = 0;
  std::int64_t first = 0;  ///< element of the edge
  std::int64_t elements = 0;
};

/// The parts of all edges: partition p of P of an edge of n elements is its elements [n p / P, n (p + 1) / P).
[[nodiscard]] std::vector<BlockPart> block_parts(const std::vector<matrix::HaloNeighbor>& edges, int partitions);

/// Stands for arithmetic, and needs no core, so that ranks which share one do not slow each other down: each of its
/// threads sleeps for what its own share would take.
class TimedKernel {
 public:
  /// In place of what is computed; else that is computed.
  [[nodiscard]] bool stands() const { return seconds_ > 0; }
  /// `seconds` that all threads together take for making what is packed, and as many for multiplying.
  void set(double seconds) { seconds_ = seconds; }
  [[nodiscard]] double seconds() const { return seconds_; }

  /// Of one thread; what it sleeps too long is made up for later.
  class Clock {
   public:
    explicit Clock(double thread_seconds) : thread_seconds_(thread_seconds), until_(Time::now()) {}
    /// After having waited for something else.
    void restart() { until_ = Time::now(); }
    /// `share` of what all threads have to do.
    void spend(double share);

   private:
    using Time = std::chrono::steady_clock;
    double thread_seconds_;
    Time::time_point until_;
  };
  [[nodiscard]] Clock clock(int threads) const { return Clock(seconds_ * threads); }

 private:
  double seconds_ = 0;
};

/// Where a part is packed, and where one comes.
using PartPlace = std::function<double*(int edge, int partition)>;

/// Y = A X by threads, for rows in contiguous blocks by ranks; X has `width` columns. Each thread has rows of Y of its
/// own, which it multiplies with the owned elements and with each part that comes, in any order.
class BlockProduct {
 public:
  BlockProduct(const matrix::Csr& matrix, int rank, int ranks, int width, int partitions, int threads);

  [[nodiscard]] const matrix::Halo& halo() const { return halo_; }
  [[nodiscard]] int width() const { return width_; }
  [[nodiscard]] const std::vector<BlockPart>& sent() const { return sent_; }
  [[nodiscard]] const std::vector<BlockPart>& received() const { return received_; }

  /// X_jk = number(j, salt + k) for the owned elements; no thread has multiplied anything.
  void fill(std::uint64_t salt);
  void pack(const BlockPart& part, double* into) const;
  /// What of the packed elements are in the part.
  [[nodiscard]] double share_packed(const BlockPart& part) const;

  /// The first in each product: Y = A X for the rows of the thread and the owned elements.
  void multiply_owned(int thread);
  /// Y += A X with the part number `part` of those received.
  void multiply_part(int thread, std::size_t part, const double* from);
  /// Of the multiplications of all threads, which fraction these are.
  [[nodiscard]] double share_owned(int thread) const;
  [[nodiscard]] double share_part(int thread, std::size_t part) const;

  /// Compares with a sum over the rows of the whole matrix, which adds up in the order of its columns.
  [[nodiscard]] bool check(const matrix::Csr& matrix, std::uint64_t salt) const;

 private:
  /// Some rows and columns of the matrix; columns count from the first of the part.
  struct Share {
    std::vector<std::int64_t> row;  ///< of y
    std::vector<std::int64_t> row_begin{0};
    std::vector<std::int64_t> column;
    std::vector<double> value;
  };
  [[nodiscard]] Share& share(int thread, std::size_t part) { return shares_[share_number(thread, part)]; }
  [[nodiscard]] std::size_t share_number(int thread, std::size_t part) const {
    return static_cast<std::size_t>(thread) * (received_.size() + 1) + part;
  }
  void share_rows(int threads);
  void add(const Share& share, const double* x);
  [[nodiscard]] double fraction(const Share& share) const;

  matrix::Halo halo_;
  int width_;
  std::vector<BlockPart> sent_;
  std::vector<BlockPart> received_;
  std::vector<Share> shares_;            // by thread: those of the parts, then that of the owned elements
  std::vector<std::int64_t> first_row_;  // by thread, and one more
  std::vector<double> x_;                // owned elements
  std::vector<double> y_;
};

}  // namespace laneway::bench
