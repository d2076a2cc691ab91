// Operators and datatypes of a program: freed as early as MPI allows, with their handles used again at once; what an
// operator is called with; and empty datatypes.

#include <algorithm>
#include <string>
#include <vector>

#include "setting.hpp"
#include "support.hpp"

namespace laneway::test {
namespace {

MPI_Datatype wanted = MPI_DATATYPE_NULL;
int keyval = MPI_KEYVAL_INVALID;
int calls = 0;
int wrong_handles = 0;
int without_attribute = 0;

struct Two {
  long value;
  long number;
};

void add_two(void* in, void* inout, int* n, MPI_Datatype* type) {
  ++calls;
  if (*type != wanted) ++wrong_handles;
  void* attribute = nullptr;
  int found = 0;
  if (wanted != MPI_DATATYPE_NULL) MPI_Type_get_attr(*type, keyval, static_cast<void*>(&attribute), &found);
  if (found == 0) ++without_attribute;
  const auto* const from = static_cast<const Two*>(in);
  auto* const to = static_cast<Two*>(inout);
  for (int i = 0; i < *n; ++i) to[i] = {to[i].value + from[i].value, to[i].number + from[i].number};
}
void spoil(void*, void* inout, int* n, MPI_Datatype*) {
  for (int i = 0; i < *n; ++i) static_cast<Two*>(inout)[i] = {-7, -7};
}

constexpr int count = 50;

class OperatorsTest : public MpiTest {
 protected:
  void SetUp() override {
    MpiTest::SetUp();
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &keyval, nullptr);
    calls = wrong_handles = without_attribute = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    const int next = (rank() + 1) % size();
    const int last = (rank() + size() - 1) % size();
    LNW_Dist_graph_create_adjacent(comm_, 1, &last, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &graph_);
    LNW_Barrier(comm_);
  }
  void TearDown() override {
    MPI_Comm_free(&graph_);
    MPI_Comm_free(&comm_);
    MPI_Type_free_keyval(&keyval);
    MpiTest::TearDown();
  }

  /// A handle and what it is for.
  struct Handles {
    MPI_Op op = MPI_OP_NULL;
    MPI_Datatype type = MPI_DATATYPE_NULL;
  };
  static Handles make(bool commutes) {
    Handles made;
    MPI_Op_create(add_two, commutes ? 1 : 0, &made.op);
    MPI_Type_contiguous(2, MPI_LONG, &made.type);
    MPI_Type_commit(&made.type);
    MPI_Type_set_attr(made.type, keyval, &keyval);
    wanted = made.type;
    return made;
  }

  /// Those that a program makes next, which may get the same handles.
  class Others {
   public:
    Others() {
      for (MPI_Op& op : ops_) MPI_Op_create(spoil, 1, &op);
      for (MPI_Datatype& type : types_) {
        MPI_Type_contiguous(3, MPI_LONG, &type);
        MPI_Type_commit(&type);
      }
    }
    ~Others() {
      for (MPI_Op& op : ops_) MPI_Op_free(&op);
      for (MPI_Datatype& type : types_) MPI_Type_free(&type);
    }
    Others(const Others&) = delete;
    Others& operator=(const Others&) = delete;

   private:
    MPI_Op ops_[4];
    MPI_Datatype types_[4];
  };

  using Make = int (*)(const Two*, Two*, const Handles&, MPI_Comm, MPI_Comm, LNW_Request*);
  struct Row {
    const char* name;
    bool is_persistent;
    bool is_neighbors;
    Make make;
  };
  static const std::vector<Row>& rows();

  static std::vector<Two> data() { return std::vector<Two>(count, Two{rank() + 1L, 1}); }
  static Two expected(const Row& row) {
    const long last = (rank() + size() - 1) % size();
    if (row.is_neighbors) return {last + 1, 1};
    return {size() * (size() + 1L) / 2, size()};
  }
  static void expect(const std::vector<Two>& got, const Row& row) {
    const Two want = expected(row);
    const auto wrong = std::ranges::count_if(
        got, [&](const Two& two) { return two.value != want.value || two.number != want.number; });
    EXPECT_EQ(wrong, 0) << row.name;
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Comm graph_ = MPI_COMM_NULL;
};

const std::vector<OperatorsTest::Row>& OperatorsTest::rows() {
  static const std::vector<Row> all = {
      {"LNW_Iallreduce", false, false,
       [](const Two* from, Two* to, const Handles& with, MPI_Comm comm, MPI_Comm, LNW_Request* request) {
         return LNW_Iallreduce(from, to, count, with.type, with.op, comm, request);
       }},
      {"LNW_Allreduce_init", true, false,
       [](const Two* from, Two* to, const Handles& with, MPI_Comm comm, MPI_Comm, LNW_Request* request) {
         return LNW_Allreduce_init(from, to, count, with.type, with.op, comm, MPI_INFO_NULL, request);
       }},
      {"LNW_Ineighbor_reduce", false, true,
       [](const Two* from, Two* to, const Handles& with, MPI_Comm, MPI_Comm graph, LNW_Request* request) {
         return LNW_Ineighbor_reduce(from, count, with.type, to, count, with.type, with.op, graph, request);
       }},
      {"LNW_Neighbor_reduce_init", true, true,
       [](const Two* from, Two* to, const Handles& with, MPI_Comm, MPI_Comm graph, LNW_Request* request) {
         return LNW_Neighbor_reduce_init(from, count, with.type, to, count, with.type, with.op, graph, MPI_INFO_NULL,
                                         request);
       }},
  };
  return all;
}

TEST_F(OperatorsTest, MayBeFreedWhileRequestsNeedThem) {
  for (const char* const collective : {"auto", "mpi", "allreduce:recursive_doubling"}) {
    const Setting machine("LANEWAY_MACHINE", "node:* rank:2");
    const Setting named("LANEWAY_COLLECTIVE", collective);
    for (const bool commutes : {true, false}) {
      if (!commutes && std::string(collective) != "auto") continue;
      for (const Row& row : rows()) {
        SCOPED_TRACE(std::string(collective) + (commutes ? "" : ", in order"));
        std::vector<Two> from = data();
        std::vector<Two> to(count, row.is_neighbors ? Two{0, 0} : Two{-1, -1});
        Handles with = make(commutes);
        LNW_Request request = LNW_REQUEST_NULL;
        ASSERT_EQ(row.make(from.data(), to.data(), with, comm_, graph_, &request), MPI_SUCCESS) << row.name;
        MPI_Op_free(&with.op);
        MPI_Type_free(&with.type);
        EXPECT_EQ(with.op, MPI_OP_NULL);
        wanted = MPI_DATATYPE_NULL;
        const Others others;
        for (int n = 0; n < (row.is_persistent ? 2 : 1); ++n) {
          if (row.is_persistent && row.is_neighbors) std::ranges::fill(to, Two{0, 0});
          if (row.is_persistent) LNW_Start(&request);
          LNW_Wait(&request, MPI_STATUS_IGNORE);
          expect(to, row);
        }
        if (row.is_persistent) LNW_Request_free(&request);
      }
    }
  }
}

/// Plans of blocking calls are kept: a handle that is used again is another operator's.
TEST_F(OperatorsTest, HandlesMayBeUsedAgain) {
  const Setting machine("LANEWAY_MACHINE", "node:* rank:2");
  const Comm comm = [] {
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    return Comm(copy);
  }();
  for (int n = 0; n < 40; ++n) {
    MPI_Op op = MPI_OP_NULL;
    MPI_Op_create(n % 2 == 0 ? add_two : spoil, 1, &op);
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(2, MPI_LONG, &type);
    MPI_Type_commit(&type);
    wanted = MPI_DATATYPE_NULL;
    const std::vector<Two> from = data();
    std::vector<Two> to(count, Two{-1, -1});
    ASSERT_EQ(LNW_Allreduce(from.data(), to.data(), count, type, op, comm.get()), MPI_SUCCESS);
    EXPECT_EQ(to[3].number, n % 2 == 0 || size() == 1 ? size() : -7) << n;
    MPI_Type_free(&type);
    MPI_Op_free(&op);
  }
}

TEST_F(OperatorsTest, SeeTheCallersDatatype) {
  const Setting machine("LANEWAY_MACHINE", "node:* rank:2");
  for (const char* const collective : {"auto", "mpi", "allreduce:recursive_doubling"}) {
    const Setting named("LANEWAY_COLLECTIVE", collective);
    Handles with = make(true);
    const std::vector<Two> from = data();
    std::vector<Two> to(count);
    ASSERT_EQ(LNW_Allreduce(from.data(), to.data(), count, with.type, with.op, comm_), MPI_SUCCESS);
    EXPECT_EQ(wrong_handles, 0) << "LNW_Allreduce";
    for (const Row& row : rows()) {
      std::ranges::fill(to, Two{0, 0});
      LNW_Request request = LNW_REQUEST_NULL;
      ASSERT_EQ(row.make(from.data(), to.data(), with, comm_, graph_, &request), MPI_SUCCESS) << row.name;
      if (row.is_persistent) LNW_Start(&request);
      LNW_Wait(&request, MPI_STATUS_IGNORE);
      if (row.is_persistent) LNW_Request_free(&request);
      expect(to, row);
      EXPECT_EQ(wrong_handles, 0) << row.name;
      EXPECT_EQ(without_attribute, 0) << row.name;
      wrong_handles = without_attribute = 0;
    }
    ASSERT_EQ(LNW_Neighbor_reduce(from.data(), count, with.type, to.data(), count, with.type, with.op, graph_),
              MPI_SUCCESS);
    EXPECT_EQ(wrong_handles, 0) << "LNW_Neighbor_reduce";
    MPI_Op_free(&with.op);
    MPI_Type_free(&with.type);
  }
  if (size() > 1) {
    EXPECT_GT(calls, 0);
  }
}

TEST_F(OperatorsTest, HaveNothingToDoOnEmptyDatatypes) {
  const Setting machine("LANEWAY_MACHINE", "node:* rank:2");
  MPI_Datatype empty = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(0, MPI_INT, &empty);
  MPI_Type_commit(&empty);
  wanted = empty;
  const std::vector<int> counts(static_cast<std::size_t>(size()), 2);
  int from[8] = {};
  int to[8] = {};
  const auto ends = [](int code, LNW_Request* request) {
    EXPECT_EQ(code, MPI_SUCCESS);
    if (request == nullptr) return;
    LNW_Start(request);
    LNW_Wait(request, MPI_STATUS_IGNORE);
    LNW_Request_free(request);
  };
  const auto no_op = [](void*, void*, int*, MPI_Datatype*) {};
  for (const int commutes : {1, 0}) {
    MPI_Op op = MPI_OP_NULL;
    MPI_Op_create(no_op, commutes, &op);
    LNW_Request request = LNW_REQUEST_NULL;
    ends(LNW_Allreduce(from, to, 2, empty, op, comm_), nullptr);
    ends(LNW_Allreduce_c(from, to, MPI_Count{1} << 40, empty, op, comm_), nullptr);
    ends(LNW_Reduce(from, to, 2, empty, op, 0, comm_), nullptr);
    ends(LNW_Scan(from, to, 2, empty, op, comm_), nullptr);
    ends(LNW_Exscan(from, to, 2, empty, op, comm_), nullptr);
    ends(LNW_Reduce_scatter(from, to, counts.data(), empty, op, comm_), nullptr);
    ends(LNW_Reduce_scatter_block(from, to, 2, empty, op, comm_), nullptr);
    ends(LNW_Allreduce_init(from, to, 2, empty, op, comm_, MPI_INFO_NULL, &request), &request);
    ends(LNW_Neighbor_reduce(from, 2, empty, to, 2, empty, op, graph_), nullptr);
    ends(LNW_Neighbor_reduce_init(from, 2, empty, to, 2, empty, op, graph_, MPI_INFO_NULL, &request), &request);
    for (const char* const strategy : {"three_step", "two_step"}) {
      const Info info(Hints{{"lnw_strategy", strategy}});
      ends(LNW_Neighbor_reduce_init(from, 2, empty, to, 2, empty, op, graph_, info.get(), &request), &request);
    }
    MPI_Op_free(&op);
  }
  MPI_Type_free(&empty);
}

}  // namespace
}  // namespace laneway::test
