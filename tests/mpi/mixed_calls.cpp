#include "mixed_calls.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iostream>

namespace laneway::test {
namespace {

enum Form { blocking, nonblocking, persistent, program };
constexpr const char* form_names[] = {"blocking", "nonblocking", "persistent", "MPI"};

enum Operation {
  alltoall,
  alltoallv,
  alltoallw,
  allgather,
  allgatherv,
  gather,
  gatherv,
  scatter,
  scatterv,
  bcast,
  reduce,
  allreduce,
  reduce_scatter,
  reduce_scatter_block,
  scan,
  exscan,
  barrier,
  neighbor_allgather,
  neighbor_allgatherv,
  neighbor_alltoall,
  neighbor_alltoallv,
  neighbor_alltoallw,
  neighbor_reduce,
  neighbor_reducev,
  neighbor_reducew,
  operations
};
constexpr const char* operation_names[] = {"alltoall",
                                           "alltoallv",
                                           "alltoallw",
                                           "allgather",
                                           "allgatherv",
                                           "gather",
                                           "gatherv",
                                           "scatter",
                                           "scatterv",
                                           "bcast",
                                           "reduce",
                                           "allreduce",
                                           "reduce_scatter",
                                           "reduce_scatter_block",
                                           "scan",
                                           "exscan",
                                           "barrier",
                                           "neighbor_allgather",
                                           "neighbor_allgatherv",
                                           "neighbor_alltoall",
                                           "neighbor_alltoallv",
                                           "neighbor_alltoallw",
                                           "neighbor_reduce",
                                           "neighbor_reducev",
                                           "neighbor_reducew"};

constexpr int n = 3;  // elements of a block
constexpr int of_neighbors = 2;
constexpr long untouched = -7;

bool has_neighbors(int operation) {
  return operation >= neighbor_allgather;
}
bool combines(int operation) {
  return (operation >= reduce && operation <= exscan) || operation >= neighbor_reduce;
}
bool is_combined_by_neighbors(int operation) {
  return operation >= neighbor_reduce;
}

void expect_good(int code, const std::string& what) {
  EXPECT_EQ(code, MPI_SUCCESS) << what << ": " << error_text(code);
}

void sum_longs(void* in, void* out, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) static_cast<long*>(out)[i] += static_cast<long*>(in)[i];
}

/// Where a call's rank is, and what others have.
struct Ranks {
  int rank = 0;
  int size = 1;
  int turn = 0;

  explicit Ranks(const Spot& spot) : turn(spot.turn) {
    MPI_Comm_rank(spot.comm, &rank);
    MPI_Comm_size(spot.comm, &size);
  }
  [[nodiscard]] int next() const { return (rank + 1) % size; }
  [[nodiscard]] int prev() const { return (rank + size - 1) % size; }
  [[nodiscard]] int root() const { return turn % size; }
  /// Element i of what `of` sends.
  [[nodiscard]] long value(int of, int i) const { return 1000003L * of + 31L * i + turn; }
  template <class Value>
  [[nodiscard]] long sum(int ranks, Value&& element) const {
    long all = 0;
    for (int p = 0; p < ranks; ++p) all += element(p);
    return all;
  }
};

/// Arguments that may be freed early, and buffers that may not.
struct Arguments {
  std::vector<long> sent;
  std::vector<long> received;
  std::vector<long> expected;  ///< empty: nothing is
  std::vector<int> counts;
  std::vector<int> displacements;
  std::vector<int> byte_displacements;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Datatype> types;
  MPI_Datatype type = MPI_LONG;
  MPI_Op op = MPI_SUM;
  MPI_Info info = MPI_INFO_NULL;

  void make(int operation, const Ranks& at) {
    const int blocks = has_neighbors(operation) ? of_neighbors : at.size;
    for (int b = 0; b < blocks; ++b) {
      counts.push_back(n);
      displacements.push_back(b * n);
      byte_displacements.push_back(b * n * static_cast<int>(sizeof(long)));
      addresses.push_back(byte_displacements.back());
    }
    for (int i = 0; i < blocks * n; ++i) sent.push_back(at.value(at.rank, i));
    received.assign(static_cast<std::size_t>(blocks * n), is_combined_by_neighbors(operation) ? 5 : untouched);
    if (operation == bcast && at.rank == at.root()) std::copy_n(sent.begin(), n, received.begin());
    expected = received;
    fill_expected(operation, at);
  }

  void fill_expected(int operation, const Ranks& at) {
    const int from[] = {at.prev(), at.next()};
    const bool is_root = at.rank == at.root();
    const auto set = [&](int count, auto&& element) {
      for (int i = 0; i < count; ++i) expected[static_cast<std::size_t>(i)] = element(i);
    };
    switch (operation) {
      case alltoall:
      case alltoallv:
      case alltoallw:
        return set(at.size * n, [&](int i) { return at.value(i / n, at.rank * n + i % n); });
      case gather:
      case gatherv:
        if (!is_root) return;
        [[fallthrough]];
      case allgather:
      case allgatherv:
        return set(at.size * n, [&](int i) { return at.value(i / n, i % n); });
      case scatter:
      case scatterv:
        return set(n, [&](int i) { return at.value(at.root(), at.rank * n + i); });
      case bcast:
        return set(n, [&](int i) { return at.value(at.root(), i); });
      case reduce:
        if (!is_root) return;
        [[fallthrough]];
      case allreduce:
        return set(n, [&](int i) { return at.sum(at.size, [&](int p) { return at.value(p, i); }); });
      case reduce_scatter:
      case reduce_scatter_block:
        return set(n, [&](int i) { return at.sum(at.size, [&](int p) { return at.value(p, at.rank * n + i); }); });
      case scan:
        return set(n, [&](int i) { return at.sum(at.rank + 1, [&](int p) { return at.value(p, i); }); });
      case exscan:
        if (at.rank == 0) return expected.clear();  // undefined
        return set(n, [&](int i) { return at.sum(at.rank, [&](int p) { return at.value(p, i); }); });
      case neighbor_allgather:
      case neighbor_allgatherv:
        return set(2 * n, [&](int i) { return at.value(from[i / n], i % n); });
      case neighbor_alltoall:
      case neighbor_alltoallv:
      case neighbor_alltoallw:
        return set(2 * n, [&](int i) { return at.value(from[i / n], i); });
      case neighbor_reduce:
      case neighbor_reducev:
      case neighbor_reducew:
        return set(2 * n, [&](int i) { return 5 + at.value(from[i / n], i); });
      default:
        return;
    }
  }

  [[nodiscard]] int wrong() const {
    int all = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) all += received[i] != expected[i] ? 1 : 0;
    return all;
  }
};

/// What a call is given where all is freed early: freed right after it, and its handle used for another.
class EarlyInfo {
 public:
  explicit EarlyInfo(bool frees) {
    if (!frees) return;
    MPI_Info_create(&info_);
    MPI_Info_set(info_, "lnw_exchanges", "3");
  }
  ~EarlyInfo() {
    if (info_ == MPI_INFO_NULL) return;
    MPI_Info_free(&info_);
    MPI_Info_create(&info_);
    MPI_Info_set(info_, "lnw_strategy", "there is none of this name");
    MPI_Info_free(&info_);
  }
  EarlyInfo(const EarlyInfo&) = delete;
  EarlyInfo& operator=(const EarlyInfo&) = delete;
  [[nodiscard]] MPI_Info get() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

/// Calls that one table of arguments describes.
class Collective final : public Begun {
 public:
  Collective(const CallRow& row, const Spot& spot) : row_(row), at_(spot) {
    of_.make(row.operation, at_);
    if (spot.frees) own_handles();
    // Open MPI's own alltoallw reads as many datatypes as there are neighbours, also where there are fewer ranks.
    of_.types.assign(row.form == program ? std::max<std::size_t>(of_.counts.size(), of_neighbors) : of_.counts.size(),
                     of_.type);
    expect_good(call(spot.comm), row.name);
    if (request_ != LNW_REQUEST_NULL && row.form == persistent) expect_good(LNW_Start(&request_), row.name);
    if (spot.frees) free_early();
  }

  int finish() override {
    if (row_.form == program) expect_good(MPI_Wait(&mpi_request_, MPI_STATUS_IGNORE), row_.name);
    if (row_.form == nonblocking || row_.form == persistent)
      expect_good(LNW_Wait(&request_, MPI_STATUS_IGNORE), row_.name);
    if (row_.form == persistent) expect_good(LNW_Request_free(&request_), row_.name);
    return of_.wrong();
  }

 private:
  void own_handles() {
    MPI_Type_contiguous(1, MPI_LONG, &of_.type);
    MPI_Type_commit(&of_.type);
    if (combines(row_.operation)) {
      MPI_Type_free(&of_.type);
      of_.type = MPI_LONG;
      // MPI keeps an operator as long as it is active; persistent requests document what they need.
      if (row_.form == nonblocking || row_.form == program) MPI_Op_create(sum_longs, 1, &of_.op);
    }
    MPI_Info_create(&of_.info);
    MPI_Info_set(of_.info, "lnw_exchanges", "3");
  }

  /// MPI's own functions may read arrays until the end, but neither datatypes nor operators.
  void free_early() {
    if (of_.type != MPI_LONG) {
      MPI_Type_free(&of_.type);
      MPI_Datatype other = MPI_DATATYPE_NULL;
      MPI_Type_vector(2, 1, 3, MPI_SHORT, &other);
      MPI_Type_commit(&other);
      MPI_Type_free(&other);
    }
    if (of_.op != MPI_SUM) {
      MPI_Op_free(&of_.op);
      MPI_Op other = MPI_OP_NULL;
      MPI_Op_create(
          [](void*, void* out, int* count, MPI_Datatype*) { std::fill_n(static_cast<long*>(out), *count, 0); }, 1,
          &other);
      MPI_Op_free(&other);
    }
    if (of_.info != MPI_INFO_NULL) MPI_Info_free(&of_.info);
    if (row_.form == program) return;
    for (std::vector<int>* const array : {&of_.counts, &of_.displacements, &of_.byte_displacements})
      std::ranges::fill(*array, -0x55555555);
    std::ranges::fill(of_.addresses, MPI_Aint{0x5555555555});
    std::ranges::fill(of_.types, MPI_DATATYPE_NULL);
    for (std::vector<int>* const array : {&of_.counts, &of_.displacements, &of_.byte_displacements})
      std::vector<int>().swap(*array);
    std::vector<MPI_Datatype>().swap(of_.types);
  }

// One call by its form, of this library; or MPI's own, which does not block.
#define LANEWAY_OWN_CALL(Upper, lower, ...)                                \
  (row_.form == blocking      ? LNW_##Upper(__VA_ARGS__, comm)             \
   : row_.form == nonblocking ? LNW_I##lower(__VA_ARGS__, comm, &request_) \
                              : LNW_##Upper##_init(__VA_ARGS__, comm, of_.info, &request_))
#define LANEWAY_CALL(Upper, lower, ...)                                        \
  return row_.form == program ? MPI_I##lower(__VA_ARGS__, comm, &mpi_request_) \
                              : LANEWAY_OWN_CALL(Upper, lower, __VA_ARGS__)

  int call(MPI_Comm comm) {
    long* const s = of_.sent.data();
    long* const r = of_.received.data();
    const int* const c = of_.counts.data();
    const int* const d = of_.displacements.data();
    const int* const b = of_.byte_displacements.data();
    const MPI_Aint* const a = of_.addresses.data();
    const MPI_Datatype t = of_.type;
    const MPI_Datatype* const ts = of_.types.data();
    const MPI_Op op = of_.op;
    const int root = at_.root();
    switch (row_.operation) {
      case alltoall:
        LANEWAY_CALL(Alltoall, alltoall, s, n, t, r, n, t);
      case alltoallv:
        LANEWAY_CALL(Alltoallv, alltoallv, s, c, d, t, r, c, d, t);
      case alltoallw:
        LANEWAY_CALL(Alltoallw, alltoallw, s, c, b, ts, r, c, b, ts);
      case allgather:
        LANEWAY_CALL(Allgather, allgather, s, n, t, r, n, t);
      case allgatherv:
        LANEWAY_CALL(Allgatherv, allgatherv, s, n, t, r, c, d, t);
      case gather:
        LANEWAY_CALL(Gather, gather, s, n, t, r, n, t, root);
      case gatherv:
        LANEWAY_CALL(Gatherv, gatherv, s, n, t, r, c, d, t, root);
      case scatter:
        LANEWAY_CALL(Scatter, scatter, s, n, t, r, n, t, root);
      case scatterv:
        LANEWAY_CALL(Scatterv, scatterv, s, c, d, t, r, n, t, root);
      case bcast:
        LANEWAY_CALL(Bcast, bcast, r, n, t, root);
      case reduce:
        LANEWAY_CALL(Reduce, reduce, s, r, n, t, op, root);
      case allreduce:
        LANEWAY_CALL(Allreduce, allreduce, s, r, n, t, op);
      case reduce_scatter:
        LANEWAY_CALL(Reduce_scatter, reduce_scatter, s, r, c, t, op);
      case reduce_scatter_block:
        LANEWAY_CALL(Reduce_scatter_block, reduce_scatter_block, s, r, n, t, op);
      case scan:
        LANEWAY_CALL(Scan, scan, s, r, n, t, op);
      case exscan:
        LANEWAY_CALL(Exscan, exscan, s, r, n, t, op);
      case barrier:
        if (row_.form == program) return MPI_Ibarrier(comm, &mpi_request_);
        return row_.form == blocking      ? LNW_Barrier(comm)
               : row_.form == nonblocking ? LNW_Ibarrier(comm, &request_)
                                          : LNW_Barrier_init(comm, of_.info, &request_);
      case neighbor_allgather:
        LANEWAY_CALL(Neighbor_allgather, neighbor_allgather, s, n, t, r, n, t);
      case neighbor_allgatherv:
        LANEWAY_CALL(Neighbor_allgatherv, neighbor_allgatherv, s, n, t, r, c, d, t);
      case neighbor_alltoall:
        LANEWAY_CALL(Neighbor_alltoall, neighbor_alltoall, s, n, t, r, n, t);
      case neighbor_alltoallv:
        LANEWAY_CALL(Neighbor_alltoallv, neighbor_alltoallv, s, c, d, t, r, c, d, t);
      case neighbor_alltoallw:
        LANEWAY_CALL(Neighbor_alltoallw, neighbor_alltoallw, s, c, a, ts, r, c, a, ts);
      case neighbor_reduce:
        return LANEWAY_OWN_CALL(Neighbor_reduce, neighbor_reduce, s, n, t, r, n, t, op);
      case neighbor_reducev:
        return LANEWAY_OWN_CALL(Neighbor_reducev, neighbor_reducev, s, c, d, t, r, c, d, t, op);
      default:
        return LANEWAY_OWN_CALL(Neighbor_reducew, neighbor_reducew, s, c, a, ts, r, c, a, ts, op);
    }
  }
#undef LANEWAY_CALL
#undef LANEWAY_OWN_CALL

  const CallRow& row_;
  Ranks at_;
  Arguments of_;
  LNW_Request request_ = LNW_REQUEST_NULL;
  MPI_Request mpi_request_ = MPI_REQUEST_NULL;
};

/// The program's messages to both neighbours.
class Messages final : public Begun {
 public:
  Messages(const CallRow&, const Spot& spot) : at_(spot), tally_(*spot.tally) {
    sent_ = {at_.value(at_.rank, 0), at_.value(at_.rank, 1)};
    const int to[] = {at_.next(), at_.prev()};
    tally_.expected += at_.value(at_.prev(), 0) + at_.value(at_.next(), 1);
    for (std::size_t i = 0; i < 2; ++i) {
      MPI_Irecv(&received_[i], 1, MPI_LONG, MPI_ANY_SOURCE, MPI_ANY_TAG, spot.comm, &requests_[i]);
      MPI_Isend(&sent_[i], 1, MPI_LONG, to[i], at_.turn % 30000, spot.comm, &requests_[2 + i]);
    }
  }
  int finish() override {
    MPI_Waitall(4, requests_.data(), MPI_STATUSES_IGNORE);
    tally_.received += received_[0] + received_[1];
    return 0;
  }

 private:
  Ranks at_;
  Tally& tally_;
  std::array<long, 2> sent_{};
  std::array<long, 2> received_{};
  std::array<MPI_Request, 4> requests_{};
};

/// MPI's own that block.
class Blocking final : public Begun {
 public:
  Blocking(const CallRow&, const Spot& spot) {
    const Ranks at(spot);
    long mine = at.value(at.rank, 0), least = 0;
    MPI_Allreduce(&mine, &least, 1, MPI_LONG, MPI_MIN, spot.comm);
    wrong_ = least != at.value(0, 0) ? 1 : 0;
  }
  int finish() override { return wrong_; }

 private:
  int wrong_ = 0;
};

class Partitioned final : public Begun {
 public:
  Partitioned(const CallRow& row, const Spot& spot) : name_(row.name), at_(spot) {
    MPI_Datatype type = MPI_LONG;
    if (spot.frees) {
      MPI_Type_contiguous(1, MPI_LONG, &type);
      MPI_Type_commit(&type);
    }
    for (int i = 0; i < 4; ++i) sent_[static_cast<std::size_t>(i)] = at_.value(at_.rank, i);
    expect_good(LNW_Psend_init(sent_.data(), 2, 2, type, at_.next(), 3, spot.comm, EarlyInfo(spot.frees).get(), &send_),
                name_);
    expect_good(
        LNW_Precv_init(received_.data(), 1, 4, type, at_.prev(), 3, spot.comm, EarlyInfo(spot.frees).get(), &receive_),
        name_);
    if (spot.frees) MPI_Type_free(&type);
    expect_good(LNW_Start(&receive_), name_);
    expect_good(LNW_Start(&send_), name_);
    expect_good(LNW_Pready_range(0, 1, send_), name_);
  }
  int finish() override {
    for (LNW_Request* const request : {&send_, &receive_}) {
      expect_good(LNW_Wait(request, MPI_STATUS_IGNORE), name_);
      expect_good(LNW_Request_free(request), name_);
    }
    int wrong = 0;
    for (int i = 0; i < 4; ++i) wrong += received_[static_cast<std::size_t>(i)] != at_.value(at_.prev(), i) ? 1 : 0;
    return wrong;
  }

 private:
  std::string name_;
  Ranks at_;
  std::array<long, 4> sent_{};
  std::array<long, 4> received_{};
  LNW_Request send_ = LNW_REQUEST_NULL;
  LNW_Request receive_ = LNW_REQUEST_NULL;
};

class ChannelCall final : public Begun {
 public:
  ChannelCall(const CallRow& row, const Spot& spot) : name_(row.name), at_(spot) {
    expect_good(LNW_Channel_create(spot.comm, at_.next(), LNW_CHANNEL_SEND, 8, 1, EarlyInfo(spot.frees).get(), &send_),
                name_);
    expect_good(
        LNW_Channel_create(spot.comm, at_.prev(), LNW_CHANNEL_RECEIVE, 8, 1, EarlyInfo(spot.frees).get(), &receive_),
        name_);
    sent_ = at_.value(at_.rank, 0);
    expect_good(LNW_Channel_put(send_, 0, &sent_, 8), name_);
  }
  int finish() override {
    void* data = nullptr;
    MPI_Count bytes = 0;
    expect_good(LNW_Channel_wait(receive_, 0, &data, &bytes), name_);
    const bool is_right = bytes == 8 && *static_cast<long*>(data) == at_.value(at_.prev(), 0);
    expect_good(LNW_Channel_release(receive_, 0), name_);
    expect_good(LNW_Channel_free(&send_), name_);
    expect_good(LNW_Channel_free(&receive_), name_);
    return is_right ? 0 : 1;
  }

 private:
  std::string name_;
  Ranks at_;
  long sent_ = 0;
  LNW_Channel send_ = LNW_CHANNEL_NULL;
  LNW_Channel receive_ = LNW_CHANNEL_NULL;
};

class Sparse final : public Begun {
 public:
  Sparse(const CallRow& row, const Spot& spot) : name_(row.name), at_(spot) {
    std::vector<int> lists = {at_.next(), 1, 0};
    sent_ = at_.value(at_.rank, 0);
    expect_good(row.form == blocking
                    ? LNW_Sparse_alltoallv(1, &lists[0], &sent_, &lists[1], &lists[2], MPI_LONG, spot.comm,
                                           EarlyInfo(spot.frees).get(), &arrivals_)
                    : LNW_Isparse_alltoallv(1, &lists[0], &sent_, &lists[1], &lists[2], MPI_LONG, spot.comm,
                                            EarlyInfo(spot.frees).get(), &arrivals_, &request_),
                name_);
    std::ranges::fill(lists, -0x55555555);
    if (row.form == blocking) sent_ = untouched;
  }
  int finish() override {
    if (request_ != LNW_REQUEST_NULL) expect_good(LNW_Wait(&request_, MPI_STATUS_IGNORE), name_);
    void* data = nullptr;
    MPI_Count bytes = 0;
    expect_good(LNW_Arrivals_get_data(arrivals_, &data, &bytes), name_);
    const bool is_right = bytes == sizeof(long) && *static_cast<long*>(data) == at_.value(at_.prev(), 0);
    expect_good(LNW_Arrivals_free(&arrivals_), name_);
    return is_right ? 0 : 1;
  }

 private:
  std::string name_;
  Ranks at_;
  long sent_ = 0;
  LNW_Arrivals arrivals_{};
  LNW_Request request_ = LNW_REQUEST_NULL;
};

class BagCall final : public Begun {
 public:
  BagCall(const CallRow& row, const Spot& spot) : name_(row.name), at_(spot) {
    expect_good(LNW_Bag_create(spot.comm, EarlyInfo(spot.frees).get(), &bag_), name_);
    long sent = at_.value(at_.rank, 0);
    expect_good(LNW_Bag_send(bag_, at_.next(), &sent, sizeof sent), name_);
    sent = untouched;
    expect_good(LNW_Bag_iflush(bag_, &flush_), name_);
  }
  int finish() override {
    expect_good(LNW_Wait(&flush_, MPI_STATUS_IGNORE), name_);
    int from = -1, flag = 0;
    void* data = nullptr;
    MPI_Count bytes = 0;
    expect_good(LNW_Bag_next(bag_, &from, &data, &bytes, &flag), name_);
    const bool is_right = flag != 0 && from == at_.prev() && *static_cast<long*>(data) == at_.value(from, 0);
    expect_good(LNW_Bag_free(&bag_), name_);
    return is_right ? 0 : 1;
  }

 private:
  std::string name_;
  Ranks at_;
  LNW_Bag bag_{};
  LNW_Request flush_ = LNW_REQUEST_NULL;
};

class HaloCall final : public Begun {
 public:
  HaloCall(const CallRow& row, const Spot& spot) : name_(row.name), at_(spot) {
    std::vector<MPI_Count> ghosts = {2 * at_.next()};
    LNW_Halo halo = LNW_HALO_NULL;
    expect_good(LNW_Halo_create(spot.comm, 2 * at_.rank, 2, 1, ghosts.data(), EarlyInfo(spot.frees).get(), &halo),
                name_);
    ghosts[0] = -1;
    array_ = {at_.value(at_.rank, 0), at_.value(at_.rank, 1), untouched};
    expect_good(LNW_Halo_init(halo, array_.data(), MPI_LONG, EarlyInfo(spot.frees).get(), &request_), name_);
    expect_good(LNW_Halo_free(&halo), name_);
    expect_good(LNW_Start(&request_), name_);
  }
  int finish() override {
    expect_good(LNW_Wait(&request_, MPI_STATUS_IGNORE), name_);
    expect_good(LNW_Request_free(&request_), name_);
    return array_[2] != at_.value(at_.next(), 0) ? 1 : 0;
  }

 private:
  std::string name_;
  Ranks at_;
  std::array<long, 3> array_{};
  LNW_Request request_ = LNW_REQUEST_NULL;
};

class DistributorCall final : public Begun {
 public:
  DistributorCall(const CallRow& row, const Spot& spot) : name_(row.name), at_(spot) {
    std::vector<int> to = {at_.next()};
    LNW_Distributor distributor = LNW_DISTRIBUTOR_NULL;
    expect_good(LNW_Distributor_create(spot.comm, 1, to.data(), EarlyInfo(spot.frees).get(), &distributor), name_);
    to[0] = -2;
    sent_ = at_.value(at_.rank, 0);
    if (row.form == blocking) {
      expect_good(LNW_Distributor_exchange(distributor, &sent_, &received_, MPI_LONG), name_);
    } else {
      expect_good(
          LNW_Distributor_init(distributor, &sent_, &received_, MPI_LONG, EarlyInfo(spot.frees).get(), &request_),
          name_);
      expect_good(LNW_Start(&request_), name_);
    }
    expect_good(LNW_Distributor_free(&distributor), name_);
  }
  int finish() override {
    if (request_ != LNW_REQUEST_NULL) {
      expect_good(LNW_Wait(&request_, MPI_STATUS_IGNORE), name_);
      expect_good(LNW_Request_free(&request_), name_);
    }
    return received_ != at_.value(at_.prev(), 0) ? 1 : 0;
  }

 private:
  std::string name_;
  Ranks at_;
  long sent_ = 0;
  long received_ = untouched;
  LNW_Request request_ = LNW_REQUEST_NULL;
};

/// A graph that is freed, or a topology object, while an operation on it is active.
class OfOwnTopology final : public Begun {
 public:
  enum What { graph_by_library, graph_by_mpi, object };
  OfOwnTopology(const CallRow& row, const Spot& spot) : name_(row.name), at_(spot) {
    std::array<int, 2> sources = {at_.prev(), at_.next()};
    std::array<int, 2> destinations = {at_.next(), at_.prev()};
    sent_ = at_.value(at_.rank, 0);
    if (row.form == object) {
      LNW_Topology topology = LNW_TOPOLOGY_NULL;
      expect_good(LNW_Topology_create(spot.comm, 2, sources.data(), MPI_UNWEIGHTED, 2, destinations.data(),
                                      MPI_UNWEIGHTED, EarlyInfo(spot.frees).get(), &topology),
                  name_);
      sources = destinations = {-1, -1};
      expect_good(
          LNW_Ineighbor_allgather_topology(&sent_, 1, MPI_LONG, received_.data(), 1, MPI_LONG, topology, &request_),
          name_);
      expect_good(LNW_Topology_free(&topology), name_);
      return;
    }
    MPI_Comm graph = make_ring(spot.comm, row.form == graph_by_library);
    expect_good(LNW_Ineighbor_allgather(&sent_, 1, MPI_LONG, received_.data(), 1, MPI_LONG, graph, &request_), name_);
    MPI_Comm_free(&graph);
  }
  int finish() override {
    expect_good(LNW_Wait(&request_, MPI_STATUS_IGNORE), name_);
    return (received_[0] != at_.value(at_.prev(), 0) ? 1 : 0) + (received_[1] != at_.value(at_.next(), 0) ? 1 : 0);
  }

 private:
  std::string name_;
  Ranks at_;
  long sent_ = 0;
  std::array<long, 2> received_{};
  LNW_Request request_ = LNW_REQUEST_NULL;
};

class Prepare final : public Begun {
 public:
  Prepare(const CallRow& row, const Spot& spot) { expect_good(LNW_Comm_prepare(spot.comm), row.name); }
  int finish() override { return 0; }
};

template <class Kind>
std::unique_ptr<Begun> begin(const CallRow& row, const Spot& spot) {
  return std::make_unique<Kind>(row, spot);
}

std::vector<CallRow> make_rows() {
  std::vector<CallRow> rows;
  for (int operation = 0; operation < operations; ++operation)
    for (const int form : {blocking, nonblocking, persistent, program}) {
      if (form == program && is_combined_by_neighbors(operation)) continue;
      // On a ring of one or two ranks both neighbours are one rank; MPICH's own alltoall then takes the edges in
      // another order.
      if (form == program && operation == neighbor_alltoall && is_mpich() && size() < 3) continue;
      rows.push_back({std::string(operation_names[operation]) + " " + form_names[form], form != program, false,
                      begin<Collective>, operation, form});
    }
  rows.push_back({"messages", false, false, begin<Messages>, 0, 0});
  rows.push_back({"allreduce that blocks", false, false, begin<Blocking>});
  rows.push_back({"partitioned", true, false, begin<Partitioned>});
  rows.push_back({"channel", true, false, begin<ChannelCall>});
  rows.push_back({"sparse blocking", true, false, begin<Sparse>, 0, blocking});
  rows.push_back({"sparse nonblocking", true, false, begin<Sparse>, 0, nonblocking});
  rows.push_back({"bag", true, true, begin<BagCall>});
  rows.push_back({"halo", true, false, begin<HaloCall>});
  rows.push_back({"distributor blocking", true, false, begin<DistributorCall>, 0, blocking});
  rows.push_back({"distributor persistent", true, false, begin<DistributorCall>, 0, persistent});
  rows.push_back({"graph of this library", true, false, begin<OfOwnTopology>, 0, OfOwnTopology::graph_by_library});
  rows.push_back({"graph of MPI", true, false, begin<OfOwnTopology>, 0, OfOwnTopology::graph_by_mpi});
  rows.push_back({"topology object", true, false, begin<OfOwnTopology>, 0, OfOwnTopology::object});
  rows.push_back({"prepare", true, false, begin<Prepare>});
  return rows;
}

std::vector<const CallRow*> rows_of(bool is_own) {
  std::vector<const CallRow*> found;
  for (const CallRow& row : call_rows())
    if (row.is_own == is_own) found.push_back(&row);
  return found;
}

}  // namespace

const std::vector<CallRow>& call_rows() {
  static const std::vector<CallRow> rows = make_rows();
  return rows;
}
std::vector<const CallRow*> own_rows() {
  return rows_of(true);
}
std::vector<const CallRow*> program_rows() {
  return rows_of(false);
}

MPI_Comm make_ring(MPI_Comm comm, bool by_library) {
  int rank = 0, size = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int next = (rank + 1) % size, prev = (rank + size - 1) % size;
  const std::array<int, 2> sources = {prev, next}, destinations = {next, prev};
  MPI_Comm ring = MPI_COMM_NULL;
  const auto create = by_library ? LNW_Dist_graph_create_adjacent : MPI_Dist_graph_create_adjacent;
  expect_good(
      create(comm, 2, sources.data(), MPI_UNWEIGHTED, 2, destinations.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring),
      "MPI_Dist_graph_create_adjacent");
  return ring;
}

int Sequence::run(std::vector<Planned> calls) const {
  struct Pending {
    const CallRow* row;
    std::unique_ptr<Begun> begun;
  };
  Tally tally;
  Random here(static_cast<unsigned>(mix({seed, 77, static_cast<std::uint64_t>(rank())})));
  std::vector<Pending> pending;
  int wrong = 0;
  const auto finish = [&](std::size_t which) {
    const Pending ended = std::move(pending[which]);
    pending.erase(pending.begin() + static_cast<std::ptrdiff_t>(which));
    const int found = ended.begun->finish();
    if (found != 0) std::cout << "rank " << rank() << ": " << ended.row->name << ": " << found << " wrong\n";
    wrong += found;
  };
  const auto finish_any = [&] {
    std::vector<std::size_t> may;
    for (std::size_t i = 0; i < pending.size(); ++i)
      if (!pending[i].row->ends_together) may.push_back(i);
    if (may.empty()) return false;
    finish(may[static_cast<std::size_t>(pick(here, 0, static_cast<int>(may.size()) - 1))]);
    return true;
  };
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (pick(here, 0, 15) == 0) usleep(static_cast<unsigned>(pick(here, 0, 400)));
    const int turn = static_cast<int>(mix({seed, i}) % 100000);
    pending.push_back({calls[i].row, calls[i].row->begin(*calls[i].row, {calls[i].comm, turn, frees, &tally})});
    if (between == nullptr && pick(here, 0, 2) == 0) (void)finish_any();
  }
  if (between != nullptr) between(calls);
  while (finish_any()) {
  }
  while (!pending.empty()) finish(0);
  MPI_Barrier(MPI_COMM_WORLD);  // messages of the next sequence are not received in this one
  if (tally.expected != tally.received) {
    std::cout << "rank " << rank() << ": the program's messages bring " << tally.received << " instead of "
              << tally.expected << "\n";
    ++wrong;
  }
  return wrong;
}

}  // namespace laneway::test
