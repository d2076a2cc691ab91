// Halos of arrays by pointer, extents and strides, without Kokkos, against plain messages of packed boxes.
#include <laneway/strided.hpp>

#include <array>
#include <cstdint>
#include <vector>

#include "support.hpp"

namespace laneway::test {
namespace {

// Inside the library there are other types of these names.
using ::laneway::cxx::Box;
using ::laneway::cxx::Part;
using ::laneway::cxx::StridedHalo;
using ::laneway::cxx::StridedView;

/// The members of std::mdspan that are needed, with any strides.
template <class T, std::size_t Rank>
struct Mdspan {
  using element_type = T;
  T* first;
  std::array<int, Rank> sizes, steps;

  [[nodiscard]] static constexpr std::size_t rank() { return Rank; }
  [[nodiscard]] T* data_handle() const { return first; }
  [[nodiscard]] int extent(std::size_t d) const { return sizes[d]; }
  [[nodiscard]] int stride(std::size_t d) const { return steps[d]; }
};

/// Elements of a box in the order of the last dimension first.
template <std::size_t Rank, class F>
void for_each(const Box<Rank>& box, F&& f) {
  std::array<std::size_t, Rank> index = box.begin;
  for (std::size_t left = box.size(); left > 0; --left) {
    f(index);
    for (std::size_t d = Rank; d-- > 0;) {
      if (++index[d] < box.end[d]) break;
      index[d] = box.begin[d];
    }
  }
}

/// Two layers go to the next rank, one to the previous, in one dimension; all of the memory is looked at, with what
/// lies between the elements.
template <class T, std::size_t Rank>
void compare(std::vector<T> memory, const Mdspan<T, Rank>& shape, int seed) {
  const int next = (rank() + 1) % size(), previous = (rank() + size() - 1) % size();
  Mdspan<T, Rank> array = shape;
  array.first = memory.data();
  const auto view = ::laneway::strided_view(array);
  ASSERT_LE(view.span(), memory.size());
  std::vector<Part<Rank>> send, receive;
  const std::size_t d = static_cast<std::size_t>(seed) % Rank;
  Box<Rank> box;
  for (std::size_t e = 0; e < Rank; ++e) box.end[e] = view.extents[e];
  {
    const auto layers = [&](std::size_t begin, std::size_t end) {
      Box<Rank> part = box;
      part.begin[d] = begin;
      part.end[d] = end;
      return part;
    };
    const std::size_t n = view.extents[d];
    send.push_back({next, layers(n - 3, n - 1)});
    receive.push_back({previous, layers(0, 2)});
    send.push_back({previous, layers(2, 3)});
    receive.push_back({next, layers(n - 1, n)});
  }
  StridedHalo<T, Rank> halo(MPI_COMM_WORLD, view, send, receive);
  for (int turn = 0; turn < 3; ++turn) {
    for (std::size_t i = 0; i < memory.size(); ++i)
      memory[i] = static_cast<T>(1000 * rank() + 31 * turn + seed + 3 * static_cast<int>(i));
    std::vector<T> expected = memory;
    StridedView<T, Rank> model = view;
    model.data = expected.data();
    std::vector<std::vector<T>> out, in;
    std::vector<MPI_Request> requests;
    for (const auto& part : receive) in.emplace_back(part.box.size());
    for (const auto& part : send)
      for_each(part.box, [&, &list = out.emplace_back()](const auto& index) { list.push_back(view(index)); });
    for (std::size_t p = 0; p < receive.size(); ++p)
      MPI_Irecv(in[p].data(), static_cast<int>(in[p].size() * sizeof(T)), MPI_BYTE, receive[p].rank, 4, MPI_COMM_WORLD,
                &requests.emplace_back());
    for (std::size_t p = 0; p < send.size(); ++p)
      MPI_Isend(out[p].data(), static_cast<int>(out[p].size() * sizeof(T)), MPI_BYTE, send[p].rank, 4, MPI_COMM_WORLD,
                &requests.emplace_back());
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    for (std::size_t p = 0; p < receive.size(); ++p) {
      std::size_t at = 0;
      for_each(receive[p].box, [&](const auto& index) { model(index) = in[p][at++]; });
    }
    halo.exchange(view);
    ASSERT_EQ(memory, expected) << "seed " << seed << " turn " << turn;
  }
}

class StridedTest : public MpiTest {};

TEST_F(StridedTest, RowsWithGapsColumnsAndPermutedDimensions) {
  for (int seed = 0; seed < 4; ++seed) {
    compare<double, 1>(std::vector<double>(30), {nullptr, {9}, {3}}, seed);
    compare<double, 2>(std::vector<double>(90), {nullptr, {7, 9}, {12, 1}}, seed);
    compare<float, 2>(std::vector<float>(90), {nullptr, {7, 9}, {1, 8}}, seed);
    compare<std::int16_t, 3>(std::vector<std::int16_t>(700), {nullptr, {5, 6, 7}, {8, 100, 1}}, seed);
  }
}

TEST_F(StridedTest, AnotherArrayOfTheSameShapeAndAWrongOne) {
  std::vector<double> one(60), other(60);
  const StridedView<double, 2> view{one.data(), {5, 8}, {12, 1}}, same{other.data(), {5, 8}, {12, 1}};
  const StridedView<double, 2> wrong{other.data(), {5, 8}, {11, 1}};
  const int next = (rank() + 1) % size(), previous = (rank() + size() - 1) % size();
  const std::vector<Part<2>> send{{next, {{0, 6}, {5, 7}}}}, receive{{previous, {{0, 0}, {5, 1}}}};
  StridedHalo<double, 2> halo(MPI_COMM_WORLD, view, send, receive);
  for (const StridedView<double, 2>& array : {view, same, view}) {
    for (std::size_t i = 0; i < 5; ++i) array({i, 6}) = 10 * rank() + static_cast<double>(i);
    halo.exchange(array);
    for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(array({i, 0}), 10 * previous + static_cast<double>(i));
  }
  EXPECT_THROW(halo.exchange(wrong), std::invalid_argument);
}

}  // namespace
}  // namespace laneway::test
