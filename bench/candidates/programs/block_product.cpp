#include "candidates/programs/block_product.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "data/exchange.hpp"

namespace laneway::bench {

Team::Team(int threads) : begin_(threads), inside_(threads), end_(threads) {
  for (int t = 1; t < threads; ++t)
    others_.emplace_back([this, t] {
      for (;;) {
        begin_.arrive_and_wait();
        if (work_ == nullptr) return;
        (*work_)(t);
        end_.arrive_and_wait();
      }
    });
}

Team::~Team() {
  work_ = nullptr;
  begin_.arrive_and_wait();
}

void Team::run(const std::function<void(int thread)>& work) {
  work_ = &work;
  begin_.arrive_and_wait();
  work(0);
  end_.arrive_and_wait();
}

std::vector<BlockPart> block_parts(const std::vector<matrix::HaloNeighbor>& edges, int partitions) {
  std::vector<BlockPart> parts;
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const std::int64_t n = std::ssize(edges[e].indices);
    for (int p = 0; p < partitions; ++p) {
      const std::int64_t first = n * p / partitions;
      parts.push_back({static_cast<int>(e), p, first, n * (p + 1) / partitions - first});
    }
  }
  return parts;
}

void TimedKernel::Clock::spend(double share) {
  if (thread_seconds_ <= 0) return;
  until_ += std::chrono::duration_cast<Time::duration>(std::chrono::duration<double>(thread_seconds_ * share));
  std::this_thread::sleep_until(until_);
}

BlockProduct::BlockProduct(const matrix::Csr& matrix, int rank, int ranks, int width, int partitions, int threads)
    : halo_(matrix::halo(matrix, rank, ranks)),
      width_(width),
      sent_(block_parts(halo_.out, partitions)),
      received_(block_parts(halo_.in, partitions)),
      x_(static_cast<std::size_t>(halo_.owned * width)),
      y_(static_cast<std::size_t>(halo_.local.rows * width)) {
  share_rows(threads);
}

/// Threads have equally many entries of the matrix, as far as rows allow.
void BlockProduct::share_rows(int threads) {
  const matrix::Csr& local = halo_.local;
  first_row_.push_back(0);
  for (int t = 1; t <= threads; ++t) {
    const auto end = std::ranges::lower_bound(local.row_begin, local.nonzeros() * t / threads);
    first_row_.push_back(t == threads ? local.rows : std::max(first_row_.back(), end - local.row_begin.begin()));
  }
  // Where each ghost comes: in which part, and which of its elements it is.
  std::vector<std::pair<std::size_t, std::int64_t>> comes(halo_.ghosts.size());
  for (std::size_t part = 0; part < received_.size(); ++part) {
    const BlockPart& of = received_[part];
    const std::vector<std::int64_t>& indices = halo_.in[static_cast<std::size_t>(of.edge)].indices;
    for (std::int64_t i = 0; i < of.elements; ++i)
      comes[static_cast<std::size_t>(indices[static_cast<std::size_t>(of.first + i)])] = {part, i};
  }
  shares_.resize(static_cast<std::size_t>(threads) * (received_.size() + 1));
  for (int t = 0; t < threads; ++t)
    for (std::int64_t row = first_row_[static_cast<std::size_t>(t)]; row < first_row_[static_cast<std::size_t>(t) + 1];
         ++row)
      for (std::int64_t k = local.row_begin[static_cast<std::size_t>(row)];
           k < local.row_begin[static_cast<std::size_t>(row) + 1]; ++k) {
        const std::int64_t column = local.column[static_cast<std::size_t>(k)];
        const auto [part, element] = column < halo_.owned ? std::pair(received_.size(), column)
                                                          : comes[static_cast<std::size_t>(column - halo_.owned)];
        Share& into = share(t, part);
        if (into.row.empty() || into.row.back() != row) {
          into.row.push_back(row);
          into.row_begin.push_back(into.row_begin.back());
        }
        ++into.row_begin.back();
        into.column.push_back(element);
        into.value.push_back(local.value[static_cast<std::size_t>(k)]);
      }
}

void BlockProduct::fill(std::uint64_t salt) {
  for (std::int64_t j = 0; j < halo_.owned; ++j)
    for (int k = 0; k < width_; ++k)
      x_[static_cast<std::size_t>(j * width_ + k)] =
          bench::number(static_cast<std::uint64_t>(halo_.first_column + j), salt + static_cast<unsigned>(k));
  std::ranges::fill(y_, std::numeric_limits<double>::quiet_NaN());
}

void BlockProduct::pack(const BlockPart& part, double* into) const {
  const std::vector<std::int64_t>& indices = halo_.out[static_cast<std::size_t>(part.edge)].indices;
  for (std::int64_t i = part.first; i < part.first + part.elements; ++i, into += width_)
    std::copy_n(x_.data() + indices[static_cast<std::size_t>(i)] * width_, width_, into);
}

double BlockProduct::share_packed(const BlockPart& part) const {
  std::int64_t all = 0;
  for (const matrix::HaloNeighbor& edge : halo_.out) all += std::ssize(edge.indices);
  return all == 0 ? 0 : static_cast<double>(part.elements) / static_cast<double>(all);
}

void BlockProduct::add(const Share& share, const double* x) {
  for (std::size_t r = 0; r < share.row.size(); ++r) {
    double* const y = y_.data() + share.row[r] * width_;
    for (auto k = static_cast<std::size_t>(share.row_begin[r]); k < static_cast<std::size_t>(share.row_begin[r + 1]);
         ++k)
      for (int c = 0; c < width_; ++c) y[c] += share.value[k] * x[share.column[k] * width_ + c];
  }
}

void BlockProduct::multiply_owned(int thread) {
  const auto t = static_cast<std::size_t>(thread);
  std::fill(y_.begin() + first_row_[t] * width_, y_.begin() + first_row_[t + 1] * width_, 0.0);
  add(share(thread, received_.size()), x_.data());
}

void BlockProduct::multiply_part(int thread, std::size_t part, const double* from) {
  add(share(thread, part), from);
}

double BlockProduct::fraction(const Share& share) const {
  const std::int64_t all = halo_.local.nonzeros();
  return all == 0 ? 0 : static_cast<double>(share.value.size()) / static_cast<double>(all);
}

double BlockProduct::share_owned(int thread) const {
  return fraction(shares_[share_number(thread, received_.size())]);
}

double BlockProduct::share_part(int thread, std::size_t part) const {
  return fraction(shares_[share_number(thread, part)]);
}

bool BlockProduct::check(const matrix::Csr& matrix, std::uint64_t salt) const {
  for (std::int64_t row = 0; row < halo_.local.rows; ++row) {
    const auto begin = static_cast<std::size_t>(matrix.row_begin[static_cast<std::size_t>(halo_.first_row + row)]);
    const auto end = static_cast<std::size_t>(matrix.row_begin[static_cast<std::size_t>(halo_.first_row + row) + 1]);
    for (int c = 0; c < width_; ++c) {
      double sum = 0;
      double magnitude = 0;
      for (std::size_t k = begin; k < end; ++k) {
        const double x = bench::number(static_cast<std::uint64_t>(matrix.column[k]), salt + static_cast<unsigned>(c));
        sum += matrix.value[k] * x;
        magnitude += std::fabs(matrix.value[k] * x);
      }
      const double rounding = 2 * static_cast<double>(end - begin) * std::numeric_limits<double>::epsilon() * magnitude;
      if (!(std::fabs(y_[static_cast<std::size_t>(row * width_ + c)] - sum) <= rounding)) return false;
    }
  }
  return true;
}

}  // namespace laneway::bench
