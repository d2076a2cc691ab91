#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "c/barrier.hpp"
#include "operate/one_side.hpp"
#include "operate/sparse.hpp"

using namespace laneway;

struct LNW_Distributor_s {
  /// Elements of one side, by the rank at the other end, in the order of the topology's neighbours.
  struct Side {
    std::vector<MPI_Count> counts;
    std::vector<MPI_Count> elements;
  };
  MPI_Count exports = 0;
  MPI_Count imports = 0;
  Side sent;
  Side received;
  std::unique_ptr<Communicator> there;
  std::unique_ptr<Communicator> back;
};

namespace {

using Side = LNW_Distributor_s::Side;

/// The first problem of a call, so that the other ranks learn of it in the exchange that follows.
template <class Check>
std::exception_ptr problem_of(Check&& check) {
  try {
    check();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

void check_list(MPI_Count count, const char* count_name, const void* list, const char* list_name) {
  require(count >= 0, ErrorKind::count, std::string(count_name) + " is " + std::to_string(count));
  require(list != nullptr || count == 0, ErrorKind::argument, std::string(list_name) + " is NULL");
}

/// Ranks that have something, ascending, and their elements.
std::vector<int> by_rank(MPI_Count count, const int* ranks, Side& side, Rank size, const char* name) {
  for (MPI_Count i = 0; i < count; ++i) {
    require(ranks[i] >= -1 && ranks[i] < size, ErrorKind::rank, [&] {
      return std::string(name) + "[" + std::to_string(i) + "] is " + std::to_string(ranks[i]) +
             " in a communicator of " + std::to_string(size) + " ranks";
    });
    if (ranks[i] >= 0) side.elements.push_back(i);
  }
  std::ranges::stable_sort(side.elements, {}, [&](MPI_Count i) { return ranks[i]; });
  std::vector<int> others;
  for (const MPI_Count i : side.elements) {
    if (others.empty() || others.back() != ranks[i]) {
      others.push_back(ranks[i]);
      side.counts.push_back(0);
    }
    ++side.counts.back();
  }
  return others;
}

/// `counts[i]` numbers to `ranks[i]`.
struct Say {
  std::vector<int> ranks;
  std::vector<MPI_Count> counts;
  std::vector<std::int64_t> numbers;
};

std::unique_ptr<Arrivals> tell(Communicator& communicator, const Say& say, MPI_Info info, std::exception_ptr failure) {
  std::vector<MPI_Count> begins(say.counts.size());
  std::exclusive_scan(say.counts.begin(), say.counts.end(), begins.begin(), MPI_Count{0});
  SparseCall call;
  call.sets.push_back({.degree = static_cast<int>(say.ranks.size()),
                       .destinations = say.ranks.data(),
                       .counts = say.counts.data(),
                       .displacements = begins.data(),
                       .type = MPI_INT64_T,
                       .buffer = say.numbers.data()});
  call.info = info;
  call.failure = std::move(failure);
  return std::move(exchange_sparsely(communicator, std::move(call)).front());
}

std::vector<std::int64_t> numbers_in(const Arrivals& arrivals) {
  std::vector<std::int64_t> numbers(arrivals.data.size() / sizeof(std::int64_t));
  if (!numbers.empty()) std::memcpy(numbers.data(), arrivals.data.data(), arrivals.data.size());
  return numbers;
}

/// A topology as functions of the C interface know it.
LNW_Topology topology_handle(const std::unique_ptr<Communicator>& topology) {
  return reinterpret_cast<LNW_Topology>(topology.get());
}

LNW_Distributor_s& distributor_of(LNW_Distributor handle) {
  require(handle != LNW_DISTRIBUTOR_NULL, ErrorKind::request, "distributor is LNW_DISTRIBUTOR_NULL");
  return *handle;
}

}  // namespace

int LNW_Distributor_create(MPI_Comm comm, MPI_Count exports, const int exportranks[], MPI_Info info,
                           LNW_Distributor* distributor) {
  return guarded(__func__, comm, [&] {
    Communicator& communicator = Communicator::of(comm);
    auto made = std::make_unique<LNW_Distributor_s>();
    Say say;
    const std::exception_ptr failure = problem_of([&] {
      require_pointer(distributor, "distributor");
      check_list(exports, "exports", exportranks, "exportranks");
      say.ranks = by_rank(exports, exportranks, made->sent, communicator.ranks(), "exportranks");
    });
    say.counts.assign(say.ranks.size(), 1);
    say.numbers.assign(made->sent.counts.begin(), made->sent.counts.end());
    const std::unique_ptr<Arrivals> arrivals = tell(communicator, say, info, failure);
    made->exports = exports;
    for (const std::int64_t count : numbers_in(*arrivals)) {
      made->received.counts.push_back(static_cast<MPI_Count>(count));
      for (std::int64_t i = 0; i < count; ++i) made->received.elements.push_back(made->imports++);
    }
    made->there = topology_of(*arrivals, info, false);
    made->back = topology_of(*arrivals, info, true);
    *distributor = made.release();
  });
}

int LNW_Distributor_create_from_imports(MPI_Comm comm, MPI_Count exports, MPI_Count imports, const int importranks[],
                                        const MPI_Count ids[], MPI_Info info, LNW_Distributor* distributor) {
  return guarded(__func__, comm, [&] {
    Communicator& communicator = Communicator::of(comm);
    auto made = std::make_unique<LNW_Distributor_s>();
    Say say;
    std::exception_ptr failure = problem_of([&] {
      require_pointer(distributor, "distributor");
      require(exports >= 0, ErrorKind::count, "exports is " + std::to_string(exports));
      check_list(imports, "imports", importranks, "importranks");
      check_list(imports, "imports", ids, "ids");
      say.ranks = by_rank(imports, importranks, made->received, communicator.ranks(), "importranks");
      say.counts = made->received.counts;
      for (const MPI_Count i : made->received.elements) say.numbers.push_back(ids[i]);
    });
    // The exchange goes from those who want to those who have.
    const std::unique_ptr<Arrivals> arrivals = tell(communicator, say, info, failure);
    made->exports = exports;
    made->imports = imports;
    made->sent.counts = arrivals->counts;
    failure = problem_of([&] {
      for (const std::int64_t id : numbers_in(*arrivals)) {
        require(id >= 0 && id < exports, ErrorKind::argument, [&] {
          return "element " + std::to_string(id) + " is wanted of exports, which is " + std::to_string(exports);
        });
        made->sent.elements.push_back(static_cast<MPI_Count>(id));
      }
    });
    // Nothing is said: all ranks learn whether one cannot go on.
    (void)tell(communicator, {}, info, failure);
    made->back = topology_of(*arrivals, info, false);
    made->there = topology_of(*arrivals, info, true);
    *distributor = made.release();
  });
}

int LNW_Distributor_get_count(LNW_Distributor distributor, MPI_Count* exports, MPI_Count* imports) {
  return guarded(__func__, MPI_COMM_WORLD, [&] {
    const LNW_Distributor_s& found = distributor_of(distributor);
    if (exports != nullptr) *exports = found.exports;
    if (imports != nullptr) *imports = found.imports;
  });
}

int LNW_Distributor_init(LNW_Distributor distributor, const void* exportbuf, void* importbuf, MPI_Datatype type,
                         MPI_Info info, LNW_Request* request) {
  int code = MPI_SUCCESS;
  const int own = guarded(__func__, MPI_COMM_WORLD, [&] {
    const LNW_Distributor_s& found = distributor_of(distributor);
    code = LNW_Neighbor_alltoallv_init_indexed_topology_c(exportbuf, found.exports, found.sent.counts.data(),
                                                          found.sent.elements.data(), type, importbuf, found.imports,
                                                          found.received.counts.data(), found.received.elements.data(),
                                                          type, topology_handle(found.there), info, request);
  });
  return own != MPI_SUCCESS ? own : code;
}

int LNW_Distributor_reverse_init(LNW_Distributor distributor, const void* importbuf, void* exportbuf, MPI_Datatype type,
                                 MPI_Op op, MPI_Info info, LNW_Request* request) {
  int code = MPI_SUCCESS;
  const int own = guarded(__func__, MPI_COMM_WORLD, [&] {
    const LNW_Distributor_s& found = distributor_of(distributor);
    code = LNW_Neighbor_reducev_init_indexed_topology_c(importbuf, found.imports, found.received.counts.data(),
                                                        found.received.elements.data(), type, exportbuf, found.exports,
                                                        found.sent.counts.data(), found.sent.elements.data(), type, op,
                                                        topology_handle(found.back), info, request);
  });
  return own != MPI_SUCCESS ? own : code;
}

int LNW_Distributor_free(LNW_Distributor* distributor) {
  return guarded(__func__, MPI_COMM_WORLD, [&] {
    require_pointer(distributor, "distributor");
    delete &distributor_of(*distributor);
    *distributor = LNW_DISTRIBUTOR_NULL;
  });
}
