// One bad argument: every argument of every function of the headers is bad on one rank. The call ends, on all ranks
// where it synchronises, else on that rank before it has done anything; the text names rank, call and argument; and the
// next call with good arguments works. The functions are read from the headers (function_table.py); one that no row
// below knows what to do with fails the test.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <type_traits>
#include <utility>

#include "support.hpp"

namespace laneway::test {
namespace {

/// A handle, a number or a pointer.
using Value = std::intptr_t;

template <class T>
T as(Value value) {
  if constexpr (std::is_same_v<T, LNW_Place>)
    return *reinterpret_cast<const LNW_Place*>(value);
  else if constexpr (std::is_pointer_v<T>)
    return reinterpret_cast<T>(value);
  else
    return static_cast<T>(value);
}

template <class T>
Value value_of(T given) {
  if constexpr (std::is_null_pointer_v<T>)
    return 0;
  else if constexpr (std::is_pointer_v<T>)
    return reinterpret_cast<Value>(given);
  else
    return static_cast<Value>(given);
}

struct Parameter {
  std::string type;
  std::string name;
};

struct Function {
  std::string name;
  std::vector<Parameter> parameters;
  std::function<int(const std::vector<Value>&)> call;

  [[nodiscard]] bool is(const std::string& pattern) const { return std::regex_match(name, std::regex(pattern)); }
};

template <class... P>
Function function_of(const char* name, int (*function)(P...), std::vector<Parameter> parameters) {
  return {name, std::move(parameters), [function](const std::vector<Value>& values) {
            return [&]<std::size_t... I>(std::index_sequence<I...>) {
              return function(as<P>(values[I])...);
            }
            (std::index_sequence_for<P...>{});
          }};
}

using Bytes = std::vector<std::byte>;

std::vector<Function> all_functions() {
  std::vector<Function> all;
#define FUNCTION(name, ...) all.push_back(function_of(#name, &name, {__VA_ARGS__}));
#include "function_table.inc"
#undef FUNCTION
  return all;
}

/// What is so wrong, and what the text must have.
struct Bad {
  Value value;
  std::string part;
  bool is_handle = false;  ///< without which there is nothing to tell others by
};

char running[200] = "";

void on_alarm(int) {
  char text[300];
  const int length = std::snprintf(text, sizeof text, "rank %d hangs in %s\n", rank(), running);
  if (write(STDERR_FILENO, text, static_cast<std::size_t>(length)) < 0) _exit(3);
  _exit(2);
}

/// Names what hangs.
class Watchdog {
 public:
  Watchdog() : before_(std::signal(SIGALRM, on_alarm)) {}
  ~Watchdog() {
    std::signal(SIGALRM, before_);
    alarm(240);
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  static void watch(const std::string& what) {
    std::snprintf(running, sizeof running, "%s", what.c_str());
    alarm(60);
  }

 private:
  void (*before_)(int);
};

int answer_nothing(int, const void*, MPI_Count, void*, LNW_Answer) {
  return MPI_SUCCESS;
}
void do_nothing(void*) {}

/// Good values of all parameters, by type and name or by name alone.
class Values {
 public:
  Values() : nonsense_(Hints{{"lnw_nonsense", "1"}}), bad_strategy_(Hints{{"lnw_strategy", "four_step"}}) {
    const int left = (rank() + size() - 1) % size(), right = (rank() + 1) % size();
    const Shape ring = ring_shape(rank(), size());
    dup_.push_back(own_world());
    ring_ = make_graph(MPI_COMM_WORLD, ring);
    MPI_Comm_set_errhandler(ring_.get(), MPI_ERRORS_RETURN);
    EXPECT_MPI(LNW_Topology_from_comm(ring_.get(), &topology_));
    for (const char* const name : {"sendbuf", "exportbuf", "data"}) set(name, send_.data());
    for (const char* const name : {"recvbuf", "importbuf", "buffer", "array", "buf"}) set(name, receive_.data());
    for (const char* const name : {"sendcount", "recvcount", "count", "n", "ndims", "fields", "partitions", "segments",
                                   "nsets", "length", "incount", "first"})
      set(name, 1);
    for (const char* const name : {"indegree", "outdegree", "ndestinations", "exports", "imports"}) set(name, 2);
    for (const char* const name : {"sendsize", "recvsize"}) set(name, 16);
    for (const char* const name : {"sendtype", "recvtype", "datatype", "type"}) set(name, MPI_INT);
    for (const char* const name : {"sendtypes", "recvtypes", "types"}) set(name, types_.data());
    for (const char* const name : {"reorder", "corners", "extra_state", "argument", "segment", "partition", "edge",
                                   "partition_low", "partition_high", "tag"})
      set(name, 0);
    const auto many = static_cast<std::size_t>(size()) + 2;
    for (const char* const name : {"sendcounts", "recvcounts", "sendpartitions", "recvpartitions"})
      list(name, std::vector<int>(many, 1));
    std::vector<int> places(many);
    for (std::size_t i = 0; i < many; ++i) places[i] = static_cast<int>(i);
    for (const char* const name : {"sdispls", "rdispls", "displs", "sendindices", "recvindices"}) list(name, places);
    list("sources", ring.sources);
    list("destinations", ring.destinations);
    list("exportranks", {left, right});
    list("importranks", {left, right});
    for (const char* const name : {"sourceweights", "destweights", "weights"}) list(name, {1, 1});
    list("degrees", {2});
    set("LNW_Dist_graph_create sources", ints_.emplace_back(std::vector<int>{rank()}).data());
    list("ids", {0, 1});
    list("array_of_partitions", {0});
    set("owned", 2);
    set("ghosts", 1);
    set("first", 2 * rank());
    list("owned_ids", {2 * rank(), 2 * rank() + 1});
    list("ghost_ids", {2 * right});
    list("dims", {size()});
    list("extents", {4});
    list("widths", {1});
    list("periods", {1});
    set("op", MPI_SUM);
    set("info", MPI_INFO_NULL);
    set("comm", dup_.front().get());
    set("comm_old", dup_.front().get());
    set("topology", topology_);
    set("stream", LNW_STREAM_NONE);
    set("maxsources", 8);
    set("size", 8);
    arrays_ = {receive_.data()};
    set("arrays", arrays_.data());
    set("answer_function", &answer_nothing);
    set("function", &do_nothing);
    set_.ndestinations = 2;
    set_.destinations = destinations_.data();
    set_.sendbuf = send_.data();
    set_.sendcounts = ones_.data();
    set_.sdispls = zeros_.data();
    set_.sendtype = MPI_INT;
    destinations_ = {left, right};
    set("sets", &set_);
    call_ = LNW_CALL_INIT(LNW_NEIGHBOR_ALLTOALL);
    call_.sendbuf = send_.data(), call_.recvbuf = receive_.data();
    call_.sendcount = call_.recvcount = 1;
    call_.sendtype = call_.recvtype = MPI_INT;
    set("call", &call_);
    place_ = {ring_.get(), LNW_TOPOLOGY_NULL};
    set("place", &place_);
    set("LNW_Topology_from_comm comm", ring_.get());
    set("LNW_Topology_shrink_comm comm_old", ring_.get());
    for (const char* const name : {"maxdims", "maxindegree", "maxoutdegree"}) set(name, 2);
    for (const char* const name : {"status", "array_of_statuses"})
      set(std::string("MPI_Status* ") + name, MPI_STATUS_IGNORE);
  }
  ~Values() { EXPECT_MPI(LNW_Topology_free(&topology_)); }
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;

  [[nodiscard]] std::vector<Value> good(const Function& function, int root) {
    std::vector<Value> values;
    out_.fill(0);
    for (const Parameter& parameter : function.parameters) values.push_back(good(function, parameter, root));
    return values;
  }

  [[nodiscard]] std::vector<Bad> bad(const Function& function, const Parameter& parameter);

  /// Completes and frees what a good call has made.
  void finish(const Function& function) {
    auto& request = out<LNW_Request>(0);
    if (request != LNW_REQUEST_NULL) {
      const bool is_persistent = function.is(".*(_init|_rebuild).*");
      const bool starts = is_persistent && function.name.find("partitioned") == std::string::npos;
      if (starts) EXPECT_MPI(LNW_Start(&request));
      if (starts || !is_persistent) EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
      if (is_persistent) EXPECT_MPI(LNW_Request_free(&request));
    }
    if (out<LNW_Arrivals>(1) != LNW_ARRIVALS_NULL) EXPECT_MPI(LNW_Arrivals_free(&out<LNW_Arrivals>(1)));
    if (out<LNW_Topology>(2) != LNW_TOPOLOGY_NULL) EXPECT_MPI(LNW_Topology_free(&out<LNW_Topology>(2)));
    if (function.name.find("Dist_graph") != std::string::npos) EXPECT_MPI(MPI_Comm_free(&out<MPI_Comm>(3)));
    if (out<LNW_Halo>(4) != LNW_HALO_NULL) EXPECT_MPI(LNW_Halo_free(&out<LNW_Halo>(4)));
    if (out<LNW_Distributor>(5) != LNW_DISTRIBUTOR_NULL) EXPECT_MPI(LNW_Distributor_free(&out<LNW_Distributor>(5)));
    if (out<LNW_Bag>(6) != LNW_BAG_NULL) EXPECT_MPI(LNW_Bag_free(&out<LNW_Bag>(6)));
  }
  /// Of a call that has returned one without an error.
  [[nodiscard]] LNW_Request& request() { return out<LNW_Request>(0); }

  template <class T>
  void set(const std::string& key, T value) {
    good_[key] = value_of(value);
  }

 private:
  static Comm own_world() {
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    return Comm(made);
  }

  template <class T>
  [[nodiscard]] T& out(std::size_t place) {
    static_assert(sizeof(T) <= sizeof(Value));
    return reinterpret_cast<T&>(out_[place]);
  }

  void list(const std::string& name, const std::vector<int>& values) {
    lists_[name] = values;
    set("const int* " + name, ints_.emplace_back(values).data());
    set("const MPI_Count* " + name, counts_.emplace_back(values.begin(), values.end()).data());
    set("const MPI_Aint* " + name, aints_.emplace_back(values.begin(), values.end()).data());
  }
  /// The list with another first element.
  [[nodiscard]] Value spoilt(const Parameter& parameter, int first) {
    std::vector<int> values = lists_.at(parameter.name);
    values.front() = first;
    if (parameter.type == "const int*") return value_of(ints_.emplace_back(values).data());
    if (parameter.type == "const MPI_Count*")
      return value_of(counts_.emplace_back(values.begin(), values.end()).data());
    return value_of(aints_.emplace_back(values.begin(), values.end()).data());
  }

  [[nodiscard]] Value good(const Function& function, const Parameter& parameter, int root);
  /// Whether it points to where a function puts something.
  static bool is_result(const std::string& type) {
    const bool is_read = type.find("const") != std::string::npos && !type.ends_with("**");
    return type.ends_with("*") && !is_read && type != "void*" && type != "LNW_Answer_function*";
  }

  const Info nonsense_, bad_strategy_;
  std::vector<Comm> dup_;
  Comm ring_;
  LNW_Topology topology_ = LNW_TOPOLOGY_NULL;
  std::array<int, 256> send_{}, receive_{};
  std::vector<MPI_Datatype> types_ = std::vector<MPI_Datatype>(static_cast<std::size_t>(size()) + 2, MPI_INT);
  std::vector<MPI_Datatype> bad_types_ = {MPI_DATATYPE_NULL, MPI_INT};
  std::array<void*, 1> arrays_{}, no_arrays_{};
  std::array<int, 2> destinations_{}, ones_{1, 1}, zeros_{};
  LNW_Sparse_set set_{};
  LNW_Call call_{};
  LNW_Place place_{}, no_place_{MPI_COMM_NULL, LNW_TOPOLOGY_NULL};
  std::array<Value, 8> out_{};
  std::map<std::string, Value> good_;
  std::map<std::string, std::vector<int>> lists_;
  std::deque<std::vector<int>> ints_;
  std::deque<std::vector<MPI_Count>> counts_;
  std::deque<std::vector<MPI_Aint>> aints_;
  std::array<Value, 64> scratch_{};
};

Value Values::good(const Function& function, const Parameter& parameter, int root) {
  static const std::map<std::string, std::size_t> places = {
      {"LNW_Request*", 0}, {"LNW_Arrivals*", 1},    {"LNW_Topology*", 2}, {"MPI_Comm*", 3},
      {"LNW_Halo*", 4},    {"LNW_Distributor*", 5}, {"LNW_Bag*", 6},
  };
  const std::string key = parameter.type + " " + parameter.name;
  if (const auto found = good_.find(function.name + " " + parameter.name); found != good_.end()) return found->second;
  if (const auto place = places.find(parameter.type); place != places.end()) return value_of(&out_[place->second]);
  if (parameter.name == "root") return root;
  const bool is_neighborhood = function.name.find("eighbor_") != std::string::npos;
  if (parameter.type == "MPI_Comm" && is_neighborhood) return value_of(ring_.get());
  const bool in_bytes = function.is(".*(alltoallw|reducew).*") && parameter.name.ends_with("displs");
  const bool is_counted = parameter.name.ends_with("displs") && lists_.contains(parameter.name);
  if (in_bytes && is_counted) {
    std::vector<int> values = lists_.at(parameter.name);
    for (int& value : values) value *= static_cast<int>(sizeof(int));
    if (parameter.type == "const int*") return value_of(ints_.emplace_back(values).data());
    return value_of(aints_.emplace_back(values.begin(), values.end()).data());
  }
  if (const auto found = good_.find(key); found != good_.end()) return found->second;
  if (is_result(parameter.type)) return value_of(scratch_.data());
  if (const auto found = good_.find(parameter.name); found != good_.end()) return found->second;
  ADD_FAILURE() << function.name << ": nothing is known of " << key;
  return 0;
}

std::vector<Bad> Values::bad(const Function& function, const Parameter& parameter) {
  // What may be null, or anything.
  static const std::regex anything(
      "LNW_(Halo_get_.* |Distributor_get_|Arrivals_get_(sources|data) |Queue_progress flag).*|LNW_Arrivals_copy "
      "(sources|recvcounts|rdispls|recvbuf|recvtype)|.*(_statuses|status|extra_state|argument|stream|reorder|corners| "
      "size)|LNW_Topology_create_from_.* arrivals|LNW_Halo_(reverse_)?init array|LNW_Parrived.* request|"
      "LNW_Stream_synchronize buffer|LNW_Comm_get_reorder.*|LNW_.*_statistics.* size|LNW_(Test|Wait|Start).* "
      "request|LNW_Get_version.*|LNW_Enqueue_ready.* (partition|edge)|LNW_Request_on_.* (function|state)");
  // Of those only the handle can be bad.
  static const std::regex handles("LNW_(Halo_get|Distributor_get|Arrivals_(get|copy)|Topology_get|Request_get).*");
  const std::string& name = parameter.name;
  const std::string& type = parameter.type;
  const std::string key = function.name + " " + name;
  static const std::set<std::string> handle_types = {"LNW_Topology", "LNW_Bag",         "LNW_Channel",
                                                     "LNW_Halo",     "LNW_Queue",       "LNW_Request",
                                                     "LNW_Arrivals", "LNW_Distributor", "LNW_Answer"};
  if (type == "MPI_Comm" && function.is("LNW_[CP]var_read")) return {};  // null: the process
  // Handles that are not what the ranks meet on.
  static const std::regex told("LNW_Topology_shrink(_comm)? (topology|comm_old)|LNW_Request_rebuild.* request");
  const bool is_told = std::regex_match(key, told);
  if (type == "MPI_Comm") return {{value_of(MPI_COMM_NULL), "comm", !is_told}};
  if (type == "LNW_Place") return {{value_of(&no_place_), "comm", true}};
  const bool may_be_null = std::regex_match(key, anything);
  if (handle_types.contains(type) && (!may_be_null || std::regex_match(function.name, handles)) &&
      !function.name.starts_with("LNW_Parrived"))
    return {{0, name, !is_told}};
  if (may_be_null) return {};
  if (type == "MPI_Datatype") return {{value_of(MPI_DATATYPE_NULL), name}};
  if (type == "MPI_Op") return {{value_of(MPI_OP_NULL), name}};
  if (type == "MPI_Info") {
    if (function.is("LNW_I?[sS]parse_.*")) return {{value_of(nonsense_.get()), "lnw_nonsense"}};
    return {{value_of(nonsense_.get()), "lnw_nonsense"}, {value_of(bad_strategy_.get()), "four_step"}};
  }
  if (type == "const MPI_Datatype*") return {{0, name}, {value_of(bad_types_.data()), name + "[0]"}};
  if (type == "void* const*") return {{0, name}, {value_of(no_arrays_.data()), name + "[0]"}};
  static const std::map<std::string, Value> numbers = {{"role", 7},           {"kind", LNW_QUEUE_PROGRESS_BY_HOST + 7},
                                                       {"segment", 5},        {"partition", 9},
                                                       {"edge", 9},           {"fields", 0},
                                                       {"ndims", 0},          {"partition_low", -1},
                                                       {"partition_high", 9}, {"segments", 0},
                                                       {"maxsources", 0}};
  if (key == "LNW_Enqueue_waitall count") return {{-2, name}};  // -1 is LNW_QUEUE_ALL_STARTED
  static const std::set<std::string> ranks = {"root", "peer", "dest", "source", "destination"};
  if (type == "int" || type == "MPI_Count") {
    const std::string said = name.starts_with("partition_") ? "partition" : name;
    if (const auto known = numbers.find(name); known != numbers.end()) return {{known->second, said}};
    if (name == "recvcount" && function.name == "LNW_Arrivals_copy") return {{0, name}};
    return {{ranks.contains(name) ? size() : -1, name}};
  }
  std::vector<Bad> found;
  if (!(function.name == "LNW_Halo_create_cart" && name == "dims")) found.push_back({0, name});
  static const std::map<std::string, int> first = {
      {"sendcounts", -1},     {"recvcounts", -1},     {"sendpartitions", -1},
      {"recvpartitions", -1}, {"degrees", -1},        {"sendindices", 99},
      {"recvindices", 99},    {"exportranks", -7},    {"importranks", -7},
      {"owned_ids", -1},      {"ghost_ids", 1000000}, {"dims", -1},
      {"extents", 0},         {"widths", -1},         {"weights", -1},
      {"sources", 1000},      {"destinations", 1000}, {"array_of_partitions", 9}};
  if (const auto known = first.find(name); known != first.end() && lists_.contains(name) && type.starts_with("const"))
    found.push_back({spoilt(parameter, known->second), name == "array_of_partitions" ? "partition" : name + "[0]"});
  if (function.is("LNW_I?[nN]eighbor_.*") && (name == "sendbuf" || name == "recvbuf"))
    found.push_back({value_of(MPI_IN_PLACE), name});
  return found;
}

class OneBadArgument : public MpiTest {
 protected:
  void SetUp() override {
    MpiTest::SetUp();
    world_ = std::make_unique<Handler>(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    self_ = std::make_unique<Handler>(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    values_ = std::make_unique<Values>();
  }
  void TearDown() override {
    values_.reset();
    self_.reset();
    world_.reset();
    MpiTest::TearDown();
  }

  /// Of calls that synchronise, in which all ranks learn of it.
  static bool is_told(const Function& function) {
    return function.is(
               "LNW_.*_init.*|LNW_I?[sS]parse_.*|LNW_.*_create.*|LNW_Topology_from_comm|LNW_Distributor_exchange|"
               "LNW_Topology_shrink.*|LNW_Request_rebuild.*") &&
           !function.is("LNW_(Psend|Precv|Queue)_init|LNW_Channel_create.*");
  }

  void expect_error(const std::string& what, const Function& function, int code, const std::string& part) {
    const std::string text = code == MPI_SUCCESS ? "" : error_text(code);
    // Of what was begun, the call says that it completes.
    const std::string name = function.name.starts_with("LNW_Isparse") ? "LNW_" : name_in_errors(function.name);
    EXPECT_NE(code, MPI_SUCCESS) << what;
    for (const std::string& said : {name, " on rank " + std::to_string(rank()), part})
      EXPECT_NE(text.find(said), std::string::npos) << what << ": '" << said << "' is not in: " << text;
  }
  /// What the program has written.
  static std::string name_in_errors(const std::string& name) {
    return name.ends_with("_sized") ? name.substr(0, name.size() - 6) : name;
  }

  int call(const Function& function, const std::vector<Value>& values) {
    const int code = function.call(values);
    if (code != MPI_SUCCESS || !function.name.starts_with("LNW_Isparse") || values_->request() == LNW_REQUEST_NULL)
      return code;
    const int ended = LNW_Wait(&values_->request(), MPI_STATUS_IGNORE);
    if (values_->request() != LNW_REQUEST_NULL) EXPECT_MPI(LNW_Request_free(&values_->request()));  // it has failed
    return ended;
  }

  /// All arguments of a function, one after another; each time another rank's.
  void run(const Function& function, bool has_good_call) {
    for (std::size_t i = 0; i < function.parameters.size(); ++i) {
      const Parameter& parameter = function.parameters[i];
      for (const Bad& bad : values_->bad(function, parameter)) {
        guilty_ = (guilty_ + 1) % size();
        if (parameter.name == "recvbuf" && function.is("LNW_I?[eE]xscan.*") && guilty_ == 0) {  // MPI uses none there
          if (size() == 1) continue;
          guilty_ = 1;
        }
        const std::string what = function.name + ", " + parameter.name + " on rank " + std::to_string(guilty_);
        Watchdog::watch(what);
        std::vector<Value> values = values_->good(function, guilty_);
        if (rank() == guilty_) {
          values[i] = bad.value;
          expect_error(what, function, call(function, values), bad.part);
        } else if (is_told(function) && !bad.is_handle) {
          expect_error(what, function, call(function, values),
                       "rank " + std::to_string(guilty_) + " has reported an error");
        }
        ++cases_;
        if (!has_good_call) continue;
        Watchdog::watch(what + ", and then a good call");
        values = values_->good(function, guilty_);
        const int code = call(function, values);
        EXPECT_EQ(code, MPI_SUCCESS) << what << ", and then a good call: " << error_text(code);
        if (code == MPI_SUCCESS) values_->finish(function);
      }
    }
  }

  Values& values() { return *values_; }
  [[nodiscard]] int cases() const { return cases_; }

 private:
  std::unique_ptr<Handler> world_, self_;
  std::unique_ptr<Values> values_;
  int guilty_ = 0;
  int cases_ = 0;
};

bool frees(const Function& function) {
  return function.name.ends_with("_free") && function.name != "LNW_Channel_test_free";
}

/// Those that need no object but a communicator or a topology, and can be called again by all ranks.
bool is_whole(const Function& function) {
  return function.is(
      "LNW_(I?[nN]eighbor_|I?[aA]ll|I?[gG]ather|I?[sS]catter|I?[bB]cast|I?[rR]educe|I?[sS]can|I?[eE]xscan|I?[bB]arrier|"
      "I?[sS]parse_|Dist_graph|Halo_create|Distributor_create|Bag_create|Topology_create|Topology_from_comm|"
      "Operation_init).*");
}

TEST_F(OneBadArgument, OfOperations) {
  const Watchdog watchdog;
  for (const Function& function : all_functions())
    if (is_whole(function)) run(function, true);
  EXPECT_GT(cases(), 1500);
}

/// One of each kind, on all ranks.
struct Objects {
  LNW_Halo halo = LNW_HALO_NULL;
  LNW_Distributor distributor = LNW_DISTRIBUTOR_NULL;
  LNW_Arrivals arrivals = LNW_ARRIVALS_NULL;
  LNW_Bag bag = LNW_BAG_NULL;
  LNW_Channel to_right = LNW_CHANNEL_NULL, from_left = LNW_CHANNEL_NULL;
  LNW_Request exchange = LNW_REQUEST_NULL, sends = LNW_REQUEST_NULL, receives = LNW_REQUEST_NULL;
  LNW_Request edges = LNW_REQUEST_NULL;
  LNW_Queue queue = LNW_QUEUE_NULL;
  Comm comm, ring;
  std::array<int, 64> send{}, receive{};
  const int left = (rank() + size() - 1) % size(), right = (rank() + 1) % size();

  Objects() {
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    comm = Comm(made);
    ring = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
    for (MPI_Comm one : {comm.get(), ring.get()}) MPI_Comm_set_errhandler(one, MPI_ERRORS_RETURN);
    const std::array<int, 2> both{left, right}, ones{1, 1}, places{0, 1};
    const int ranks = size(), extent = 4, one = 1;
    EXPECT_MPI(LNW_Halo_create_cart(comm.get(), 1, &ranks, &extent, &one, &one, 0, MPI_INFO_NULL, &halo));
    EXPECT_MPI(LNW_Distributor_create(comm.get(), 2, both.data(), MPI_INFO_NULL, &distributor));
    EXPECT_MPI(LNW_Sparse_alltoall(2, both.data(), send.data(), 1, MPI_INT, comm.get(), MPI_INFO_NULL, &arrivals));
    EXPECT_MPI(LNW_Bag_create(comm.get(), MPI_INFO_NULL, &bag));
    EXPECT_MPI(LNW_Comm_prepare(comm.get()));
    EXPECT_MPI(LNW_Channel_create(comm.get(), right, LNW_CHANNEL_SEND, 8, 1, MPI_INFO_NULL, &to_right));
    EXPECT_MPI(LNW_Channel_create(comm.get(), left, LNW_CHANNEL_RECEIVE, 8, 1, MPI_INFO_NULL, &from_left));
    EXPECT_MPI(LNW_Neighbor_alltoall_init(send.data(), 1, MPI_INT, receive.data(), 1, MPI_INT, ring.get(),
                                          MPI_INFO_NULL, &exchange));
    EXPECT_MPI(LNW_Psend_init(send.data(), 1, 1, MPI_INT, right, 0, comm.get(), MPI_INFO_NULL, &sends));
    EXPECT_MPI(LNW_Precv_init(receive.data(), 1, 1, MPI_INT, left, 0, comm.get(), MPI_INFO_NULL, &receives));
    EXPECT_MPI(LNW_Neighbor_alltoallv_init_partitioned(send.data(), ones.data(), places.data(), MPI_INT, receive.data(),
                                                       ones.data(), places.data(), MPI_INT, ones.data(), ones.data(),
                                                       ring.get(), MPI_INFO_NULL, &edges));
    EXPECT_MPI(LNW_Queue_init(&queue, LNW_QUEUE_HOST | LNW_QUEUE_PROGRESS_BY_HOST, nullptr));
  }

  /// All of them still do what they are for.
  void use() {
    send.fill(100 + rank());
    receive.fill(-1);
    EXPECT_MPI(LNW_Start(&exchange));
    EXPECT_MPI(LNW_Wait(&exchange, MPI_STATUS_IGNORE));
    EXPECT_EQ(receive[0], 100 + left);
    receive.fill(-1);
    for (LNW_Request* const request : {&sends, &receives}) EXPECT_MPI(LNW_Start(request));
    EXPECT_MPI(LNW_Pready(0, sends));
    for (LNW_Request* const request : {&sends, &receives}) EXPECT_MPI(LNW_Wait(request, MPI_STATUS_IGNORE));
    EXPECT_EQ(receive[0], 100 + left);
    receive.fill(-1);
    EXPECT_MPI(LNW_Start(&edges));
    for (int edge = 0; edge < 2; ++edge) EXPECT_MPI(LNW_Pready_edge(edges, edge, 0));
    EXPECT_MPI(LNW_Wait(&edges, MPI_STATUS_IGNORE));
    EXPECT_EQ(receive[0], 100 + left);
    EXPECT_MPI(LNW_Channel_put(to_right, 0, send.data(), sizeof(int)));
    void* data = nullptr;
    MPI_Count bytes = 0;
    EXPECT_MPI(LNW_Channel_wait(from_left, 0, &data, &bytes));
    EXPECT_EQ(bytes, static_cast<MPI_Count>(sizeof(int)));
    EXPECT_EQ(*static_cast<const int*>(data), 100 + left);
    EXPECT_MPI(LNW_Channel_release(from_left, 0));
    int source = -1, flag = 0;
    EXPECT_MPI(LNW_Bag_send(bag, right, send.data(), sizeof(int)));
    EXPECT_MPI(LNW_Bag_flush(bag));
    EXPECT_MPI(LNW_Bag_next(bag, &source, &data, &bytes, &flag));
    EXPECT_TRUE(flag != 0 && source == left);
    EXPECT_MPI(LNW_Bag_next(bag, &source, &data, &bytes, &flag));
    receive.fill(-1);
    EXPECT_MPI(LNW_Distributor_exchange(distributor, send.data(), receive.data(), MPI_INT));
    EXPECT_EQ(receive[0], 100 + std::min(left, right));
    int sources = 0;
    EXPECT_MPI(LNW_Arrivals_get_count(arrivals, &sources));
    EXPECT_EQ(sources, 2);
    EXPECT_MPI(LNW_Enqueue_start(queue, &exchange));
    EXPECT_MPI(LNW_Enqueue_wait(queue, &exchange));
    EXPECT_MPI(LNW_Queue_wait(queue));
  }

  void free() {
    EXPECT_MPI(LNW_Queue_free(&queue));
    for (LNW_Request* const request : {&exchange, &sends, &receives, &edges}) EXPECT_MPI(LNW_Request_free(request));
    EXPECT_MPI(LNW_Channel_free(&to_right));
    EXPECT_MPI(LNW_Channel_free(&from_left));
    EXPECT_MPI(LNW_Bag_free(&bag));
    EXPECT_MPI(LNW_Arrivals_free(&arrivals));
    EXPECT_MPI(LNW_Distributor_free(&distributor));
    EXPECT_MPI(LNW_Halo_free(&halo));
  }
};

TEST_F(OneBadArgument, OfObjects) {
  const Watchdog watchdog;
  Objects objects;
  Values& values = this->values();
  values.set("halo", objects.halo);
  values.set("distributor", objects.distributor);
  values.set("LNW_Arrivals arrivals", objects.arrivals);
  values.set("bag", objects.bag);
  for (const char* const name : {"put", "flush", "test_free", "get_info"})
    values.set(std::string("LNW_Channel_") + name + " channel", objects.to_right);
  for (const char* const name : {"test", "wait", "release"})
    values.set(std::string("LNW_Channel_") + name + " channel", objects.from_left);
  values.set("bytes", 4);
  values.set("queue", objects.queue);
  values.set("LNW_Queue_init queue", &objects.send);
  values.set("kind", LNW_QUEUE_HOST | LNW_QUEUE_PROGRESS_BY_HOST);
  values.set("LNW_Queue_init stream", nullptr);
  values.set("peer", objects.right);
  values.set("dest", objects.right);
  values.set("source", objects.left);
  values.set("destination", objects.right);
  values.set("role", LNW_CHANNEL_SEND);
  values.set("LNW_Channel_create_with_buffer role", LNW_CHANNEL_RECEIVE);
  values.set("LNW_Request* array_of_requests", &objects.exchange);
  values.set("LNW_Request request", objects.exchange);
  for (const char* const name : {"Pready", "Pready_word", "Pready_range", "Pready_list", "Enqueue_ready"})
    values.set(std::string("LNW_") + name + " request", objects.sends);
  values.set("LNW_Parrived request", objects.receives);
  values.set("LNW_Cvar_get_index name", "lnw_strategy");
  values.set("LNW_Pvar_get_index name", "bytes");
  values.set("int index", 0);
  for (const char* const name : {"complete", "arrival"})
    for (const char* const given : {"function", "state"})
      values.set(std::string("LNW_Request_on_") + name + " " + given, nullptr);
  for (const char* const name : {"Pready_edge", "Pready_edge_word", "Parrived_edge", "Enqueue_ready_edge",
                                 "Wait_any_edge", "Test_any_edge", "Request_on_arrival"})
    values.set(std::string("LNW_") + name + " request", objects.edges);
  Bytes answer;
  values.set("answer", &answer);
  objects.use();
  for (const Function& function : all_functions()) {
    if (is_whole(function) || frees(function)) continue;
    run(function, is_told(function));
    Watchdog::watch(function.name + ", and then all objects are used");
    objects.use();
  }
  EXPECT_GT(cases(), 150);
  objects.free();
}

/// Functions that free: of a null pointer, and of a null handle.
TEST_F(OneBadArgument, OfFree) {
  for (const Function& function : all_functions()) {
    if (!frees(function)) continue;
    Value null = 0;
    expect_error(function.name, function, function.call({0}), function.parameters.front().name + " is NULL");
    expect_error(function.name, function, function.call({value_of(&null)}), "is LNW_");
  }
}

}  // namespace
}  // namespace laneway::test
