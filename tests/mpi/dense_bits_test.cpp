// What is the same wherever a result may not depend on who asks: the bits that all ranks get of an all-reduction, sums
// of equal calls, and the rule that is chosen for equal blocks, whichever function has them.

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "algorithms/collective/rules.hpp"
#include "device_memory.hpp"
#include "setting.hpp"
#include "support.hpp"

namespace laneway::test {
namespace {

struct Number {
  MPI_Datatype type;
  std::size_t bytes;
  void (*fill)(std::uint64_t, std::byte*);
};

/// NaN of several payloads and both signs, zeros of both signs, infinities, subnormals, and some others.
template <class Float, class Bits>
void put_special(std::uint64_t seed, std::byte* to) {
  using Limits = std::numeric_limits<Float>;
  const auto payload = static_cast<Bits>(1 + seed / 16 % 1000);
  const Bits quiet = std::bit_cast<Bits>(Limits::quiet_NaN()) | payload;
  const Float all[] = {std::bit_cast<Float>(quiet),
                       std::bit_cast<Float>(static_cast<Bits>(quiet | Bits{1} << (8 * sizeof(Bits) - 1))),
                       Float{0},
                       -Float{0},
                       Limits::infinity(),
                       -Limits::infinity(),
                       Limits::denorm_min() * static_cast<Float>(payload),
                       -Limits::denorm_min() * static_cast<Float>(payload),
                       Float{1} / static_cast<Float>(payload + 2),
                       Limits::max()};
  const Float value = all[seed % 16 < 10 ? seed % 16 : 2 + seed % 2];
  std::memcpy(to, &value, sizeof value);
}

struct Pair {
  double value;
  int index;
};
void put_pair(std::uint64_t seed, std::byte* to) {
  Pair pair{};
  std::byte value[sizeof(double)];
  put_special<double, std::uint64_t>(seed, value);
  std::memcpy(&pair.value, value, sizeof value);
  pair.index = static_cast<int>(seed % 7);
  std::memcpy(to, &pair, sizeof pair);
}

/// What all ranks have must be what rank 0 has, but for the gap of pairs.
void expect_same(const std::vector<std::byte>& mine, const Number& number, const std::string& what) {
  std::vector<std::byte> first = mine;
  PMPI_Bcast(first.data(), static_cast<int>(first.size()), MPI_BYTE, 0, MPI_COMM_WORLD);
  const std::size_t counts = number.bytes == sizeof(Pair) ? sizeof(double) + sizeof(int) : number.bytes;
  for (std::size_t i = 0; i < mine.size(); i += number.bytes)
    if (std::memcmp(mine.data() + i, first.data() + i, counts) != 0) {
      ADD_FAILURE() << what << ": element " << i / number.bytes << " has other bits than on rank 0";
      return;
    }
}

/// Any bits, so that what stands for true is not always 1.
template <class Integer>
void put_integer(std::uint64_t seed, std::byte* to) {
  const auto value = static_cast<Integer>(mix({seed, 5}) >> seed % 40);
  std::memcpy(to, &value, sizeof value);
}

/// Each rank's buffers begin at another place of a vector of the processor. Where there are devices, half of all are in
/// one kind of memory on all ranks, and half in another one on each.
class Vectors {
 public:
  Vectors(const Number& number, int count, std::uint64_t seed)
      : shift_(static_cast<std::size_t>(rank() % 5) * number.bytes),
        bytes_(static_cast<std::size_t>(count) * number.bytes),
        sent_(bytes_ + shift_ + 1),
        received_(bytes_ + shift_ + 1) {
    for (int i = 0; i < count; ++i)
      number.fill(mix({seed, static_cast<std::uint64_t>(rank()), static_cast<std::uint64_t>(i)}),
                  reinterpret_cast<std::byte*>(sent_.data() + shift_) + static_cast<std::size_t>(i) * number.bytes);
    if (!uses_devices()) return;
    const auto kind = Mirror::kind_of(mix({seed, seed % 2 == 0 ? 0 : static_cast<std::uint64_t>(rank())}));
    there_ = {Mirror(kind, sent_.size()), Mirror(kind, received_.size())};
    if (there_[0]) there_[0].write(sent_);
    if (there_[1]) there_[1].write(received_);
  }
  [[nodiscard]] const void* sent() const { return (there_[0] ? there_[0].data() : sent_.data()) + shift_; }
  [[nodiscard]] void* received() { return (there_[1] ? there_[1].data() : received_.data()) + shift_; }
  [[nodiscard]] std::vector<std::byte> result() {
    if (there_[1]) there_[1].read(received_);
    const auto* const begin = reinterpret_cast<const std::byte*>(received_.data() + shift_);
    return {begin, begin + bytes_};
  }

 private:
  std::size_t shift_;
  std::size_t bytes_;
  std::vector<unsigned char> sent_;
  std::vector<unsigned char> received_;
  std::array<Mirror, 2> there_;
};

const std::vector<Number>& integers() {
  static const std::vector<Number> all = {{MPI_INT8_T, sizeof(std::int8_t), put_integer<std::int8_t>},
                                          {MPI_INT, sizeof(int), put_integer<int>},
                                          {MPI_UINT64_T, sizeof(std::uint64_t), put_integer<std::uint64_t>}};
  return all;
}

const std::vector<Number>& reals() {
  static const std::vector<Number> all = {{MPI_FLOAT, sizeof(float), put_special<float, std::uint32_t>},
                                          {MPI_DOUBLE, sizeof(double), put_special<double, std::uint64_t>}};
  return all;
}

class DenseBitsTest : public MpiTest {
 protected:
  /// All operators, of short and long vectors (integers of one length), as a blocking call that is repeated and as a
  /// persistent one.
  void expect_same_bits(MPI_Comm comm, const std::string& how) {
    std::uint64_t seed = 0;
    for (const int count : {1, 7, 700}) {
      for (const Number& number : reals())
        for (MPI_Op op : {MPI_MAX, MPI_MIN, MPI_SUM, MPI_PROD}) run(comm, number, op, count, ++seed, how);
      for (const Number& number : count == 7 ? integers() : std::vector<Number>{})
        for (MPI_Op op : {MPI_MAX, MPI_SUM, MPI_PROD, MPI_LAND, MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR})
          run(comm, number, op, count, ++seed, how);
      const Number pairs{MPI_DOUBLE_INT, sizeof(Pair), put_pair};
      for (MPI_Op op : {MPI_MAXLOC, MPI_MINLOC}) run(comm, pairs, op, count, ++seed, how);
    }
  }

  static void run(MPI_Comm comm, const Number& number, MPI_Op op, int count, std::uint64_t seed,
                  const std::string& how) {
    Vectors vectors(number, count, seed);
    const std::string what = how + ", " + std::to_string(count) + " of " + std::to_string(number.bytes) +
                             " bytes, operator " + std::to_string(seed % 10);
    for (int n = 0; n < 3; ++n)  // the third one uses the memory of the node
      ASSERT_EQ(LNW_Allreduce(vectors.sent(), vectors.received(), count, number.type, op, comm), MPI_SUCCESS);
    expect_same(vectors.result(), number, what);
    LNW_Request request = LNW_REQUEST_NULL;
    ASSERT_EQ(
        LNW_Allreduce_init(vectors.sent(), vectors.received(), count, number.type, op, comm, MPI_INFO_NULL, &request),
        MPI_SUCCESS);
    LNW_Start(&request);
    LNW_Wait(&request, MPI_STATUS_IGNORE);
    LNW_Request_free(&request);
    expect_same(vectors.result(), number, what + ", persistent");
  }
};

TEST_F(DenseBitsTest, AllRanksHaveTheSameBits) {
  for (const laneway::DenseRule& rule : laneway::dense_rules()) {
    if (rule.kind != laneway::Dense::allreduce) continue;
    std::vector<std::string> machines = {uneven_machine()};
    if (size() < 4) machines.insert(machines.end(), {"node:* rank:1", "node:* rank:2"});
    for (const std::string& described : machines) {
      const Setting machine("LANEWAY_MACHINE", described);
      const Setting collective("LANEWAY_COLLECTIVE", "allreduce:" + std::string(rule.name));
      const Comm comm = duplicate_of(MPI_COMM_WORLD);
      expect_same_bits(comm.get(), std::string(rule.name) + " on " + described);
    }
  }
}

/// Chosen by the model, which must not be by another one in a later call.
TEST_F(DenseBitsTest, EqualSumsHaveEqualBits) {
  const Setting machine("LANEWAY_MACHINE", "node:* rank:2");
  const Comm comm = duplicate_of(MPI_COMM_WORLD);
  std::vector<double> mine(300);
  for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = 1.0 / (3.0 + static_cast<double>(i) + 7.0 * rank());
  std::vector<double> first;
  for (int n = 0; n < 60; ++n) {
    std::vector<double> sum(mine.size());
    LNW_Allreduce(mine.data(), sum.data(), 300, MPI_DOUBLE, MPI_SUM, comm.get());
    if (n == 0) first = sum;
    ASSERT_EQ(std::memcmp(sum.data(), first.data(), sum.size() * sizeof(double)), 0) << n;
  }
}

/// The rule of a persistent operation.
template <class Make>
std::string rule_of(const Make& make) {
  LNW_Request request = LNW_REQUEST_NULL;
  EXPECT_EQ(make(&request), MPI_SUCCESS);
  const char* name = "";
  EXPECT_EQ(LNW_Request_get_strategy(request, &name), MPI_SUCCESS);
  std::string rule = name;
  LNW_Request_free(&request);
  return rule;
}

TEST_F(DenseBitsTest, EqualBlocksHaveTheRuleOfThePlainFunction) {
  const Setting machine("LANEWAY_MACHINE", "node:* rank:2");
  const Setting tuning("LANEWAY_EXCHANGES", "1");  // no trial, which may come to another end
  const Comm comm = duplicate_of(MPI_COMM_WORLD);
  for (const int count : {1, 8, 64, 512, 4096, 32768, 131072}) {
    const auto ranks = static_cast<std::size_t>(size());
    std::vector<int> from(static_cast<std::size_t>(count));
    std::vector<int> to(from.size() * ranks);
    const std::vector<int> counts(ranks, count);
    std::vector<int> places(ranks);
    for (std::size_t i = 0; i < ranks; ++i) places[i] = static_cast<int>(i) * count;
    const std::string plain = rule_of([&](LNW_Request* request) {
      return LNW_Allgather_init(from.data(), count, MPI_INT, to.data(), count, MPI_INT, comm.get(), MPI_INFO_NULL,
                                request);
    });
    const std::string with_counts = rule_of([&](LNW_Request* request) {
      return LNW_Allgatherv_init(from.data(), count, MPI_INT, to.data(), counts.data(), places.data(), MPI_INT,
                                 comm.get(), MPI_INFO_NULL, request);
    });
    EXPECT_EQ(with_counts, plain) << "allgather of " << count << " ints";
    std::vector<int> part(from.size());
    const std::string block = rule_of([&](LNW_Request* request) {
      return LNW_Reduce_scatter_block_init(to.data(), part.data(), count, MPI_INT, MPI_SUM, comm.get(), MPI_INFO_NULL,
                                           request);
    });
    const std::string scatter = rule_of([&](LNW_Request* request) {
      return LNW_Reduce_scatter_init(to.data(), part.data(), counts.data(), MPI_INT, MPI_SUM, comm.get(), MPI_INFO_NULL,
                                     request);
    });
    EXPECT_EQ(scatter, block) << "reduce_scatter of " << count << " ints";
  }
}

}  // namespace
}  // namespace laneway::test
