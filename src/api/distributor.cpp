#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/operation.hpp"
#include "base/failure.hpp"
#include "operations/choose/way_back.hpp"
#include "operations/halo/element_lists.hpp"
#include "operations/halo/one_side.hpp"
#include "operations/neighborhood/neighborhood.hpp"

using namespace laneway;

struct LNW_Distributor_s {
  MPI_Count exports = 0;
  MPI_Count imports = 0;
  ElementLists sent;
  ElementLists received;
  std::unique_ptr<Communicator> there;
  std::unique_ptr<Communicator> back;
};

namespace {

void check_list(MPI_Count count, const char* count_name, const void* list, const char* list_name) {
  require(count >= 0, ErrorKind::count, std::string(count_name) + " is " + std::to_string(count));
  require(list != nullptr || count == 0, ErrorKind::argument, std::string(list_name) + " is NULL");
}

/// A topology as functions of the C interface know it.
LNW_Topology topology_handle(const std::unique_ptr<Communicator>& topology) {
  return reinterpret_cast<LNW_Topology>(topology.get());
}

LNW_Distributor_s& distributor_of(LNW_Distributor handle) {
  require(handle != LNW_DISTRIBUTOR_NULL, ErrorKind::request, "distributor is LNW_DISTRIBUTOR_NULL");
  return *handle;
}

/// Of a null handle an error on MPI_COMM_WORLD; others have an error handler of their own.
template <class Run>
int with_distributor(const char* name, LNW_Distributor distributor, Run&& run) {
  int code = MPI_SUCCESS;
  const int own = guarded(name, MPI_COMM_WORLD, [&] { code = run(name, distributor_of(distributor)); });
  return own != MPI_SUCCESS ? own : code;
}

Call there(const LNW_Distributor_s& found, const void* exportbuf, void* importbuf, MPI_Datatype type) {
  return {.kind = Kind::alltoallv_indexed,
          .sendbuf = exportbuf,
          .recvbuf = importbuf,
          .send = side_of(found.sent, found.exports, type),
          .receive = side_of(found.received, found.imports, type),
          .sendbuf_name = "exportbuf",
          .recvbuf_name = "importbuf"};
}

}  // namespace

int LNW_Distributor_create(MPI_Comm comm, MPI_Count exports, const int exportranks[], MPI_Info info,
                           LNW_Distributor* distributor) {
  return guarded(__func__, comm, [&] {
    Communicator& communicator = Communicator::of(comm);
    auto made = std::make_unique<LNW_Distributor_s>();
    RankNumbers numbers_of_ranks;
    const std::exception_ptr failure = failure_of([&] {
      require_pointer(distributor, "distributor");
      check_list(exports, "exports", exportranks, "exportranks");
      made->sent = runs_by_rank(exports, exportranks, communicator.ranks(), "exportranks");
      numbers_of_ranks.ranks = made->sent.ranks;
      numbers_of_ranks.counts.assign(numbers_of_ranks.ranks.size(), 1);
      numbers_of_ranks.numbers.assign(made->sent.counts.begin(), made->sent.counts.end());
    });
    const std::unique_ptr<Arrivals> arrivals =
        exchange_numbers(communicator, numbers_of_ranks, info, problem_with_hints(info, failure));
    made->exports = exports;
    made->received.ranks = arrivals->sources;
    for (const std::int64_t count : numbers_in(*arrivals)) {
      made->received.counts.push_back(static_cast<MPI_Count>(count));
      made->received.elements.push_back(made->imports);
      made->received.lengths.push_back(static_cast<MPI_Count>(count));
      made->imports += static_cast<MPI_Count>(count);
    }
    made->there = topology_of(*arrivals, info, false);
    made->back = topology_of(*arrivals, info, true);
    share_exchanges(*made->there, *made->back);
    *distributor = made.release();
  });
}

int LNW_Distributor_create_from_imports(MPI_Comm comm, MPI_Count exports, MPI_Count imports, const int importranks[],
                                        const MPI_Count ids[], MPI_Info info, LNW_Distributor* distributor) {
  return guarded(__func__, comm, [&] {
    Communicator& communicator = Communicator::of(comm);
    auto made = std::make_unique<LNW_Distributor_s>();
    RankNumbers numbers_of_ranks;
    std::exception_ptr failure = failure_of([&] {
      require_pointer(distributor, "distributor");
      require(exports >= 0, ErrorKind::count, "exports is " + std::to_string(exports));
      check_list(imports, "imports", importranks, "importranks");
      check_list(imports, "imports", ids, "ids");
      made->received = lists_by_rank(imports, importranks, communicator.ranks(), "importranks");
      numbers_of_ranks.ranks = made->received.ranks;
      numbers_of_ranks.counts = made->received.counts;
      for (const MPI_Count i : made->received.elements) numbers_of_ranks.numbers.push_back(ids[i]);
    });
    // The exchange goes from those who want to those who have.
    const std::unique_ptr<Arrivals> arrivals =
        exchange_numbers(communicator, numbers_of_ranks, info, problem_with_hints(info, failure));
    made->exports = exports;
    made->imports = imports;
    made->sent.ranks = arrivals->sources;
    made->sent.counts = arrivals->counts;
    failure = failure_of([&] {
      for (const std::int64_t id : numbers_in(*arrivals)) {
        require(id >= 0 && id < exports, ErrorKind::argument, [&] {
          return "element " + std::to_string(id) + " is wanted of exports, which is " + std::to_string(exports);
        });
        made->sent.elements.push_back(static_cast<MPI_Count>(id));
      }
    });
    learn_of_failures(communicator, failure);
    made->back = topology_of(*arrivals, info, false);
    made->there = topology_of(*arrivals, info, true);
    share_exchanges(*made->there, *made->back);
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

int LNW_Distributor_get_sources(LNW_Distributor distributor, int* nsources, const int** sources,
                                const MPI_Count** counts) {
  return guarded(__func__, MPI_COMM_WORLD, [&] {
    const LNW_Distributor_s& found = distributor_of(distributor);
    if (nsources != nullptr) *nsources = static_cast<int>(found.received.ranks.size());
    if (sources != nullptr) *sources = found.received.ranks.data();
    if (counts != nullptr) *counts = found.received.counts.data();
  });
}

int LNW_Distributor_exchange(LNW_Distributor distributor, const void* exportbuf, void* importbuf, MPI_Datatype type) {
  return with_distributor(__func__, distributor, [&](const char* name, const LNW_Distributor_s& found) {
    return guarded(name, topology_handle(found.there),
                   [&] { run_agreed(*found.there, there(found, exportbuf, importbuf, type)); });
  });
}

int LNW_Distributor_init(LNW_Distributor distributor, const void* exportbuf, void* importbuf, MPI_Datatype type,
                         MPI_Info info, LNW_Request* request) {
  return with_distributor(__func__, distributor, [&](const char* name, const LNW_Distributor_s& found) {
    return persistent(name, topology_handle(found.there), info, request, there(found, exportbuf, importbuf, type));
  });
}

int LNW_Distributor_reverse_init(LNW_Distributor distributor, const void* importbuf, void* exportbuf, MPI_Datatype type,
                                 MPI_Op op, MPI_Info info, LNW_Request* request) {
  return with_distributor(__func__, distributor, [&](const char* name, const LNW_Distributor_s& found) {
    return persistent(name, topology_handle(found.back), info, request,
                      {.kind = Kind::reducev_indexed,
                       .sendbuf = importbuf,
                       .recvbuf = exportbuf,
                       .send = side_of(found.received, found.imports, type),
                       .receive = side_of(found.sent, found.exports, type),
                       .op = op,
                       .sendbuf_name = "importbuf",
                       .recvbuf_name = "exportbuf"});
  });
}

int LNW_Distributor_free(LNW_Distributor* distributor) {
  return guarded(__func__, MPI_COMM_WORLD, [&] {
    require_pointer(distributor, "distributor");
    delete &distributor_of(*distributor);
    *distributor = LNW_DISTRIBUTOR_NULL;
  });
}
