// lnw_order=exact: sums of floating-point numbers are rounded once, so that neither the order of ranks nor placement,
// rule or form of the call can be seen in a bit of them.

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include "setting.hpp"
#include "support.hpp"

namespace laneway::test {
namespace {

__extension__ using Wide = __int128;

constexpr int scale = -40;

/// What a rank adds to an element, in units of 2^scale: the sum of all is known in integers. Half of them is taken back
/// by the next rank.
template <class Float>
Wide units(int of, int element) {
  const auto made = [&](int at) {
    const std::uint64_t random = mix({static_cast<std::uint64_t>(at), static_cast<std::uint64_t>(element)});
    const auto digits = static_cast<std::int64_t>(random >> (64 - std::numeric_limits<Float>::digits + random % 20));
    return static_cast<Wide>(random % 2 == 0 ? digits : -digits) << (random % 27);
  };
  return of % 2 == 1 && element % 2 == 1 ? -made(of - 1) : made(of);
}
template <class Float>
Float number(Wide sum) {
  return std::ldexp(static_cast<Float>(sum), scale);
}
template <class Float>
Float sum_of(int first, int end, int element) {
  Wide sum = 0;
  for (int of = first; of < end; ++of) sum += units<Float>(of, element);
  return number<Float>(sum);
}

enum class Form { blocking, nonblocking, persistent };

/// One of the functions that reduce, with this rank's elements [begin, end) of all, and the ranks whose sum they are.
struct Operation {
  std::string name;
  int blocks = 1;  ///< of `count` elements that are sent
  std::function<int(const void*, void*, int, MPI_Datatype, MPI_Comm)> run;
  std::function<int(const void*, void*, int, MPI_Datatype, MPI_Comm, LNW_Request*)> start;
  std::function<int(const void*, void*, int, MPI_Datatype, MPI_Comm, LNW_Request*)> make;
  bool is_defined = true;
  int end = size();  ///< of the ranks
  int offset = 0;    ///< in blocks, of what this rank gets
};

std::vector<Operation> operations() {
  const auto counts = [](int count) { return std::vector<int>(static_cast<std::size_t>(size()), count); };
  const int root = size() - 1;
  return {
      {.name = "allreduce",
       .run = [](auto s, auto r, int n, auto t, auto c) { return LNW_Allreduce(s, r, n, t, MPI_SUM, c); },
       .start = [](auto s, auto r, int n, auto t, auto c, auto q) { return LNW_Iallreduce(s, r, n, t, MPI_SUM, c, q); },
       .make = [](auto s, auto r, int n, auto t, auto c,
                  auto q) { return LNW_Allreduce_init(s, r, n, t, MPI_SUM, c, MPI_INFO_NULL, q); }},
      {.name = "reduce",
       .run = [=](auto s, auto r, int n, auto t, auto c) { return LNW_Reduce(s, r, n, t, MPI_SUM, root, c); },
       .start = [=](auto s, auto r, int n, auto t, auto c,
                    auto q) { return LNW_Ireduce(s, r, n, t, MPI_SUM, root, c, q); },
       .make = [=](auto s, auto r, int n, auto t, auto c,
                   auto q) { return LNW_Reduce_init(s, r, n, t, MPI_SUM, root, c, MPI_INFO_NULL, q); },
       .is_defined = rank() == root},
      {.name = "reduce_scatter_block",
       .blocks = size(),
       .run = [](auto s, auto r, int n, auto t, auto c) { return LNW_Reduce_scatter_block(s, r, n, t, MPI_SUM, c); },
       .start = [](auto s, auto r, int n, auto t, auto c,
                   auto q) { return LNW_Ireduce_scatter_block(s, r, n, t, MPI_SUM, c, q); },
       .make = [](auto s, auto r, int n, auto t, auto c,
                  auto q) { return LNW_Reduce_scatter_block_init(s, r, n, t, MPI_SUM, c, MPI_INFO_NULL, q); },
       .offset = rank()},
      {.name = "reduce_scatter",
       .blocks = size(),
       .run = [=](auto s, auto r, int n, auto t,
                  auto c) { return LNW_Reduce_scatter(s, r, counts(n).data(), t, MPI_SUM, c); },
       .start =
           [=](auto s, auto r, int n, auto t, auto c, auto q) {
             static std::vector<int> all;  // until the operation is complete
             all = counts(n);
             return LNW_Ireduce_scatter(s, r, all.data(), t, MPI_SUM, c, q);
           },
       .make = [=](auto s, auto r, int n, auto t, auto c,
                   auto q) { return LNW_Reduce_scatter_init(s, r, counts(n).data(), t, MPI_SUM, c, MPI_INFO_NULL, q); },
       .offset = rank()},
      {.name = "scan",
       .run = [](auto s, auto r, int n, auto t, auto c) { return LNW_Scan(s, r, n, t, MPI_SUM, c); },
       .start = [](auto s, auto r, int n, auto t, auto c, auto q) { return LNW_Iscan(s, r, n, t, MPI_SUM, c, q); },
       .make = [](auto s, auto r, int n, auto t, auto c,
                  auto q) { return LNW_Scan_init(s, r, n, t, MPI_SUM, c, MPI_INFO_NULL, q); },
       .end = rank() + 1},
      {.name = "exscan",
       .run = [](auto s, auto r, int n, auto t, auto c) { return LNW_Exscan(s, r, n, t, MPI_SUM, c); },
       .start = [](auto s, auto r, int n, auto t, auto c, auto q) { return LNW_Iexscan(s, r, n, t, MPI_SUM, c, q); },
       .make = [](auto s, auto r, int n, auto t, auto c,
                  auto q) { return LNW_Exscan_init(s, r, n, t, MPI_SUM, c, MPI_INFO_NULL, q); },
       .is_defined = rank() > 0,
       .end = rank()},
  };
}

template <class Float>
MPI_Datatype type_of(int numbers) {
  if (std::is_same_v<Float, float>) return numbers == 1 ? MPI_FLOAT : MPI_C_FLOAT_COMPLEX;
  return numbers == 1 ? MPI_DOUBLE : MPI_C_DOUBLE_COMPLEX;
}

class DenseExactTest : public MpiTest {
 protected:
  /// `numbers`: in an element, 2 of a complex number.
  template <class Float>
  static void check(const Operation& operation, Form form, int count, int numbers, bool in_place, MPI_Comm comm) {
    const std::string what = operation.name + " in form " + std::to_string(static_cast<int>(form)) + ", " +
                             std::to_string(count) + " of " + std::to_string(numbers) + " numbers" +
                             (in_place ? ", in place" : "");
    const std::size_t block = static_cast<std::size_t>(count) * static_cast<std::size_t>(numbers);
    std::vector<Float> sent(block * static_cast<std::size_t>(operation.blocks));
    std::vector<Float> received(sent.size() + 1, Float{-7});
    const auto fill = [&](std::vector<Float>& into) {
      for (std::size_t i = 0; i < sent.size(); ++i) into[i] = number<Float>(units<Float>(rank(), static_cast<int>(i)));
    };
    fill(in_place ? received : sent);
    const void* const sendbuf = in_place ? MPI_IN_PLACE : static_cast<const void*>(sent.data());
    const MPI_Datatype type = type_of<Float>(numbers);
    const auto compare = [&] {
      const std::size_t offset = block * static_cast<std::size_t>(operation.offset);
      for (std::size_t i = 0; operation.is_defined && i < block; ++i) {
        const auto wanted = sum_of<Float>(0, operation.end, static_cast<int>(offset + i));
        ASSERT_EQ(std::memcmp(&received[i], &wanted, sizeof wanted), 0)
            << what << ": element " << i << " is " << received[i] << ", not " << wanted;
      }
      for (std::size_t i = 0; !in_place && !operation.is_defined && i < block; ++i) ASSERT_EQ(received[i], Float{-7});
      ASSERT_EQ(received.back(), Float{-7}) << what;
    };
    if (form == Form::blocking) {
      for (int n = 0; n < 2; ++n) {
        if (in_place) fill(received);
        ASSERT_EQ(operation.run(sendbuf, received.data(), count, type, comm), MPI_SUCCESS) << what;
        compare();
      }
      return;
    }
    LNW_Request request = LNW_REQUEST_NULL;
    const auto& make = form == Form::persistent ? operation.make : operation.start;
    ASSERT_EQ(make(sendbuf, received.data(), count, type, comm, &request), MPI_SUCCESS) << what;
    for (int n = 0; n < (form == Form::persistent ? 3 : 1); ++n) {
      if (form == Form::persistent) {
        if (in_place) fill(received);
        ASSERT_EQ(LNW_Start(&request), MPI_SUCCESS);
      }
      int is_complete = 0;
      while (n == 1 && is_complete == 0) LNW_Test(&request, &is_complete, MPI_STATUS_IGNORE);
      ASSERT_EQ(LNW_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
      compare();
    }
    if (request != LNW_REQUEST_NULL) LNW_Request_free(&request);
  }

  static void check_all(MPI_Comm comm) {
    for (const Operation& operation : operations())
      for (const Form form : {Form::blocking, Form::nonblocking, Form::persistent})
        for (const bool in_place : {false, true}) {
          if (in_place && operation.name == "reduce") continue;
          for (const int count : {0, 1, 65}) {
            check<double>(operation, form, count, 1, in_place, comm);
            check<float>(operation, form, count, 1, in_place, comm);
          }
          check<double>(operation, form, 6, 2, in_place, comm);
          check<float>(operation, form, 6, 2, in_place, comm);
        }
  }
};

TEST_F(DenseExactTest, SumsAreRoundedOnce) {
  const Setting order("LANEWAY_ORDER", "exact");
  for (const std::string& described : {std::string("auto"), uneven_machine()}) {
    const Setting machine("LANEWAY_MACHINE", described == "auto" ? "" : described);
    const Comm comm = duplicate_of(MPI_COMM_WORLD);
    check_all(comm.get());
  }
}

/// Before anything blocking has been called.
TEST_F(DenseExactTest, TheHintOfACommunicator) {
  const Info info(Hints{{"lnw_order", "exact"}});
  MPI_Comm made = MPI_COMM_NULL;
  ASSERT_EQ(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info.get(), &made), MPI_SUCCESS);
  const Comm comm(made);
  if (!keeps_hints(comm.get())) GTEST_SKIP() << "SKIP: this MPI library drops keys that it does not know";
  const Operation allreduce = operations().front();
  check<double>(allreduce, Form::nonblocking, 9, 1, false, comm.get());
  check<double>(allreduce, Form::blocking, 9, 1, false, comm.get());
}

TEST_F(DenseExactTest, TheHintOfARequest) {
  const Info info(Hints{{"lnw_order", "exact"}});
  const Comm comm = duplicate_of(MPI_COMM_WORLD);
  std::vector<double> mine(20);
  for (int i = 0; i < 20; ++i) mine[static_cast<std::size_t>(i)] = number<double>(units<double>(rank(), i));
  std::vector<double> sum(mine.size());
  LNW_Request request = LNW_REQUEST_NULL;
  ASSERT_EQ(LNW_Allreduce_init(mine.data(), sum.data(), 20, MPI_DOUBLE, MPI_SUM, comm.get(), info.get(), &request),
            MPI_SUCCESS);
  LNW_Start(&request);
  LNW_Wait(&request, MPI_STATUS_IGNORE);
  LNW_Request_free(&request);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(sum[static_cast<std::size_t>(i)], sum_of<double>(0, size(), i));
}

/// Ranks in another order, as those of one node or of several.
TEST_F(DenseExactTest, PlacementCannotBeSeen) {
  const Setting order("LANEWAY_ORDER", "exact");
  std::vector<double> mine(50);
  for (std::size_t i = 0; i < mine.size(); ++i)
    mine[i] = std::pow(-1.5, static_cast<double>((i * 7 + 13U * static_cast<unsigned>(rank())) % 90));
  std::vector<double> first;
  for (const std::string& described : {std::string("node:* rank:1"), std::string("node:* rank:2"), uneven_machine()})
    for (const int key : {rank(), -rank(), (rank() * 7) % size()}) {
      const Setting machine("LANEWAY_MACHINE", described);
      MPI_Comm split = MPI_COMM_NULL;
      MPI_Comm_split(MPI_COMM_WORLD, 0, key, &split);
      std::vector<double> sum(mine.size());
      EXPECT_EQ(LNW_Allreduce(mine.data(), sum.data(), 50, MPI_DOUBLE, MPI_SUM, split), MPI_SUCCESS);
      if (first.empty()) first = sum;
      EXPECT_EQ(std::memcmp(first.data(), sum.data(), sum.size() * sizeof(double)), 0);
      MPI_Comm_free(&split);
    }
}

/// What is no sum of such numbers is what it is under lnw_order=canonical.
TEST_F(DenseExactTest, OtherOperatorsAndTypes) {
  const Setting order("LANEWAY_ORDER", "exact");
  const Comm comm = duplicate_of(MPI_COMM_WORLD);
  const int mine = rank() + 1;
  int sum = 0;
  EXPECT_EQ(LNW_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm.get()), MPI_SUCCESS);
  EXPECT_EQ(sum, size() * (size() + 1) / 2);
  const double number = rank();
  double most = 0;
  EXPECT_EQ(LNW_Allreduce(&number, &most, 1, MPI_DOUBLE, MPI_MAX, comm.get()), MPI_SUCCESS);
  EXPECT_EQ(most, size() - 1);
  const long double wide = rank() + 1;
  long double wide_sum = 0;
  EXPECT_EQ(LNW_Allreduce(&wide, &wide_sum, 1, MPI_LONG_DOUBLE, MPI_SUM, comm.get()), MPI_SUCCESS);
  EXPECT_EQ(wide_sum, size() * (size() + 1) / 2);
}

}  // namespace
}  // namespace laneway::test
