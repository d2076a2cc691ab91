// The kernels' own source, run by the host one thread after the other: they need nothing of each other.
#include <algorithm>
#include <numeric>
#include <random>

#include "combine_numbers.hpp"
#include "failure.hpp"
#include "program.hpp"
#include "program_kernels.hpp"
#include "sim.hpp"

#define __CUDA_ARCH__ 800
#define __device__
#define __global__
#define __launch_bounds__(threads)

namespace {

struct Index {
  unsigned x = 0;
};
Index threadIdx, blockIdx;
unsigned warpSize = 32;

struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

void __threadfence_system() {}
void __nanosleep(unsigned) {}

}  // namespace

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include "kernels.cu"
#pragma GCC diagnostic pop

namespace laneway {
namespace {

constexpr std::size_t kernel_buffer_bytes = 200000;

void expect_kernel_as_plain_loop(const std::vector<lnw_device_run>& runs, std::size_t misalignment = 0) {
  std::mt19937 random(7);
  std::array<std::vector<char>, 4> expected, found;
  gpu::Bases bases{};
  for (std::size_t i = 0; i < 4; ++i) {
    // The beginning of a vector is aligned to 16 bytes.
    expected[i].resize(kernel_buffer_bytes);
    std::generate(expected[i].begin(), expected[i].end(), [&] { return static_cast<char>(random()); });
    found[i] = expected[i];
    bases.at[i] = found[i].data() + misalignment * i;
  }
  for (const lnw_device_run& run : runs)
    for (std::int64_t row = 0; row < run.count; ++row)
      for (std::int64_t i = 0; i < run.bytes; ++i)
        expected[run.to_base][misalignment * run.to_base + static_cast<std::size_t>(run.to + row * run.to_stride + i)] =
            expected[run.from_base]
                    [misalignment * run.from_base + static_cast<std::size_t>(run.from + row * run.from_stride + i)];
  const gpu::Program program = gpu::compile(runs, 8);
  const auto tiles = static_cast<unsigned>(program.tiles.size());
  const unsigned blocks = (tiles * warpSize + gpu::block_threads - 1) / gpu::block_threads;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)
    for (threadIdx.x = 0; threadIdx.x < gpu::block_threads; ++threadIdx.x)
      laneway_moves(program.tiles.data(), program.index.data(), tiles, bases);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(found[i] == expected[i]) << "base " << i;
}

class DeviceKernels : public testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override { warpSize = GetParam(); }
};

TEST_P(DeviceKernels, MoveRunsOfAllSizesAndStrides) {
  std::mt19937 random(1);
  const auto below = [&](std::int64_t limit) {
    return static_cast<std::int64_t>(random() % static_cast<unsigned>(limit));
  };
  for (const std::int64_t unit : {1, 2, 4, 8, 16, 24})
    for (const std::size_t misalignment : {0, 1, 4, 8}) {
      std::vector<lnw_device_run> runs;
      std::int64_t to = 0;
      while (runs.size() < 80) {
        const std::int64_t rows = below(8) == 0 ? 100 : below(5);
        const std::int64_t bytes = unit * below(below(4) == 0 ? 200 : 8);
        const std::int64_t gap = unit * below(3);
        const bool backwards = below(2) == 0;
        const std::int64_t span = rows * (bytes + gap);
        if (to + span > 190000) break;
        runs.push_back({20000 + unit * below(1000), backwards && rows > 0 ? to + span - bytes - gap : to, bytes,
                        below(2) == 0 ? bytes : unit * (below(10) - 5), backwards ? -(bytes + gap) : bytes + gap, rows,
                        static_cast<std::uint32_t>(below(2)), 2 + static_cast<std::uint32_t>(below(2))});
        to += span;
      }
      expect_kernel_as_plain_loop(runs, misalignment);
    }
}

TEST_P(DeviceKernels, MoveLargeRunsOfAnyAlignment) {
  for (const std::int64_t shift : {0, 1, 4, 12, 16})
    for (const std::int64_t bytes : {1, 15, 16, 100, 4096, 70001})
      expect_kernel_as_plain_loop({{5 + shift, shift, bytes, 0, 0, 1, 0, 2}, {shift, shift, bytes, 0, 0, 1, 1, 3}});
}

TEST_P(DeviceKernels, GatherAndScatterElements) {
  std::mt19937 random(2);
  for (const std::int64_t element : {4, 8, 12, 16, 48})
    for (const std::size_t misalignment : {0, 4}) {
      std::vector<std::int64_t> places(3000);
      std::iota(places.begin(), places.end(), 0);
      std::shuffle(places.begin(), places.end(), random);
      std::vector<lnw_device_run> runs;
      for (std::int64_t i = 0; i < 2000; ++i) {
        const std::int64_t place = places[static_cast<std::size_t>(i)] * element;
        runs.push_back({place, i * element, element, 0, 0, 1, 0, 2});
        runs.push_back({i * element, place, element, 0, 0, 1, 1, 3});
      }
      // In a list of lanes, those of a pair are together.
      std::stable_sort(runs.begin(), runs.end(), [](const auto& a, const auto& b) { return a.to_base < b.to_base; });
      expect_kernel_as_plain_loop(runs, misalignment);
      EXPECT_LT(gpu::compile(runs, 8).tiles.size(), 2 * 2000u / 50) << "elements share tiles";
    }
}

/// As many threads as `numbers`, in whole blocks.
template <class Kernel>
void run_each(std::size_t numbers, Kernel&& kernel) {
  for (blockIdx.x = 0; blockIdx.x * gpu::block_threads < numbers; ++blockIdx.x)
    for (threadIdx.x = 0; threadIdx.x < gpu::block_threads; ++threadIdx.x) kernel();
}

TEST_P(DeviceKernels, MultiplyInTheOrderOfRows) {
  for (const unsigned width : {1U, 5U}) {
    const SparseProduct product(static_cast<int>(width));
    std::vector<double> y(product.y.size() + 1, -1);
    run_each(product.y.size(), [&] {
      laneway_multiply(product.matrix.rows, product.matrix.row_begin, product.matrix.column, product.matrix.value,
                       product.x.data(), y.data(), width);
    });
    EXPECT_EQ(y.back(), -1);
    y.pop_back();
    EXPECT_EQ(y, product.y);
  }
}

TEST_P(DeviceKernels, MoveElementsByIndex) {
  const Elements elements(1000);
  std::vector<std::uint64_t> gathered(1000), scattered(1000);
  run_each(1000, [&] {
    laneway_move_elements(gathered.data(), nullptr, elements.values.data(), elements.index.data(), 1000);
    laneway_move_elements(scattered.data(), elements.index.data(), elements.values.data(), nullptr, 1000);
  });
  EXPECT_EQ(gathered, elements.gathered);
  EXPECT_EQ(scattered, elements.scattered);
}

TEST_P(DeviceKernels, CombineEveryOperatorAndNumber) {
  for (int operation = first_operation; operation <= last_operation; ++operation)
    for_each_number([&]<class T>(T) {
      using Type = typename T::type;
      if (operation > last_operation_of<Type>) return;
      CombinedNumbers<Type> numbers(operation);
      gpu::Bases bases{};
      bases.at[0] = reinterpret_cast<char*>(numbers.from.data());
      bases.at[1] = reinterpret_cast<char*>(numbers.to.data());
      const gpu::Program program = gpu::compile_numbers(numbers.runs, 8, sizeof(Type));
      const auto tiles = static_cast<unsigned>(program.tiles.size());
      run_each(std::size_t{tiles} * warpSize, [&] {
        laneway_combine(program.tiles.data(), program.index.data(), tiles, bases, operation, T::number);
      });
      EXPECT_EQ(numbers.to, numbers.expected) << "operation " << operation << ", number " << T::number;
      EXPECT_LT(tiles, 100U) << "single numbers share tiles";
    });
  EXPECT_THROW((void)gpu::compile_numbers(std::vector<lnw_device_run>{{0, 0, 12, 0, 0, 1, 0, 1}}, 8, 8),
               plugin::Failure);
}

TEST_P(DeviceKernels, WriteAndWait) {
  std::uint64_t word = 0;
  laneway_write(&word, 5);
  laneway_wait(&word, 5);
  EXPECT_EQ(word, 5u);
}

INSTANTIATE_TEST_SUITE_P(Warps, DeviceKernels, testing::Values(32u, 64u),
                         [](const auto& given) { return std::to_string(given.param); });

TEST(DeviceProgram, LargeRunsAreCutAndSmallOnesAreNot) {
  const gpu::Program large = gpu::compile(std::vector<lnw_device_run>{{0, 0, 1 << 20, 0, 0, 1, 0, 1}}, 64);
  EXPECT_EQ(large.tiles.size(), 64u);
  EXPECT_TRUE(large.index.empty());
  const gpu::Program small = gpu::compile(std::vector<lnw_device_run>{{0, 0, 1000, 0, 0, 1, 0, 1}}, 64);
  EXPECT_LE(small.tiles.size(), 2u);
  EXPECT_EQ(small.bases, 2u);
  EXPECT_THROW((void)gpu::compile(std::vector<lnw_device_run>{{0, 0, -1, 0, 0, 1, 0, 1}}, 64), plugin::Failure);
}

}  // namespace
}  // namespace laneway
