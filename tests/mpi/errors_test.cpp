// Bad arguments: documented class, a text that names call, rank and argument, on all ranks, without a hang; the error
// handler is called once; the communicator stays usable.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <type_traits>
#include <utility>

#include "base/kind.hpp"
#include "support.hpp"

namespace laneway::test {
namespace {

int handler_calls = 0;
int handler_code = MPI_SUCCESS;
void count_call(MPI_Comm*, int* code, ...) {
  ++handler_calls;
  handler_code = *code;
}

MPI_Errhandler counting_handler() {
  static const MPI_Errhandler handler = [] {
    MPI_Errhandler made = MPI_ERRHANDLER_NULL;
    MPI_Comm_create_errhandler(count_call, &made);
    return made;
  }();
  return handler;
}

class ErrorsTest : public MpiTest {
 protected:
  void SetUp() override {
    MpiTest::SetUp();
    world_ = std::make_unique<Handler>(MPI_COMM_WORLD, counting_handler());
    ring_ = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
    MPI_Comm_set_errhandler(ring_.get(), counting_handler());
    handler_calls = 0;
  }
  void TearDown() override {
    ring_.free();
    world_.reset();
    MpiTest::TearDown();
  }

  MPI_Comm ring() const { return ring_.get(); }

  /// `code` is of class `wanted`, its text contains all of `parts`, and the handler has been called once, with it.
  void expect_error(int code, int wanted, const std::vector<std::string>& parts) {
    const std::string text = error_text(code);
    expect_error_class(code, wanted);
    for (const std::string& part : parts)
      EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
    EXPECT_EQ(handler_calls, 1) << text;
    EXPECT_EQ(handler_code, code) << text;
    handler_calls = 0;
  }

  void expect_usable() {
    int send = rank();
    std::array<int, 2> receive{-1, -1};
    const std::array<int, 2> expected{(rank() + size() - 1) % size(), (rank() + 1) % size()};
    EXPECT_MPI(LNW_Neighbor_allgather(&send, 1, MPI_INT, receive.data(), 1, MPI_INT, ring()));
    EXPECT_EQ(receive, expected);
    const Info info(Hints{{"lnw_strategy", "three_step"}, {"lnw_machine", "node:* rank:1"}});
    LNW_Request request = LNW_REQUEST_NULL;
    receive = {-1, -1};
    EXPECT_MPI(
        LNW_Neighbor_allgather_init(&send, 1, MPI_INT, receive.data(), 1, MPI_INT, ring(), info.get(), &request));
    EXPECT_MPI(LNW_Start(&request));
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    EXPECT_EQ(receive, expected);
    EXPECT_MPI(LNW_Request_free(&request));
    EXPECT_EQ(handler_calls, 0);
  }

 private:
  std::unique_ptr<Handler> world_;
  Comm ring_;
};

constexpr std::array all_operations = {Kind::allgather, Kind::allgatherv, Kind::alltoall,
                                       Kind::alltoallv, Kind::alltoallw,  Kind::alltoallv_indexed};

/// `generic`: a persistent operation by LNW_Operation_init.
enum class Way { blocking, nonblocking, persistent, generic };
constexpr std::array all_ways = {Way::blocking, Way::nonblocking, Way::persistent, Way::generic};

/// Index lists are for persistent operations only.
bool exists(Way way, Kind operation) {
  return way == Way::persistent || way == Way::generic || operation != Kind::alltoallv_indexed;
}

std::string function_name(Way way, Kind operation, const std::string& suffix) {
  if (way == Way::generic) return "LNW_Operation_init";
  const char* const operations[] = {"", "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw", "alltoallv"};
  return (way == Way::nonblocking ? "LNW_Ineighbor_" : "LNW_Neighbor_") +
         std::string(operations[static_cast<int>(operation)]) + (way == Way::persistent ? "_init" : "") +
         (operation == Kind::alltoallv_indexed ? "_indexed" : "") + suffix;
}

/// Arguments of all operations on a ring, good until a case spoils them.
template <class Count, class Displacement>
struct Arguments {
  std::array<int, 16> send{100 * rank(), 100 * rank() + 1}, receive{};
  const void* sendbuf = send.data();
  void* recvbuf = receive.data();
  Count sendcount = 1, recvcount = 1;
  MPI_Datatype sendtype = MPI_INT, recvtype = MPI_INT;
  std::array<Count, 2> sendcount_values{1, 1}, recvcount_values{1, 1};
  std::array<Displacement, 2> sdispl_values{0, 1}, rdispl_values{0, 1};
  std::array<MPI_Aint, 2> send_byte_values{0, 4}, receive_byte_values{0, 4};
  std::array<MPI_Datatype, 2> sendtype_values{MPI_INT, MPI_INT}, recvtype_values{MPI_INT, MPI_INT};
  std::array<MPI_Count, 2> sendindex_values{0, 1}, recvindex_values{0, 1};
  const Count *sendcounts = sendcount_values.data(), *recvcounts = recvcount_values.data();
  const Displacement *sdispls = sdispl_values.data(), *rdispls = rdispl_values.data();
  const MPI_Aint *send_bytes = send_byte_values.data(), *receive_bytes = receive_byte_values.data();
  const MPI_Datatype *sendtypes = sendtype_values.data(), *recvtypes = recvtype_values.data();
  const MPI_Count *sendindices = sendindex_values.data(), *recvindices = recvindex_values.data();
  MPI_Count sendsize = 5, recvsize = 5;
  Hints hints;
  LNW_Request made = LNW_REQUEST_NULL;
  LNW_Request* request = &made;

  Arguments() = default;
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  void expect_received(Kind operation) const {
    const int left = (rank() + size() - 1) % size(), right = (rank() + 1) % size();
    const bool gathers = operation == Kind::allgather || operation == Kind::allgatherv;
    EXPECT_EQ(receive[0], 100 * left);
    EXPECT_EQ(receive[1], 100 * right + (gathers ? 0 : 1));
  }
};

template <class Count, class Displacement>
LNW_Call generic_call(Kind operation, const Arguments<Count, Displacement>& a) {
  LNW_Call call = LNW_CALL_INIT(static_cast<int>(operation));
  const bool typed = operation == Kind::alltoallw;
  call.is_large = sizeof(Count) > sizeof(int);
  call.sendbuf = a.sendbuf, call.recvbuf = a.recvbuf;
  call.sendcount = a.sendcount, call.recvcount = a.recvcount;
  call.sendsize = a.sendsize, call.recvsize = a.recvsize;
  call.sendcounts = a.sendcounts, call.recvcounts = a.recvcounts;
  call.sdispls = typed ? static_cast<const void*>(a.send_bytes) : a.sdispls;
  call.rdispls = typed ? static_cast<const void*>(a.receive_bytes) : a.rdispls;
  call.sendindices = a.sendindices, call.recvindices = a.recvindices;
  call.sendtype = a.sendtype, call.recvtype = a.recvtype;
  call.sendtypes = a.sendtypes, call.recvtypes = a.recvtypes;
  return call;
}

LNW_Place place_of(MPI_Comm comm) {
  return {comm, LNW_TOPOLOGY_NULL};
}
LNW_Place place_of(LNW_Topology topology) {
  return {MPI_COMM_NULL, topology};
}

using SmallArguments = Arguments<int, int>;
using LargeArguments = Arguments<MPI_Count, MPI_Aint>;

/// The functions of one form: by kinds of counts and displacements and by what the operation runs on.
template <class Count, class Displacement, class Where>
struct Functions {
  using Uniform = int(const void*, Count, MPI_Datatype, void*, Count, MPI_Datatype, Where);
  using Gatherv = int(const void*, Count, MPI_Datatype, void*, const Count*, const Displacement*, MPI_Datatype, Where);
  using Alltoallv = int(const void*, const Count*, const Displacement*, MPI_Datatype, void*, const Count*,
                        const Displacement*, MPI_Datatype, Where);
  using Alltoallw = int(const void*, const Count*, const MPI_Aint*, const MPI_Datatype*, void*, const Count*,
                        const MPI_Aint*, const MPI_Datatype*, Where);
  using Indexed = int(const void*, MPI_Count, const Count*, const MPI_Count*, MPI_Datatype, void*, MPI_Count,
                      const Count*, const MPI_Count*, MPI_Datatype, Where);
  template <class Function, class... More>
  struct With;
  template <class... Given, class... More>
  struct With<int(Given...), More...> {
    using type = int(Given..., More...);
  };
  template <class Function>
  using Nonblocking = typename With<Function, LNW_Request*>::type;
  template <class Function>
  using Persistent = typename With<Function, MPI_Info, LNW_Request*>::type;

  Uniform* allgather;
  Gatherv* allgatherv;
  Uniform* alltoall;
  Alltoallv* alltoallv;
  Alltoallw* alltoallw;
  Nonblocking<Uniform>* iallgather;
  Nonblocking<Gatherv>* iallgatherv;
  Nonblocking<Uniform>* ialltoall;
  Nonblocking<Alltoallv>* ialltoallv;
  Nonblocking<Alltoallw>* ialltoallw;
  Persistent<Uniform>* allgather_init;
  Persistent<Gatherv>* allgatherv_init;
  Persistent<Uniform>* alltoall_init;
  Persistent<Alltoallv>* alltoallv_init;
  Persistent<Alltoallw>* alltoallw_init;
  Persistent<Indexed>* alltoallv_init_indexed;
};

#define FUNCTIONS(suffix)                                                                                             \
  {                                                                                                                   \
    LNW_Neighbor_allgather##suffix, LNW_Neighbor_allgatherv##suffix, LNW_Neighbor_alltoall##suffix,                   \
        LNW_Neighbor_alltoallv##suffix, LNW_Neighbor_alltoallw##suffix, LNW_Ineighbor_allgather##suffix,              \
        LNW_Ineighbor_allgatherv##suffix, LNW_Ineighbor_alltoall##suffix, LNW_Ineighbor_alltoallv##suffix,            \
        LNW_Ineighbor_alltoallw##suffix, LNW_Neighbor_allgather_init##suffix, LNW_Neighbor_allgatherv_init##suffix,   \
        LNW_Neighbor_alltoall_init##suffix, LNW_Neighbor_alltoallv_init##suffix, LNW_Neighbor_alltoallw_init##suffix, \
        LNW_Neighbor_alltoallv_init_indexed##suffix                                                                   \
  }
constexpr Functions<int, int, MPI_Comm> small_functions = FUNCTIONS();
constexpr Functions<MPI_Count, MPI_Aint, MPI_Comm> large_functions = FUNCTIONS(_c);
constexpr Functions<int, int, LNW_Topology> small_functions_on_topology = FUNCTIONS(_topology);
constexpr Functions<MPI_Count, MPI_Aint, LNW_Topology> large_functions_on_topology = FUNCTIONS(_topology_c);
#undef FUNCTIONS

/// One form of the operations on one communicator or topology.
template <class Count, class Displacement, class Where>
struct Form {
  using ItsArguments = Arguments<Count, Displacement>;

  const Functions<Count, Displacement, Where>& functions;
  std::string suffix;
  Where where;

  [[nodiscard]] std::string name(Way way, Kind operation) const { return function_name(way, operation, suffix); }

  [[nodiscard]] int call(Way way, Kind operation, ItsArguments& a) const {
    const Info hints(a.hints);
    const MPI_Info info = a.hints.empty() ? MPI_INFO_NULL : hints.get();
    switch (way) {
      case Way::blocking:
        return call(functions.allgather, functions.allgatherv, functions.alltoall, functions.alltoallv,
                    functions.alltoallw, operation, a);
      case Way::nonblocking:
        return call(functions.iallgather, functions.iallgatherv, functions.ialltoall, functions.ialltoallv,
                    functions.ialltoallw, operation, a, a.request);
      case Way::generic: {
        const LNW_Call given = generic_call(operation, a);
        return LNW_Operation_init(&given, place_of(where), info, a.request);
      }
      case Way::persistent:
        if (operation == Kind::alltoallv_indexed)
          return functions.alltoallv_init_indexed(a.sendbuf, a.sendsize, a.sendcounts, a.sendindices, a.sendtype,
                                                  a.recvbuf, a.recvsize, a.recvcounts, a.recvindices, a.recvtype, where,
                                                  info, a.request);
        return call(functions.allgather_init, functions.allgatherv_init, functions.alltoall_init,
                    functions.alltoallv_init, functions.alltoallw_init, operation, a, info, a.request);
    }
    return MPI_ERR_INTERN;
  }

  /// Calls, and completes what was begun.
  void run(Way way, Kind operation, ItsArguments& a) const {
    EXPECT_MPI(call(way, operation, a));
    const bool is_persistent = way == Way::persistent || way == Way::generic;
    if (is_persistent) EXPECT_MPI(LNW_Start(a.request));
    if (way != Way::blocking) EXPECT_MPI(LNW_Wait(a.request, MPI_STATUS_IGNORE));
    if (is_persistent) EXPECT_MPI(LNW_Request_free(a.request));
  }

 private:
  template <class Allgather, class Allgatherv, class Alltoall, class Alltoallv, class Alltoallw, class... More>
  int call(Allgather* allgather, Allgatherv* allgatherv, Alltoall* alltoall, Alltoallv* alltoallv, Alltoallw* alltoallw,
           Kind operation, ItsArguments& a, More... more) const {
    switch (operation) {
      case Kind::allgather:
        return allgather(a.sendbuf, a.sendcount, a.sendtype, a.recvbuf, a.recvcount, a.recvtype, where, more...);
      case Kind::allgatherv:
        return allgatherv(a.sendbuf, a.sendcount, a.sendtype, a.recvbuf, a.recvcounts, a.rdispls, a.recvtype, where,
                          more...);
      case Kind::alltoall:
        return alltoall(a.sendbuf, a.sendcount, a.sendtype, a.recvbuf, a.recvcount, a.recvtype, where, more...);
      case Kind::alltoallv:
        return alltoallv(a.sendbuf, a.sendcounts, a.sdispls, a.sendtype, a.recvbuf, a.recvcounts, a.rdispls, a.recvtype,
                         where, more...);
      case Kind::alltoallw:
        return alltoallw(a.sendbuf, a.sendcounts, a.send_bytes, a.sendtypes, a.recvbuf, a.recvcounts, a.receive_bytes,
                         a.recvtypes, where, more...);
      default:
        break;
    }
    return MPI_ERR_INTERN;
  }
};

Form<int, int, MPI_Comm> on(MPI_Comm comm) {
  return {small_functions, "", comm};
}

/// Calls `f` with every form, on `comm` and on a topology object that is made from it.
template <class F>
void for_each_form(MPI_Comm comm, F&& f) {
  LNW_Topology topology = LNW_TOPOLOGY_NULL;
  EXPECT_MPI(LNW_Topology_from_comm(comm, &topology));
  f(on(comm));
  f(Form<MPI_Count, MPI_Aint, MPI_Comm>{large_functions, "_c", comm});
  f(Form<int, int, LNW_Topology>{small_functions_on_topology, "_topology", topology});
  f(Form<MPI_Count, MPI_Aint, LNW_Topology>{large_functions_on_topology, "_topology_c", topology});
  EXPECT_MPI(LNW_Topology_free(&topology));
}

/// A bad argument, and what must be said of it.
struct Case {
  Kind operation;
  int error_class;
  std::string part;
  std::function<void(SmallArguments&)> spoil_small;  // none: no int is so bad
  std::function<void(LargeArguments&)> spoil_large;

  template <class Spoil>
  Case(Kind op, int wanted, std::string says, const Spoil& spoil)
      : operation(op), error_class(wanted), part(std::move(says)), spoil_large(spoil) {
    if constexpr (std::is_invocable_v<Spoil, SmallArguments&>) spoil_small = spoil;
  }

  [[nodiscard]] bool spoils(const SmallArguments&) const { return spoil_small != nullptr; }
  [[nodiscard]] bool spoils(const LargeArguments&) const { return true; }
  void spoil(SmallArguments& a) const { spoil_small(a); }
  void spoil(LargeArguments& a) const { spoil_large(a); }
};

/// Of all ways to run an operation.
std::vector<Case> argument_cases() {
  using enum Kind;
  return {
      {allgather, MPI_ERR_COUNT, "sendcount is -1", [](auto& a) { a.sendcount = -1; }},
      {allgather, MPI_ERR_COUNT, "recvcount is -2", [](auto& a) { a.recvcount = -2; }},
      {allgather, MPI_ERR_TYPE, "sendtype", [](auto& a) { a.sendtype = MPI_DATATYPE_NULL; }},
      {allgather, MPI_ERR_TYPE, "recvtype", [](auto& a) { a.recvtype = MPI_DATATYPE_NULL; }},
      {allgather, MPI_ERR_BUFFER, "sendbuf is MPI_IN_PLACE", [](auto& a) { a.sendbuf = MPI_IN_PLACE; }},
      {allgather, MPI_ERR_BUFFER, "recvbuf is MPI_IN_PLACE", [](auto& a) { a.recvbuf = MPI_IN_PLACE; }},
      {allgatherv, MPI_ERR_COUNT, "sendcount is -1", [](auto& a) { a.sendcount = -1; }},
      {allgatherv, MPI_ERR_COUNT, "recvcounts[1] is -4", [](auto& a) { a.recvcount_values[1] = -4; }},
      {allgatherv, MPI_ERR_ARG, "recvcounts is NULL", [](auto& a) { a.recvcounts = nullptr; }},
      {allgatherv, MPI_ERR_ARG, "displs is NULL", [](auto& a) { a.rdispls = nullptr; }},
      {allgatherv, MPI_ERR_TYPE, "recvtype", [](auto& a) { a.recvtype = MPI_DATATYPE_NULL; }},
      {alltoall, MPI_ERR_COUNT, "recvcount is -7", [](auto& a) { a.recvcount = -7; }},
      {alltoall, MPI_ERR_TYPE, "sendtype", [](auto& a) { a.sendtype = MPI_DATATYPE_NULL; }},
      {alltoallv, MPI_ERR_COUNT, "sendcounts[1] is -4", [](auto& a) { a.sendcount_values[1] = -4; }},
      {alltoallv, MPI_ERR_COUNT, "recvcounts[0] is -5", [](auto& a) { a.recvcount_values[0] = -5; }},
      {alltoallv, MPI_ERR_ARG, "sendcounts is NULL", [](auto& a) { a.sendcounts = nullptr; }},
      {alltoallv, MPI_ERR_ARG, "sdispls is NULL", [](auto& a) { a.sdispls = nullptr; }},
      {alltoallv, MPI_ERR_ARG, "recvcounts is NULL", [](auto& a) { a.recvcounts = nullptr; }},
      {alltoallv, MPI_ERR_ARG, "rdispls is NULL", [](auto& a) { a.rdispls = nullptr; }},
      {alltoallv, MPI_ERR_TYPE, "sendtype", [](auto& a) { a.sendtype = MPI_DATATYPE_NULL; }},
      {alltoallv, MPI_ERR_BUFFER, "recvbuf is MPI_IN_PLACE", [](auto& a) { a.recvbuf = MPI_IN_PLACE; }},
      {alltoallw, MPI_ERR_COUNT, "sendcounts[0] is -1", [](auto& a) { a.sendcount_values[0] = -1; }},
      {alltoallw, MPI_ERR_TYPE, "sendtypes[1]", [](auto& a) { a.sendtype_values[1] = MPI_DATATYPE_NULL; }},
      {alltoallw, MPI_ERR_TYPE, "recvtypes[0]", [](auto& a) { a.recvtype_values[0] = MPI_DATATYPE_NULL; }},
      {alltoallw, MPI_ERR_ARG, "sendtypes is NULL", [](auto& a) { a.sendtypes = nullptr; }},
      {alltoallw, MPI_ERR_ARG, "recvtypes is NULL", [](auto& a) { a.recvtypes = nullptr; }},
      {alltoallw, MPI_ERR_ARG, "sdispls is NULL", [](auto& a) { a.send_bytes = nullptr; }},
      {alltoallw, MPI_ERR_ARG, "rdispls is NULL", [](auto& a) { a.receive_bytes = nullptr; }},
      {allgather, MPI_ERR_COUNT, "sendcount is 4611686018427387904: more than 2^63 bytes",
       [](LargeArguments& a) { a.sendcount = MPI_Count{1} << 62; }},
      {alltoall, MPI_ERR_COUNT, "recvcount is 4611686018427387904: more than 2^63 bytes",
       [](LargeArguments& a) { a.recvcount = MPI_Count{1} << 62; }},
      {alltoallv, MPI_ERR_ARG, "rdispls[1] is 2305843009213693952: more than 2^63 bytes",
       [](LargeArguments& a) { a.rdispl_values[1] = MPI_Aint{1} << 61; }},
      {alltoallw, MPI_ERR_COUNT, "recvcounts[1] is -4294967296",
       [](LargeArguments& a) { a.recvcount_values[1] = -(MPI_Count{1} << 32); }},
  };
}

/// Also those that only functions with a request have.
std::vector<Case> request_cases() {
  std::vector<Case> cases = argument_cases();
  cases.push_back({Kind::alltoallv, MPI_ERR_ARG, "request is NULL", [](auto& a) { a.request = nullptr; }});
  return cases;
}

/// Also those that only persistent operations have.
std::vector<Case> init_cases() {
  using enum Kind;
  std::vector<Case> cases = request_cases();
  const std::vector<Case> more = {
      {alltoallv_indexed, MPI_ERR_COUNT, "sendcounts[0] is -1", [](auto& a) { a.sendcount_values[0] = -1; }},
      {alltoallv_indexed, MPI_ERR_COUNT, "recvcounts[1] is -1", [](auto& a) { a.recvcount_values[1] = -1; }},
      {alltoallv_indexed, MPI_ERR_ARG, "sendindices[1] is 5, the buffer has 5 elements",
       [](auto& a) { a.sendindex_values[1] = 5; }},
      {alltoallv_indexed, MPI_ERR_ARG, "recvindices[0] is -3, the buffer has 5 elements",
       [](auto& a) { a.recvindex_values[0] = -3; }},
      {alltoallv_indexed, MPI_ERR_ARG, "sendindices[0] is 4294967296",
       [](auto& a) { a.sendindex_values[0] = MPI_Count{1} << 32; }},
      {alltoallv_indexed, MPI_ERR_ARG, "sendindices is NULL", [](auto& a) { a.sendindices = nullptr; }},
      {alltoallv_indexed, MPI_ERR_ARG, "recvindices is NULL", [](auto& a) { a.recvindices = nullptr; }},
      {alltoallv_indexed, MPI_ERR_ARG, "sendcounts is NULL", [](auto& a) { a.sendcounts = nullptr; }},
      {alltoallv_indexed, MPI_ERR_COUNT, "sendsize is -1", [](auto& a) { a.sendsize = -1; }},
      {alltoallv_indexed, MPI_ERR_COUNT, "recvsize is -9", [](auto& a) { a.recvsize = -9; }},
      {alltoallv_indexed, MPI_ERR_TYPE, "recvtype", [](auto& a) { a.recvtype = MPI_DATATYPE_NULL; }},
      {allgather, MPI_ERR_INFO_VALUE, "lnw_nonsense",
       [](auto& a) {
         a.hints = {{"lnw_nonsense", "1"}};
       }},
      {allgather, MPI_ERR_INFO_VALUE, "'four_step'; valid are auto, direct",
       [](auto& a) {
         a.hints = {{"lnw_strategy", "four_step"}};
       }},
      {allgather, MPI_ERR_INFO_VALUE, "lnw_deduplicate=perhaps",
       [](auto& a) {
         a.hints = {{"lnw_deduplicate", "perhaps"}};
       }},
      {allgather, MPI_ERR_INFO_VALUE, "lnw_check=2",
       [](auto& a) {
         a.hints = {{"lnw_check", "2"}};
       }},
      {allgather, MPI_ERR_INFO_VALUE, "lnw_progress=maybe",
       [](auto& a) {
         a.hints = {{"lnw_progress", "maybe"}};
       }},
      {allgather, MPI_ERR_INFO_VALUE, "lnw_relay_message=-1",
       [](auto& a) {
         a.hints = {{"lnw_relay_message", "-1"}};
       }},
      {allgather, MPI_ERR_INFO_VALUE, "node 4",
       [](auto& a) {
         a.hints = {{"lnw_machine", "node 4"}};
       }},
      {allgather, MPI_ERR_INFO_VALUE, "describes 1000 ranks",
       [](auto& a) {
         a.hints = {{"lnw_machine", "ranks:999,1"}};
       }},
      {allgather, MPI_ERR_INFO_VALUE, "not a positive number",
       [](auto& a) {
         a.hints = {{"lnw_machine", "ranks:3,-1"}};
       }},
      {allgather, MPI_ERR_INFO_VALUE, "cannot be read",
       [](auto& a) {
         a.hints = {{"lnw_machine", "file:/nowhere/machine"}};
       }},
  };
  cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}

std::vector<Case> cases_of(Way way) {
  return way == Way::blocking ? argument_cases() : way == Way::nonblocking ? request_cases() : init_cases();
}

int init(Kind operation, SmallArguments& a, MPI_Comm comm) {
  return on(comm).call(Way::persistent, operation, a);
}

std::string on_rank(int rank) {
  return " on rank " + std::to_string(rank) + ": ";
}

TEST_F(ErrorsTest, OnAllRanks) {
  for_each_form(ring(), [&](const auto& form) {
    for (Way way : all_ways)
      for (const Case& c : cases_of(way)) {
        typename std::decay_t<decltype(form)>::ItsArguments arguments;
        if (!c.spoils(arguments)) continue;
        c.spoil(arguments);
        const int code = form.call(way, c.operation, arguments);
        expect_error(code, c.error_class, {form.name(way, c.operation) + on_rank(rank()), c.part});
        EXPECT_EQ(arguments.made, LNW_REQUEST_NULL);
      }
  });
  expect_usable();
}

TEST_F(ErrorsTest, InitOnOneRankOnly) {
  int guilty = size() - 1;
  std::size_t n = 0;
  for_each_form(ring(), [&](const auto& form) {
    for (const Case& c : init_cases()) {
      if (is_mpich() && size() > 2 && n++ % 4 != 0) continue;
      typename std::decay_t<decltype(form)>::ItsArguments arguments;
      if (!c.spoils(arguments)) continue;
      if (rank() == guilty) c.spoil(arguments);
      const int code = form.call(Way::persistent, c.operation, arguments);
      const std::string where = form.name(Way::persistent, c.operation) + on_rank(rank());
      if (rank() == guilty)
        expect_error(code, c.error_class, {where, c.part});
      else
        expect_error(code, MPI_ERR_ARG, {where + "rank " + std::to_string(guilty) + " has reported an error"});
      EXPECT_EQ(arguments.made, LNW_REQUEST_NULL);
      guilty = (guilty + 1) % size();
    }
  });
  expect_usable();
}

/// What is wrong with the structure of a generic call, on one rank or all: every rank returns, and nothing is lost.
TEST_F(ErrorsTest, GenericCallsThatAreNone) {
  struct Longer {
    LNW_Call call;
    std::array<char, 24> more;
  };
  const auto expect = [&](const LNW_Call* given, bool is_mine, const std::string& part) {
    LNW_Request request = LNW_REQUEST_NULL;
    const int code = LNW_Operation_init(given, place_of(ring()), MPI_INFO_NULL, &request);
    const std::string said = is_mine ? part : "rank " + std::to_string(size() - 1) + " has reported an error";
    expect_error(code, MPI_ERR_ARG, {"LNW_Operation_init" + on_rank(rank()) + said});
    EXPECT_EQ(request, LNW_REQUEST_NULL);
  };
  SmallArguments arguments;
  const LNW_Call good = generic_call(Kind::alltoallv, arguments);
  for (const bool all : {true, false}) {
    const bool mine = all || rank() == size() - 1;
    LNW_Call bad = good;
    expect(mine ? nullptr : &good, mine, "call is NULL");
    for (const std::size_t size : {std::size_t{0}, sizeof bad - 1, std::size_t{1} << 40}) {
      bad.size = mine ? size : sizeof bad;
      expect(&bad, mine, "call->size is that of no version of LNW_Call");
    }
    bad = good;
    for (const int kind : {0, LNW_NEIGHBOR_REDUCEV_INDEXED + 1, -1, 257}) {
      bad.kind = mine ? kind : good.kind;
      expect(&bad, mine, "call->kind is none of LNW_Kind");
    }
    bad.kind = mine ? int{LNW_NEIGHBOR_REDUCEV} : good.kind;
    expect(&bad, mine, "call->kind reduces, and LNW_Call has no operator: call its own function");
    Longer longer = {good, {}};
    longer.call.size = sizeof longer;
    longer.more.back() = mine;
    expect(&longer.call, mine, "call has members that this version of the library does not know");
    longer.more.back() = 0;
    EXPECT_MPI(LNW_Operation_init(&longer.call, place_of(ring()), MPI_INFO_NULL, &arguments.made));
    EXPECT_MPI(LNW_Request_free(&arguments.made));
  }
  LNW_Request none = LNW_REQUEST_NULL;
  expect_error(LNW_Operation_init(&good, place_of(MPI_COMM_NULL), MPI_INFO_NULL, &none), MPI_ERR_COMM,
               {"LNW_Operation_init" + on_rank(rank()) + "comm: MPI_COMM_NULL"});
  expect_usable();
}

/// A rank that has given a bad argument to a blocking or nonblocking operation calls again, and nobody else notices.
class OneRank : public ErrorsTest {
 protected:
  void expect_nothing_lost(MPI_Comm comm, const std::vector<Kind>& operations) {
    int guilty = size() - 1;
    std::size_t n = 0;
    for_each_form(comm, [&](const auto& form) {
      for (Kind operation : operations) {
        typename std::decay_t<decltype(form)>::ItsArguments first;
        form.run(Way::blocking, operation, first);
      }
      for (Way way : {Way::blocking, Way::nonblocking})
        for (const Case& c : cases_of(way)) {
          if (std::find(operations.begin(), operations.end(), c.operation) == operations.end()) continue;
          if (is_mpich() && size() > 2 && n++ % 4 != 0) continue;
          typename std::decay_t<decltype(form)>::ItsArguments bad, good;
          if (!c.spoils(bad)) continue;
          if (rank() == guilty) {
            c.spoil(bad);
            expect_error(form.call(way, c.operation, bad), c.error_class,
                         {form.name(way, c.operation) + on_rank(rank()) + c.part});
            EXPECT_EQ(bad.made, LNW_REQUEST_NULL);
          }
          form.run(way, c.operation, good);
          good.expect_received(c.operation);
          guilty = (guilty + 1) % size();
        }
    });
  }

  const std::vector<Kind> operations_ = {Kind::allgather, Kind::allgatherv, Kind::alltoall, Kind::alltoallv,
                                         Kind::alltoallw};
};

TEST_F(OneRank, LosesNothing) {
  expect_nothing_lost(ring(), operations_);
}

TEST_F(OneRank, LosesNothingWhereDataIsRelayed) {
  const Info info(Hints{{"lnw_strategy", "three_step"}, {"lnw_machine", "node:* rank:2"}});
  const Comm graph = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()), info.get());
  MPI_Comm_set_errhandler(graph.get(), counting_handler());
  expect_nothing_lost(graph.get(), {Kind::allgather, Kind::alltoall});
}

TEST_F(OneRank, LosesNothingInTheFirstCallOnACommunicator) {
  const Shape shape = ring_shape(rank(), size());
  for (Way way : {Way::blocking, Way::nonblocking}) {
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, shape.sources.data(), MPI_UNWEIGHTED, 2,
                                   shape.destinations.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
    const Comm graph(made);
    MPI_Comm_set_errhandler(made, counting_handler());
    SmallArguments bad, good;
    if (rank() == size() - 1) {
      bad.sendcount_values[0] = -1;
      expect_error(on(made).call(way, Kind::alltoallv, bad), MPI_ERR_COUNT, {"sendcounts[0] is -1"});
    }
    on(made).run(way, Kind::alltoallv, good);
    good.expect_received(Kind::alltoallv);
  }
}

/// The first call of a kind under lnw_fixed_counts agrees, as _init calls do; but which kind it is, the type says.
TEST_F(OneRank, LosesNothingUnderFixedCounts) {
  const Hints hints{{"lnw_strategy", "three_step"}, {"lnw_machine", "node:* rank:2"}, {"lnw_fixed_counts", "true"}};
  const Info info(hints);
  const std::vector<Kind> varying = {Kind::allgatherv, Kind::alltoallv, Kind::alltoallw};
  const int guilty = size() - 1;
  for (Way way : {Way::blocking, Way::nonblocking}) {
    const Comm graph = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()), info.get());
    MPI_Comm_set_errhandler(graph.get(), counting_handler());
    const auto form = on(graph.get());
    for (Kind operation : varying) {
      SmallArguments counts, types, good;
      if (rank() == guilty) counts.recvcount_values[0] = -5;
      const std::string where = form.name(way, operation) + on_rank(rank());
      const int code = form.call(way, operation, counts);
      if (rank() == guilty)
        expect_error(code, MPI_ERR_COUNT, {where + "recvcounts[0] is -5"});
      else
        expect_error(code, MPI_ERR_ARG, {where + "rank " + std::to_string(guilty) + " has reported an error"});
      if (rank() == guilty && operation != Kind::alltoallw) {
        types.sendtype = MPI_DATATYPE_NULL;
        expect_error(form.call(way, operation, types), MPI_ERR_TYPE, {where + "sendtype is MPI_DATATYPE_NULL"});
      }
      form.run(way, operation, good);
      good.expect_received(operation);
    }
    expect_nothing_lost(graph.get(), operations_);
  }
}

TEST_F(ErrorsTest, Communicators) {
  for_each_form(ring(), [&](auto form) {
    using Where = decltype(form.where);
    constexpr bool on_topology = std::is_same_v<Where, LNW_Topology>;
    for (Way way : all_ways)
      for (Kind operation : all_operations) {
        if (!exists(way, operation)) continue;
        typename decltype(form)::ItsArguments arguments;
        const std::string where = form.name(way, operation) + on_rank(rank());
        if constexpr (on_topology) {
          form.where = LNW_TOPOLOGY_NULL;
          // A place whose topology is null is a communicator.
          const bool generic = way == Way::generic;
          expect_error(form.call(way, operation, arguments), generic ? MPI_ERR_COMM : MPI_ERR_TOPOLOGY,
                       {where + (generic ? "comm: MPI_COMM_NULL" : "topology is LNW_TOPOLOGY_NULL")});
        } else {
          form.where = MPI_COMM_NULL;
          expect_error(form.call(way, operation, arguments), MPI_ERR_COMM, {where + "comm: MPI_COMM_NULL"});
          form.where = MPI_COMM_WORLD;
          expect_error(form.call(way, operation, arguments), MPI_ERR_TOPOLOGY,
                       {where + "comm: the communicator has no topology"});
        }
      }
  });
  MPI_Comm made = MPI_COMM_NULL;
  expect_error(LNW_Dist_graph_create_adjacent(MPI_COMM_NULL, 0, nullptr, MPI_UNWEIGHTED, 0, nullptr, MPI_UNWEIGHTED,
                                              MPI_INFO_NULL, 0, &made),
               MPI_ERR_COMM, {"LNW_Dist_graph_create_adjacent", "MPI_COMM_NULL"});
  expect_usable();
}

TEST_F(ErrorsTest, Intercommunicators) {
  if (size() < 2) GTEST_SKIP() << "SKIP: needs 2 ranks, there are " << size();
  MPI_Comm half = MPI_COMM_NULL, inter = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank() % 2, rank(), &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, (rank() + 1) % 2, 1, &inter);
  {
    const Handler handler(inter, counting_handler());
    for (Way way : all_ways) {
      SmallArguments arguments;
      expect_error(on(inter).call(way, Kind::alltoallv, arguments), MPI_ERR_COMM,
                   {on(inter).name(way, Kind::alltoallv) + " on rank ", "comm: an intercommunicator"});
    }
    MPI_Comm made = MPI_COMM_NULL;
    expect_error(LNW_Dist_graph_create_adjacent(inter, 0, nullptr, MPI_UNWEIGHTED, 0, nullptr, MPI_UNWEIGHTED,
                                                MPI_INFO_NULL, 0, &made),
                 MPI_ERR_COMM, {"LNW_Dist_graph_create_adjacent", "intercommunicator"});
  }
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

struct GraphCase {
  int error_class;
  std::string part;
  int indegree = 2, outdegree = 2;
  std::array<int, 2> sources{0, 0}, destinations{0, 0};
  bool null_sources = false, null_destinations = false, null_result = false;
  std::array<int, 2> weights{1, 1};
  Hints hints = {};
};

/// A graph or a topology object, to make and to free.
struct Maker {
  std::string call, result;  // the name of the argument for the result
  std::function<int(const GraphCase&, MPI_Info)> make;
};

std::vector<Maker> makers() {
  return {{"LNW_Dist_graph_create_adjacent", "comm_dist_graph",
           [](const GraphCase& c, MPI_Info info) {
             MPI_Comm made = MPI_COMM_NULL;
             const int code = LNW_Dist_graph_create_adjacent(
                 MPI_COMM_WORLD, c.indegree, c.null_sources ? nullptr : c.sources.data(), c.weights.data(), c.outdegree,
                 c.null_destinations ? nullptr : c.destinations.data(), c.weights.data(), info, 0,
                 c.null_result ? nullptr : &made);
             EXPECT_EQ(made, MPI_COMM_NULL);
             return code;
           }},
          {"LNW_Topology_create", "topology", [](const GraphCase& c, MPI_Info info) {
             LNW_Topology made = LNW_TOPOLOGY_NULL;
             const int code = LNW_Topology_create(MPI_COMM_WORLD, c.indegree,
                                                  c.null_sources ? nullptr : c.sources.data(), c.weights.data(),
                                                  c.outdegree, c.null_destinations ? nullptr : c.destinations.data(),
                                                  c.weights.data(), info, c.null_result ? nullptr : &made);
             EXPECT_EQ(made, LNW_TOPOLOGY_NULL);
             return code;
           }}};
}

TEST_F(ErrorsTest, GraphCreation) {
  for (const Maker& maker : makers()) {
    const std::vector<GraphCase> cases = {
        {.error_class = MPI_ERR_ARG, .part = "indegree is -1", .indegree = -1},
        {.error_class = MPI_ERR_ARG, .part = "outdegree is -3", .outdegree = -3},
        {.error_class = MPI_ERR_RANK, .part = "sources[1] is " + std::to_string(size()), .sources = {0, size()}},
        {.error_class = MPI_ERR_RANK, .part = "destinations[0] is -1", .destinations = {-1, 0}},
        {.error_class = MPI_ERR_RANK,
         .part = "sources[0] is " + std::to_string(MPI_PROC_NULL),
         .sources = {MPI_PROC_NULL, 0}},
        {.error_class = MPI_ERR_ARG, .part = "sources is NULL", .null_sources = true},
        {.error_class = MPI_ERR_ARG, .part = "destinations is NULL", .null_destinations = true},
        {.error_class = MPI_ERR_ARG, .part = maker.result + " is NULL", .null_result = true},
        {.error_class = MPI_ERR_ARG, .part = "sourceweights[1] is negative", .weights = {1, -1}},
        {.error_class = MPI_ERR_INFO_VALUE, .part = "lnw_stratgy", .hints = {{"lnw_stratgy", "direct"}}},
        {.error_class = MPI_ERR_INFO_VALUE,
         .part = "lnw_strategy=four_step: unknown strategy",
         .hints = {{"lnw_strategy", "four_step"}}},
        {.error_class = MPI_ERR_INFO_VALUE, .part = "more ranks than", .hints = {{"lnw_machine", "node:10 rank:100"}}},
    };
    for (bool everywhere : {true, false}) {
      int guilty = 0;
      for (const GraphCase& given : cases) {
        const GraphCase good{.error_class = 0, .part = ""};
        const bool bad = everywhere || rank() == guilty;
        const GraphCase& c = bad ? given : good;
        const Info info(c.hints);
        const int code = maker.make(c, info.get());
        const std::string where = maker.call + on_rank(rank());
        if (bad)
          expect_error(code, given.error_class, {where, given.part});
        else
          expect_error(code, MPI_ERR_ARG, {where, "rank " + std::to_string(guilty) + " has reported an error"});
        guilty = (guilty + 1) % size();
      }
    }
  }
  expect_usable();
}

/// Links for one device on each node, of which only the last has no more.
TEST_F(ErrorsTest, MachinesThatSomeRanksRefuse) {
  if (size() < 3) GTEST_SKIP() << "SKIP: needs 3 ranks, there are " << size();
  const int last = size() - 1;
  int process = getpid();
  MPI_Bcast(&process, 1, MPI_INT, 0, MPI_COMM_WORLD);
  const std::string path = testing::TempDir() + "laneway_machine_" + std::to_string(process) + ".toml";
  if (rank() == 0)
    std::ofstream(path) << "description = \"node:* gpu:" << last << " rank:1\"\n[devices]\nlinks = [[0]]\n";
  MPI_Barrier(MPI_COMM_WORLD);
  const Hints hints{{"lnw_strategy", "leader_scatter"}, {"lnw_machine", "file:" + path}};
  const auto expect_refusal = [&](int code, const std::string& call) {
    if (rank() == last)
      expect_error(code, MPI_ERR_ARG, {call + on_rank(last), "rank 0 has reported an error"});
    else
      expect_error(code, MPI_ERR_INFO_VALUE, {call + on_rank(rank()), "describes 1 devices, a node has more"});
  };
  const Info info(hints);
  const GraphCase self{.error_class = 0, .part = "", .sources = {rank(), rank()}, .destinations = {rank(), rank()}};
  for (const Maker& maker : makers()) expect_refusal(maker.make(self, info.get()), maker.call);
  SmallArguments arguments;
  arguments.hints = hints;
  expect_refusal(init(Kind::allgather, arguments, ring()), "LNW_Neighbor_allgather_init");
  if (rank() == 0) std::remove(path.c_str());
  expect_usable();
}

TEST_F(ErrorsTest, Requests) {
  const std::string here = " on rank " + std::to_string(rank()) + ": ";
  LNW_Request null = LNW_REQUEST_NULL;
  LNW_Request_statistics statistics{};
  const Handler self(MPI_COMM_SELF, counting_handler());
  expect_error(LNW_Start(nullptr), MPI_ERR_ARG, {"LNW_Start" + here, "request is NULL"});
  expect_error(LNW_Start(&null), MPI_ERR_REQUEST, {"LNW_Start" + here, "request is LNW_REQUEST_NULL"});
  expect_error(LNW_Request_free(nullptr), MPI_ERR_ARG, {"LNW_Request_free" + here, "request is NULL"});
  expect_error(LNW_Request_free(&null), MPI_ERR_REQUEST, {"LNW_Request_free" + here, "request is LNW_REQUEST_NULL"});
  expect_error(LNW_Wait(nullptr, MPI_STATUS_IGNORE), MPI_ERR_ARG, {"LNW_Wait" + here, "request is NULL"});
  expect_error(LNW_Startall(-1, nullptr), MPI_ERR_COUNT, {"LNW_Startall" + here, "count is -1"});
  expect_error(LNW_Startall(2, nullptr), MPI_ERR_ARG, {"LNW_Startall" + here, "array_of_requests is NULL"});
  expect_error(LNW_Waitall(-1, nullptr, MPI_STATUSES_IGNORE), MPI_ERR_COUNT, {"LNW_Waitall" + here, "count is -1"});
  expect_error(LNW_Waitall(2, nullptr, MPI_STATUSES_IGNORE), MPI_ERR_ARG,
               {"LNW_Waitall" + here, "array_of_requests is NULL"});
  expect_error(LNW_Request_get_statistics(null, &statistics), MPI_ERR_REQUEST, {"LNW_Request_get_statistics" + here});
  expect_error(LNW_Request_set_buffers(null, nullptr, nullptr), MPI_ERR_REQUEST, {"LNW_Request_set_buffers" + here});
  expect_error(LNW_Get_version(nullptr, nullptr, nullptr), MPI_ERR_ARG, {"LNW_Get_version on rank 0: major is NULL"});

  SmallArguments arguments;
  std::array<LNW_Request, 3> requests{};
  for (LNW_Request& request : requests) {
    EXPECT_MPI(init(Kind::alltoallv, arguments, ring()));
    request = arguments.made;
  }
  int flag = 0;
  expect_error(LNW_Test(&requests[0], nullptr, MPI_STATUS_IGNORE), MPI_ERR_ARG, {"LNW_Test" + here, "flag is NULL"});
  expect_error(LNW_Request_get_statistics(requests[0], nullptr), MPI_ERR_ARG,
               {"LNW_Request_get_statistics" + here, "statistics is NULL"});
  expect_error(LNW_Request_get_strategy(requests[0], nullptr), MPI_ERR_ARG,
               {"LNW_Request_get_strategy" + here, "name is NULL"});
  expect_error(LNW_Request_get_plan(requests[0], nullptr, 0, nullptr), MPI_ERR_ARG,
               {"LNW_Request_get_plan" + here, "length is NULL"});
  MPI_Count length = 0;
  expect_error(LNW_Request_get_plan(requests[0], nullptr, 10, &length), MPI_ERR_ARG,
               {"LNW_Request_get_plan" + here, "text is NULL"});
  std::array<LNW_Request, 3> twice{requests[0], requests[1], requests[0]};
  expect_error(LNW_Startall(3, twice.data()), MPI_ERR_REQUEST,
               {"LNW_Startall" + here, "array_of_requests[2] appears twice"});
  EXPECT_MPI(LNW_Startall(2, twice.data()));  // none had been started or kept
  EXPECT_MPI(LNW_Waitall(2, twice.data(), MPI_STATUSES_IGNORE));

  EXPECT_MPI(LNW_Start(&requests[1]));
  expect_error(LNW_Start(&requests[1]), MPI_ERR_REQUEST, {"LNW_Start" + here, "request is active"});
  expect_error(LNW_Request_free(&requests[1]), MPI_ERR_REQUEST, {"LNW_Request_free" + here, "request is active"});
  expect_error(LNW_Request_set_buffers(requests[1], nullptr, nullptr), MPI_ERR_REQUEST,
               {"LNW_Request_set_buffers" + here, "request is active"});
  // Nothing is started if one of them cannot be.
  expect_error(LNW_Startall(3, requests.data()), MPI_ERR_REQUEST,
               {"LNW_Startall" + here, "array_of_requests[1] is active"});
  EXPECT_MPI(LNW_Test(&requests[0], &flag, MPI_STATUS_IGNORE));
  EXPECT_TRUE(flag);
  EXPECT_MPI(LNW_Wait(&requests[1], MPI_STATUS_IGNORE));
  std::array<LNW_Request, 2> with_null{requests[0], LNW_REQUEST_NULL};
  expect_error(LNW_Startall(2, with_null.data()), MPI_ERR_REQUEST,
               {"LNW_Startall" + here, "array_of_requests[1] is LNW_REQUEST_NULL"});
  for (LNW_Request& request : requests) {
    EXPECT_MPI(LNW_Request_free(&request));
    EXPECT_EQ(request, LNW_REQUEST_NULL);
  }

  // Without buffers yet.
  arguments.sendbuf = nullptr;
  arguments.recvbuf = nullptr;
  EXPECT_MPI(init(Kind::alltoallv_indexed, arguments, ring()));
  expect_error(LNW_Start(&arguments.made), MPI_ERR_REQUEST, {"LNW_Start" + here, "no buffers"});
  EXPECT_MPI(LNW_Wait(&arguments.made, MPI_STATUS_IGNORE));
  EXPECT_MPI(LNW_Request_free(&arguments.made));
  expect_usable();
}

TEST_F(ErrorsTest, HandlerOfTheCommunicatorIsCalledForItsRequests) {
  // Also when the communicator is gone; the world's is not.
  Comm graph = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
  MPI_Comm_set_errhandler(graph.get(), counting_handler());
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  SmallArguments arguments;
  EXPECT_MPI(init(Kind::alltoallv, arguments, graph.get()));
  graph.free();
  EXPECT_MPI(LNW_Start(&arguments.made));
  expect_error(LNW_Start(&arguments.made), MPI_ERR_REQUEST, {"LNW_Start", "active"});
  EXPECT_MPI(LNW_Wait(&arguments.made, MPI_STATUS_IGNORE));
  EXPECT_MPI(LNW_Request_free(&arguments.made));
  LNW_Request null = LNW_REQUEST_NULL;
  EXPECT_NE(LNW_Start(&null), MPI_SUCCESS);
  EXPECT_EQ(handler_calls, 0);
}

TEST_F(ErrorsTest, HintsThatDiffer) {
  if (size() < 2) GTEST_SKIP() << "SKIP: needs 2 ranks, there are " << size();
  const std::vector<std::array<std::pair<std::string, std::string>, 2>> pairs = {
      {{{"lnw_strategy", "direct"}, {"lnw_strategy", "three_step"}}},
      {{{"lnw_strategy", "three_step"}, {"lnw_strategy", "three_step_nodedup"}}},
      {{{"lnw_machine", "node:* rank:1"}, {"lnw_machine", "node:* rank:2"}}},
      {{{"lnw_check", "true"}, {"lnw_check", "false"}}},
      {{{"lnw_relay_message", "0"}, {"lnw_relay_message", "1"}}},
      {{{"lnw_network_message", "10"}, {"lnw_network_message", "11"}}},
  };
  for (const auto& pair : pairs) {
    SmallArguments arguments;
    arguments.hints = {pair[rank() == size() / 2 ? 1 : 0]};
    expect_error(init(Kind::alltoallv, arguments, ring()), MPI_ERR_INFO_VALUE,
                 {"LNW_Neighbor_alltoallv_init on rank " + std::to_string(rank()), "hints differ between ranks"});
    const Info info(arguments.hints);
    const int self = rank();
    MPI_Comm made = MPI_COMM_NULL;
    expect_error(LNW_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &self, MPI_UNWEIGHTED, 1, &self, MPI_UNWEIGHTED,
                                                info.get(), 0, &made),
                 MPI_ERR_INFO_VALUE,
                 {"LNW_Dist_graph_create_adjacent on rank " + std::to_string(rank()), "hints differ between ranks"});
  }
  expect_usable();
}

TEST_F(ErrorsTest, HintsOfTheCommunicatorAndTheEnvironment) {
  auto strategy_of = [](LNW_Request request) {
    const char* name = "";
    EXPECT_MPI(LNW_Request_get_strategy(request, &name));
    return std::string(name);
  };
  const Info created(Hints{{"lnw_strategy", "three_step"}, {"lnw_machine", "node:* rank:1"}, {"other", "ignored"}});
  const Comm graph = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()), created.get());
  SmallArguments arguments;
  setenv("LANEWAY_STRATEGY", "nonsense", 1);
  EXPECT_MPI(init(Kind::alltoallv, arguments, graph.get()));
  EXPECT_EQ(strategy_of(arguments.made), "three_step");
  EXPECT_MPI(LNW_Request_free(&arguments.made));
  arguments.hints = {{"lnw_strategy", "direct"}};
  EXPECT_MPI(init(Kind::alltoallv, arguments, graph.get()));
  EXPECT_EQ(strategy_of(arguments.made), "direct");
  EXPECT_MPI(LNW_Request_free(&arguments.made));
  arguments.hints = {{"lnw_progress", "strict"}};
  EXPECT_MPI(init(Kind::alltoallv, arguments, graph.get()));
  EXPECT_EQ(strategy_of(arguments.made), "direct");
  EXPECT_MPI(LNW_Request_free(&arguments.made));
  arguments.hints.clear();
  expect_error(init(Kind::alltoallv, arguments, ring()), MPI_ERR_INFO_VALUE, {"'nonsense'"});
  setenv("LANEWAY_STRATEGY", "three_step_nodedup", 1);
  EXPECT_MPI(init(Kind::alltoallv, arguments, ring()));
  EXPECT_EQ(strategy_of(arguments.made), "three_step");
  EXPECT_MPI(LNW_Request_free(&arguments.made));
  unsetenv("LANEWAY_STRATEGY");
  EXPECT_MPI(init(Kind::alltoallv, arguments, ring()));
  EXPECT_EQ(strategy_of(arguments.made), "direct");
  EXPECT_MPI(LNW_Request_free(&arguments.made));
}

/// MPI 4.0 gives a duplicate none, earlier ones those of its original.
TEST_F(ErrorsTest, HintsOfADuplicateAreThoseInItsInfo) {
  const Info created(Hints{{"lnw_strategy", "three_step"}, {"lnw_machine", "node:* rank:1"}});
  const Comm graph = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()), created.get());
  const Comm copy = duplicate_of(graph.get());
  MPI_Info info = MPI_INFO_NULL;
  std::array<char, 64> value{};
  int found = 0;
  MPI_Comm_get_info(copy.get(), &info);
  MPI_Info_get(info, "lnw_strategy", static_cast<int>(value.size()) - 1, value.data(), &found);
  MPI_Info_free(&info);
  SmallArguments arguments;
  EXPECT_MPI(init(Kind::alltoallv, arguments, copy.get()));
  const char* strategy = "";
  EXPECT_MPI(LNW_Request_get_strategy(arguments.made, &strategy));
  EXPECT_STREQ(strategy, found != 0 ? "three_step" : "direct");
  EXPECT_MPI(LNW_Request_free(&arguments.made));
}

TEST_F(ErrorsTest, SizesThatDiffer) {
  if (size() < 2) GTEST_SKIP() << "SKIP: needs 2 ranks, there are " << size();
  const std::vector<Hints> all_hints = {{},
                                        {{"lnw_strategy", "auto"}},
                                        {{"lnw_strategy", "three_step"}},
                                        {{"lnw_check", "true"}},
                                        {{"lnw_check", "false"}}};
  for (const Hints& hints : all_hints) {
    const bool by_environment = &hints == &all_hints.front();
    if (by_environment) setenv("LANEWAY_CHECK", "1", 1);
    SmallArguments arguments;
    arguments.hints = hints;
    // The last rank sends the first one more than that expects: its first destination is its right neighbour.
    const int source = size() - 1;
    if (rank() == source) arguments.sendcount_values[0] = 3;
    expect_error(init(Kind::alltoallv, arguments, ring()), MPI_ERR_TOPOLOGY,
                 {"LNW_Neighbor_alltoallv_init on rank " + std::to_string(rank()),
                  "edge " + std::to_string(source) + " -> 0", "12 bytes", "4 bytes"});
    SmallArguments good;
    good.hints = arguments.hints;
    EXPECT_MPI(init(Kind::alltoallv, good, ring()));
    EXPECT_MPI(LNW_Start(&good.made));
    EXPECT_MPI(LNW_Wait(&good.made, MPI_STATUS_IGNORE));
    EXPECT_MPI(LNW_Request_free(&good.made));
    unsetenv("LANEWAY_CHECK");
  }
  // Also where the receive is the longer one, of one edge of several between two ranks.
  const int left = (rank() + size() - 1) % size(), right = (rank() + 1) % size();
  const Comm graph = make_graph(MPI_COMM_WORLD, {{left, left, left}, {right, right, right}});
  MPI_Comm_set_errhandler(graph.get(), counting_handler());
  std::array<int, 12> send{}, receive{};
  const std::array<int, 3> counts{1, 2, 0}, displs{0, 4, 8};
  std::array<int, 3> recvcounts = counts;
  LNW_Request request = LNW_REQUEST_NULL;
  if (rank() == 0) recvcounts[1] = 3;
  expect_error(
      LNW_Neighbor_alltoallv_init(send.data(), counts.data(), displs.data(), MPI_INT, receive.data(), recvcounts.data(),
                                  displs.data(), MPI_INT, graph.get(), MPI_INFO_NULL, &request),
      MPI_ERR_TOPOLOGY,
      {"edge " + std::to_string(size() - 1) + " -> 0 (number 2", "the source has 8 bytes (sendcounts",
       "the destination 12 bytes (recvcounts"});
  expect_usable();
}

TEST_F(ErrorsTest, CheckFindsEdgesOfOneSideOnly) {
  if (size() < 2) GTEST_SKIP() << "SKIP: needs 2 ranks, there are " << size();
  const Info check(Hints{{"lnw_check", "true"}});
  const int first = 0, last = size() - 1;
  for (bool source_has_it : {true, false}) {
    // Self edges on all ranks, and one side of an edge from the first to the last.
    std::vector<int> sources{rank()}, destinations{rank()};
    if (source_has_it && rank() == first) destinations.push_back(last);
    if (!source_has_it && rank() == last) sources.push_back(first);
    const int indegree = static_cast<int>(sources.size()), outdegree = static_cast<int>(destinations.size());
    const std::string edge = "edge " + std::to_string(first) + " -> " + std::to_string(last);
    const std::string sides = source_has_it ? "the destination no such edge" : "the source has no such edge";
    MPI_Comm made = MPI_COMM_NULL;
    expect_error(LNW_Dist_graph_create_adjacent(MPI_COMM_WORLD, indegree, sources.data(), MPI_UNWEIGHTED, outdegree,
                                                destinations.data(), MPI_UNWEIGHTED, check.get(), 0, &made),
                 MPI_ERR_TOPOLOGY, {"LNW_Dist_graph_create_adjacent on rank " + std::to_string(rank()), edge, sides});
    // MPI itself does not look.
    MPI_Comm graph = MPI_COMM_NULL;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, indegree, sources.data(), MPI_UNWEIGHTED, outdegree,
                                   destinations.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    MPI_Comm_set_errhandler(graph, counting_handler());
    SmallArguments arguments;
    arguments.hints = {{"lnw_check", "true"}, {"lnw_strategy", "three_step"}};
    expect_error(init(Kind::alltoall, arguments, graph), MPI_ERR_TOPOLOGY,
                 {"LNW_Neighbor_alltoall_init on rank " + std::to_string(rank()), edge, "4 bytes", sides});
    MPI_Comm_free(&graph);
  }
  expect_usable();
}

}  // namespace
}  // namespace laneway::test
