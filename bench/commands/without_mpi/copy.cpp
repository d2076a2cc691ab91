#include "runtime/executor/copy.hpp"

#include <algorithm>
#include <array>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <iostream>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/readable.hpp"
#include "commands.hpp"
#include "data/statistics.hpp"
#include "output/format.hpp"
#include "output/provenance.hpp"
#include "plan/writer/copy_runs.hpp"

namespace laneway::bench {

namespace {

/// Of a buffer of elements, all are copied, or one in four: at a constant stride, at irregular distances, or these in
/// random order.
enum class Layout { contiguous, strided, ascending, shuffled };
constexpr std::int64_t spacing = 4;

struct CopyKind {
  const char* name;
  Layout from;
  Layout to;
};
constexpr std::array kinds = {CopyKind{"contiguous", Layout::contiguous, Layout::contiguous},
                              CopyKind{"gather-strided", Layout::strided, Layout::contiguous},
                              CopyKind{"scatter-strided", Layout::contiguous, Layout::strided},
                              CopyKind{"gather", Layout::ascending, Layout::contiguous},
                              CopyKind{"scatter", Layout::contiguous, Layout::ascending},
                              CopyKind{"gather-shuffled", Layout::shuffled, Layout::contiguous},
                              CopyKind{"scatter-shuffled", Layout::contiguous, Layout::shuffled}};

struct CopyOptions {
  std::vector<std::string> kinds;
  std::vector<std::int64_t> elements = {4, 8, 16};
  std::vector<std::int64_t> bytes;
  int iterations = 20;
  std::string json;
};

/// One side of a copy: `count` elements of a buffer.
struct CopySide {
  CopySide(Layout side_layout, std::int64_t n, std::int64_t element_bytes) : layout(side_layout), count(n) {
    if (layout == Layout::contiguous) {
      ranges = {{0, count * element_bytes}};
      elements = count;
    } else if (layout == Layout::strided) {
      ranges.append(laneway::Run{0, element_bytes, spacing * element_bytes, count});
      elements = spacing * count;
    } else {
      std::mt19937 random(1);
      std::int64_t next = 0;
      indices.reserve(static_cast<std::size_t>(count));
      for (std::int64_t i = 0; i < count; ++i) {
        indices.push_back(static_cast<int>(next));
        next += 1 + static_cast<std::int64_t>(random() % (2 * spacing - 1));
      }
      elements = next;
      if (layout == Layout::shuffled) std::shuffle(indices.begin(), indices.end(), random);
      ranges = RangeList::from_indices(std::vector<std::int64_t>(indices.begin(), indices.end()), element_bytes);
    }
  }

  Layout layout;
  std::int64_t count;
  std::int64_t elements = 0;  ///< of the buffer
  std::vector<int> indices;
  RangeList ranges;
};

/// Calls f with a function from i to the place of the i-th element.
template <class F>
void with_places(const CopySide& side, F&& f) {
  if (side.layout == Layout::contiguous)
    f([](std::int64_t i) { return i; });
  else if (side.layout == Layout::strided)
    f([](std::int64_t i) { return spacing * i; });
  else
    f([indices = side.indices.data()](std::int64_t i) { return static_cast<std::int64_t>(indices[i]); });
}

/// The loop that a programmer would write.
template <class Element>
void copy_by_loop(const std::byte* from_bytes, const CopySide& from, std::byte* to_bytes, const CopySide& to) {
  const auto* source = reinterpret_cast<const Element*>(from_bytes);
  auto* target = reinterpret_cast<Element*>(to_bytes);
  with_places(from, [&](auto source_place) {
    with_places(to, [&](auto target_place) {
      for (std::int64_t i = 0; i < from.count; ++i) target[target_place(i)] = source[source_place(i)];
    });
  });
}

/// The runs of a plan one by one, as they are.
void copy_by_runs(const std::vector<CopyRun>& runs, const std::byte* from, std::byte* to) {
  for (const CopyRun& run : runs)
    for (std::int64_t i = 0; i < run.count; ++i)
      std::memcpy(to + run.to + i * run.to_stride, from + run.from + i * run.from_stride,
                  static_cast<std::size_t>(run.bytes));
}

/// The kernel "Copy" of STREAM (McCalpin 1995).
[[gnu::noinline]] void stream_copy(const double* __restrict from, double* __restrict to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = from[i];
}

/// Distinct cache lines that are read and written, in bytes.
std::int64_t touched_bytes(const CopySide& side, std::int64_t element_bytes) {
  constexpr std::int64_t line = 64;
  std::vector<bool> touched(static_cast<std::size_t>(side.elements * element_bytes / line + 1));
  side.ranges.for_each([&](Range range) {
    for (std::int64_t at = range.offset / line; at <= (range.end() - 1) / line; ++at)
      touched[static_cast<std::size_t>(at)] = true;
  });
  return line * std::count(touched.begin(), touched.end(), true);
}

struct Candidate {
  const char* name;
  std::function<void()> copy;
  std::vector<double> seconds = {};
  bool verified = true;
};

/// Processor time of a call: nothing waits here, and other processes shall not count.
double time(const std::function<void()>& action, int calls) {
  const std::clock_t begin = std::clock();
  for (int i = 0; i < calls; ++i) action();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC / calls;
}

/// In each iteration every candidate has one turn, in an order drawn anew. Returns the number of copies in a sample.
int measure(std::vector<Candidate>& candidates, int iterations) {
  constexpr double sample_seconds = 2e-3;
  int batch = 1;
  for (const Candidate& candidate : candidates)
    while (time(candidate.copy, batch) * batch < sample_seconds) batch *= 2;
  std::vector<std::size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 random(1);
  for (int i = 0; i < iterations; ++i) {
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t turn : order) {
      candidates[turn].copy();
      candidates[turn].seconds.push_back(time(candidates[turn].copy, batch));
    }
  }
  return batch;
}

/// One kind of copy of elements of one size.
class Case {
 public:
  Case(const CopyKind& kind, std::int64_t element_bytes, std::int64_t bytes)
      : kind_(kind),
        element_bytes_(element_bytes),
        bytes_(bytes / element_bytes * element_bytes),
        from_(kind.from, bytes / element_bytes, element_bytes),
        to_(kind.to, bytes / element_bytes, element_bytes),
        runs_(copy_runs(from_.ranges, to_.ranges)),
        program_(runs_),
        source_(static_cast<std::size_t>(from_.elements * element_bytes)),
        target_(static_cast<std::size_t>(to_.elements * element_bytes)) {
    std::mt19937 random(2);
    for (std::byte& byte : source_) byte = static_cast<std::byte>(random());
  }

  void measure(int iterations) {
    candidates_ = {{"program", [this] { program_.run(source_.data(), target_.data()); }},
                   {"runs", [this] { copy_by_runs(runs_, source_.data(), target_.data()); }},
                   {"loop", loop()},
                   {"stream", [this] { stream(); }}};
    const std::vector<std::byte> expected = expect();
    for (Candidate& candidate : candidates_) {
      if (candidate.name == std::string("stream")) continue;
      std::fill(target_.begin(), target_.end(), std::byte{0});
      candidate.copy();
      candidate.verified = target_ == expected;
    }
    batch_ = bench::measure(candidates_, iterations);
  }

  [[nodiscard]] bool verified() const {
    return std::all_of(candidates_.begin(), candidates_.end(), [](const Candidate& c) { return c.verified; });
  }

  static std::vector<std::string> heading() {
    return {"kind", "element", "bytes", "program", "runs", "loop", "stream", "program/stream", "ci95", "metadata"};
  }
  [[nodiscard]] std::vector<std::string> row() const {
    std::vector<std::string> cells = {kind_.name, std::to_string(element_bytes_), readable_bytes(bytes_)};
    for (const Candidate& candidate : candidates_)
      cells.push_back(candidate.verified ? format_number(gigabytes_per_second(candidate), 2) : "WRONG");
    const std::vector<double> fractions = stream_fractions(candidates_.front());
    const Interval interval = bootstrap_median(fractions);
    cells.push_back(format_number(median(fractions), 2));
    cells.push_back(format_number(interval.low, 2) + "-" + format_number(interval.high, 2));
    cells.push_back(readable_bytes(program_.metadata_bytes()));
    return cells;
  }

  [[nodiscard]] std::vector<Json> records() const {
    const std::int64_t touched = touched_bytes(from_, element_bytes_) + touched_bytes(to_, element_bytes_);
    std::vector<Json> records;
    for (const Candidate& candidate : candidates_) {
      const std::vector<double> fractions = stream_fractions(candidate);
      const Interval interval = bootstrap_median(fractions);
      records.push_back({{"benchmark", "copy"},
                         {"kind", kind_.name},
                         {"element_bytes", element_bytes_},
                         {"bytes", bytes_},
                         {"candidate", candidate.name},
                         {"median_s", median(candidate.seconds)},
                         {"min_s", quantile(candidate.seconds, 0)},
                         {"p90_s", quantile(candidate.seconds, 0.9)},
                         {"bytes_per_second", static_cast<double>(bytes_) / median(candidate.seconds)},
                         {"stream_fraction_median", median(fractions)},
                         {"stream_fraction_ci95", {interval.low, interval.high}},
                         {"touched_bytes", touched},
                         {"metadata_bytes", program_.metadata_bytes()},
                         {"verified", candidate.verified},
                         {"iterations", candidate.seconds.size()},
                         {"batch", batch_}});
    }
    return records;
  }

 private:
  [[nodiscard]] std::function<void()> loop() {
    const auto with = [this](auto element) -> std::function<void()> {
      return [this] { copy_by_loop<decltype(element)>(source_.data(), from_, target_.data(), to_); };
    };
    if (element_bytes_ == 4) return with(float{});
    if (element_bytes_ == 8) return with(double{});
    return with(std::complex<double>{});
  }

  void stream() {
    stream_copy(reinterpret_cast<const double*>(source_.data()), reinterpret_cast<double*>(target_.data()),
                bytes_ / static_cast<std::int64_t>(sizeof(double)));
  }

  [[nodiscard]] std::vector<std::byte> expect() const {
    std::vector<std::byte> expected(target_.size());
    for_each_pair(from_.ranges, to_.ranges, [&](std::int64_t from, std::int64_t to, std::int64_t bytes) {
      std::copy_n(source_.begin() + from, bytes, expected.begin() + to);
    });
    return expected;
  }

  [[nodiscard]] double gigabytes_per_second(const Candidate& candidate) const {
    return static_cast<double>(bytes_) / median(candidate.seconds) * 1e-9;
  }
  [[nodiscard]] std::vector<double> stream_fractions(const Candidate& candidate) const {
    return paired_ratios(candidates_.back().seconds, candidate.seconds);
  }

  CopyKind kind_;
  std::int64_t element_bytes_;
  std::int64_t bytes_;
  CopySide from_;
  CopySide to_;
  std::vector<CopyRun> runs_;
  CopyProgram program_;
  std::vector<std::byte> source_;
  std::vector<std::byte> target_;
  std::vector<Candidate> candidates_;  // the last one is STREAM's
  int batch_ = 1;
};

int copy(const CopyOptions& options) {
  Table table(Case::heading());
  bool verified = true;
  for (const CopyKind& kind : kinds) {
    if (!options.kinds.empty() &&
        std::find(options.kinds.begin(), options.kinds.end(), kind.name) == options.kinds.end())
      continue;
    for (const std::int64_t element : options.elements)
      for (const std::int64_t bytes : options.bytes) {
        Case c(kind, element, bytes);
        c.measure(options.iterations);
        table.add(c.row());
        verified = verified && c.verified();
        if (!options.json.empty())
          for (const Json& record : c.records()) append_record(options.json, record);
      }
  }
  std::cout << "GB/s, each byte counted once\n" << table.text();
  return verified ? EXIT_SUCCESS : EXIT_FAILURE;
}

void add_copy(CLI::App& command, Action& action) {
  auto options = std::make_shared<CopyOptions>();
  for (std::int64_t bytes = 4 << 10; bytes <= 64 << 20; bytes *= 4) options->bytes.push_back(bytes);
  std::vector<std::string> names;
  names.reserve(kinds.size());
  for (const CopyKind& kind : kinds) names.emplace_back(kind.name);
  command.add_option("--kind", options->kinds, "Some of the kinds")->delimiter(',')->check(CLI::IsMember(names));
  command.add_option("--element", options->elements, "Bytes of an element")
      ->delimiter(',')
      ->check(CLI::IsMember({4, 8, 16}))
      ->capture_default_str();
  command.add_option("--bytes", options->bytes, "Bytes that are copied; default: 4KiB to 64MiB")
      ->delimiter(',')
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(16, 1 << 30));
  command.add_option("--iterations", options->iterations, "Samples of each candidate")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command.add_option("--json", options->json, "Append an object a line for each candidate to this file");
  command.callback([options, &action] { action = [options] { return copy(*options); }; });
}

}  // namespace

std::vector<Command> copy_commands() {
  return {{"copy", Topic::machine, "Copies inside a process, beside a loop and STREAM's copy; no MPI", add_copy}};
}

}  // namespace laneway::bench
