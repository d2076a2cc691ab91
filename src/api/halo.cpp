#include "operations/halo/halo.hpp"

#include <algorithm>
#include <climits>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/operation.hpp"
#include "base/failure.hpp"
#include "mpi/check.hpp"
#include "mpi/made_type.hpp"

using namespace laneway;

struct LNW_Halo_s {
  HaloLists lists;
};

namespace {

constexpr MPI_Count most_elements = std::numeric_limits<MPI_Count>::max() / 4;

LNW_Halo_s& halo_of(LNW_Halo handle) {
  require(handle != LNW_HALO_NULL, ErrorKind::request, "halo is LNW_HALO_NULL");
  return *handle;
}

LNW_Topology halo_topology(const std::unique_ptr<Communicator>& topology) {
  return reinterpret_cast<LNW_Topology>(topology.get());
}

void check_numbers(MPI_Count count, const char* count_name, const MPI_Count* ids, const char* name) {
  require(count >= 0 && count <= most_elements, ErrorKind::count,
          [&] { return std::string(count_name) + " is " + std::to_string(count); });
  require(ids != nullptr || count == 0, ErrorKind::argument, [&] { return std::string(name) + " is NULL"; });
}

/// `check` makes the runs of own elements.
template <class Check>
void make_halo(MPI_Comm comm, MPI_Count owned, MPI_Count ghosts, const MPI_Count* ghost_ids, MPI_Info info,
               LNW_Halo* halo, Check&& check) {
  Communicator& communicator = Communicator::of(comm);
  std::vector<NumberedRun> runs;
  std::span<const MPI_Count> numbers;
  const std::exception_ptr failure = failure_of([&] {
    require_pointer(halo, "halo");
    runs = check();
    check_numbers(ghosts, "ghosts", ghost_ids, "ghost_ids");
    numbers = {ghost_ids, static_cast<std::size_t>(ghosts)};
  });
  *halo = new LNW_Halo_s{halo_from_ghosts(communicator, runs, owned, numbers, info, failure)};
}

/// As blocks of numbers that follow each other.
std::vector<NumberedRun> runs_of(MPI_Count count, const MPI_Count* ids) {
  std::vector<NumberedRun> runs;
  for (MPI_Count i = 0; i < count; ++i) {
    require(ids[i] >= 0 && ids[i] <= most_elements, ErrorKind::argument,
            [&] { return "owned_ids[" + std::to_string(i) + "] is " + std::to_string(ids[i]); });
    if (!runs.empty() && runs.back().first + runs.back().count == ids[i])
      ++runs.back().count;
    else
      runs.push_back({ids[i], 1, i});
  }
  return runs;
}

GridHalo grid_halo_of(int ndims, const int* dims, const int* extents, const int* widths, const int* periods,
                      int corners, Rank ranks) {
  require(ndims >= 1, ErrorKind::argument, [&] { return "ndims is " + std::to_string(ndims); });
  require_pointer(extents, "extents");
  require_pointer(widths, "widths");
  require_pointer(periods, "periods");
  const auto n = static_cast<std::size_t>(ndims);
  GridHalo grid;
  grid.dims = grid_of(ranks, dims == nullptr ? std::vector<int>(n, 0) : std::vector<int>(dims, dims + n));
  grid.extents.assign(extents, extents + n);
  grid.widths.assign(widths, widths + n);
  grid.corners = corners != 0;
  for (std::size_t d = 0; d < n; ++d) {
    const std::string place = "[" + std::to_string(d) + "] is ";
    require(extents[d] >= 1, ErrorKind::argument, "extents" + place + std::to_string(extents[d]));
    require(widths[d] >= 0 && widths[d] <= extents[d], ErrorKind::argument,
            "widths" + place + std::to_string(widths[d]) + " where extents" + place + std::to_string(extents[d]));
    grid.periods.push_back(periods[d] != 0);
  }
  return grid;
}

/// A halo's elements of several arrays, a datatype for each neighbour, counted in bytes from the first array.
class FieldTypes {
 public:
  FieldTypes(const ElementLists& lists, int fields, void* const arrays[], const MPI_Datatype types[])
      : counts_(lists.ranks.size(), 1), displacements_(lists.ranks.size(), 0) {
    MPI_Count begin = 0;
    for (const MPI_Count count : lists.counts) {
      std::vector<MadeType> made;
      std::vector<MPI_Datatype> parts;
      std::vector<MPI_Aint> places;
      for (int field = 0; field < fields; ++field) {
        parts.push_back(made.emplace_back(elements_of(lists.elements.data() + begin, count, types[field])).get());
        places.push_back(MPI_Aint(static_cast<const char*>(arrays[field]) - static_cast<const char*>(arrays[0])));
      }
      const std::vector<int> ones(parts.size(), 1);
      MadeType& all = made_.emplace_back();
      check_mpi(MPI_Type_create_struct(fields, ones.data(), places.data(), parts.data(), all.place()),
                "MPI_Type_create_struct");
      check_mpi(MPI_Type_commit(all.place()), "MPI_Type_commit");
      types_.push_back(all.get());
      begin += count;
    }
  }

  [[nodiscard]] SideArguments side() const {
    return {.counts = counts_.data(), .displacements = displacements_.data(), .types = types_.data()};
  }

 private:
  static MadeType elements_of(const MPI_Count* indices, MPI_Count count, MPI_Datatype type) {
    MPI_Aint lower = 0, extent = 0;
    check_mpi(MPI_Type_get_extent(type, &lower, &extent), "MPI_Type_get_extent");
    std::vector<int> lengths;
    std::vector<MPI_Aint> places;
    for (MPI_Count i = 0; i < count; ++i) {
      if (i > 0 && indices[i] == indices[i - 1] + 1 && lengths.back() < INT_MAX) {
        ++lengths.back();
        continue;
      }
      lengths.push_back(1);
      places.push_back(static_cast<MPI_Aint>(indices[i]) * extent);
    }
    require(lengths.size() <= INT_MAX, ErrorKind::unsupported, "more than 2^31 blocks for one neighbor");
    MadeType made;
    check_mpi(
        MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), places.data(), type, made.place()),
        "MPI_Type_create_hindexed");
    return made;
  }

  std::vector<MPI_Count> counts_;
  std::vector<MPI_Aint> displacements_;
  std::vector<MPI_Datatype> types_;
  std::vector<MadeType> made_;
};

/// Where a rank has no elements, its arrays need not be any.
std::string problem_of_fields(int fields, void* const arrays[], const MPI_Datatype types[], MPI_Count elements) {
  if (fields < 1) return "fields is " + std::to_string(fields);
  if (arrays == nullptr) return "arrays is NULL";
  if (types == nullptr) return "types is NULL";
  for (int i = 0; i < fields; ++i) {
    if (arrays[i] == nullptr && elements > 0) return "arrays[" + std::to_string(i) + "] is NULL";
    if (types[i] == MPI_DATATYPE_NULL) return "types[" + std::to_string(i) + "] is MPI_DATATYPE_NULL";
  }
  return {};
}

/// Calls `make` with a call of `kind`, from `sent` to `received`, on arrays of `elements`.
template <class Make>
void with_fields(Kind kind, const ElementLists& sent, const ElementLists& received, MPI_Count elements, int fields,
                 void* const arrays[], const MPI_Datatype types[], Make&& make) {
  static char no_elements = 0;
  Call call{.kind = kind, .send = {}, .receive = {}};
  std::optional<FieldTypes> out, in;
  std::string problem = problem_of_fields(fields, arrays, types, elements);
  try {
    if (problem.empty()) {
      out.emplace(sent, fields, arrays, types);
      in.emplace(received, fields, arrays, types);
      call.sendbuf = call.recvbuf = arrays[0] != nullptr ? arrays[0] : &no_elements;
      call.send = out->side();
      call.receive = in->side();
    }
  } catch (const std::exception& error) {
    problem = error.what();
  }
  if (!problem.empty()) call.fault = problem.c_str();
  make(call);
}

void give_lists(const ElementLists& lists, int* neighbors, const int** ranks, const MPI_Count** counts,
                const MPI_Count** elements) {
  if (neighbors != nullptr) *neighbors = static_cast<int>(lists.ranks.size());
  if (ranks != nullptr) *ranks = lists.ranks.data();
  if (counts != nullptr) *counts = lists.counts.data();
  if (elements != nullptr) *elements = lists.elements.data();
}

/// Of a null handle an error on MPI_COMM_WORLD; others have an error handler of their own.
template <class Run>
int with_halo(const char* name, LNW_Halo halo, Run&& run) {
  int code = MPI_SUCCESS;
  const int own = guarded(name, MPI_COMM_WORLD, [&] { code = run(halo_of(halo).lists); });
  return own != MPI_SUCCESS ? own : code;
}

}  // namespace

int LNW_Halo_create(MPI_Comm comm, MPI_Count first, MPI_Count owned, MPI_Count ghosts, const MPI_Count ghost_ids[],
                    MPI_Info info, LNW_Halo* halo) {
  return guarded(__func__, comm, [&] {
    make_halo(comm, owned, ghosts, ghost_ids, info, halo, [&] {
      require(first >= 0 && first <= most_elements, ErrorKind::argument,
              [&] { return "first is " + std::to_string(first); });
      require(owned >= 0 && owned <= most_elements, ErrorKind::count,
              [&] { return "owned is " + std::to_string(owned); });
      return std::vector<NumberedRun>{{first, owned, 0}};
    });
  });
}

int LNW_Halo_create_from_ids(MPI_Comm comm, MPI_Count owned, const MPI_Count owned_ids[], MPI_Count ghosts,
                             const MPI_Count ghost_ids[], MPI_Info info, LNW_Halo* halo) {
  return guarded(__func__, comm, [&] {
    make_halo(comm, owned, ghosts, ghost_ids, info, halo, [&] {
      check_numbers(owned, "owned", owned_ids, "owned_ids");
      return runs_of(owned, owned_ids);
    });
  });
}

int LNW_Halo_create_cart(MPI_Comm comm, int ndims, const int dims[], const int extents[], const int widths[],
                         const int periods[], int corners, MPI_Info info, LNW_Halo* halo) {
  return guarded(__func__, comm, [&] {
    Communicator& communicator = Communicator::of(comm);
    GridHalo grid;
    const std::exception_ptr failure = failure_of([&] {
      require_pointer(halo, "halo");
      grid = grid_halo_of(ndims, dims, extents, widths, periods, corners, communicator.ranks());
    });
    *halo = new LNW_Halo_s{halo_of_grid(communicator, grid, info, failure)};
  });
}

int LNW_Halo_get_count(LNW_Halo halo, MPI_Count* owned, MPI_Count* elements) {
  return guarded(__func__, MPI_COMM_WORLD, [&] {
    const HaloLists& lists = halo_of(halo).lists;
    if (owned != nullptr) *owned = lists.owned;
    if (elements != nullptr) *elements = lists.size;
  });
}

int LNW_Halo_get_sent(LNW_Halo halo, int* neighbors, const int** ranks, const MPI_Count** counts,
                      const MPI_Count** elements) {
  return guarded(__func__, MPI_COMM_WORLD,
                 [&] { give_lists(halo_of(halo).lists.sent, neighbors, ranks, counts, elements); });
}

int LNW_Halo_get_received(LNW_Halo halo, int* neighbors, const int** ranks, const MPI_Count** counts,
                          const MPI_Count** elements) {
  return guarded(__func__, MPI_COMM_WORLD,
                 [&] { give_lists(halo_of(halo).lists.received, neighbors, ranks, counts, elements); });
}

int LNW_Halo_get_cart(LNW_Halo halo, int maxdims, int dims[], int coords[]) {
  return guarded(__func__, MPI_COMM_WORLD, [&] {
    const HaloLists& lists = halo_of(halo).lists;
    require(!lists.dims.empty(), ErrorKind::topology, "halo is not of a grid");
    require(maxdims >= 0, ErrorKind::argument, [&] { return "maxdims is " + std::to_string(maxdims); });
    const std::size_t n = std::min(lists.dims.size(), static_cast<std::size_t>(maxdims));
    if (dims != nullptr) std::copy_n(lists.dims.begin(), n, dims);
    if (coords != nullptr) std::copy_n(lists.coords.begin(), n, coords);
  });
}

int LNW_Halo_init(LNW_Halo halo, void* array, MPI_Datatype type, MPI_Info info, LNW_Request* request) {
  const char* const name = __func__;
  return with_halo(name, halo, [&](const HaloLists& lists) {
    return persistent(name, halo_topology(lists.there), info, request,
                      {.kind = Kind::alltoallv_indexed,
                       .sendbuf = array,
                       .recvbuf = array,
                       .send = side_of(lists.sent, lists.size, type),
                       .receive = side_of(lists.received, lists.size, type),
                       .sendbuf_name = "array",
                       .recvbuf_name = "array"});
  });
}

int LNW_Halo_reverse_init(LNW_Halo halo, void* array, MPI_Datatype type, MPI_Op op, MPI_Info info,
                          LNW_Request* request) {
  const char* const name = __func__;
  return with_halo(name, halo, [&](const HaloLists& lists) {
    return persistent(name, halo_topology(lists.back), info, request,
                      {.kind = Kind::reducev_indexed,
                       .sendbuf = array,
                       .recvbuf = array,
                       .send = side_of(lists.received, lists.size, type),
                       .receive = side_of(lists.sent, lists.size, type),
                       .op = op,
                       .sendbuf_name = "array",
                       .recvbuf_name = "array"});
  });
}

int LNW_Halo_init_fields(LNW_Halo halo, int fields, void* const arrays[], const MPI_Datatype types[], MPI_Info info,
                         LNW_Request* request) {
  const char* const name = __func__;
  return with_halo(name, halo, [&](const HaloLists& lists) {
    int code = MPI_SUCCESS;
    with_fields(Kind::alltoallw, lists.sent, lists.received, lists.size, fields, arrays, types,
                [&](const Call& call) { code = persistent(name, halo_topology(lists.there), info, request, call); });
    return code;
  });
}

int LNW_Halo_reverse_init_fields(LNW_Halo halo, int fields, void* const arrays[], const MPI_Datatype types[], MPI_Op op,
                                 MPI_Info info, LNW_Request* request) {
  const char* const name = __func__;
  return with_halo(name, halo, [&](const HaloLists& lists) {
    int code = MPI_SUCCESS;
    with_fields(Kind::reducew, lists.received, lists.sent, lists.size, fields, arrays, types, [&](Call call) {
      call.op = op;
      code = persistent(name, halo_topology(lists.back), info, request, call);
    });
    return code;
  });
}

int LNW_Halo_free(LNW_Halo* halo) {
  return guarded(__func__, MPI_COMM_WORLD, [&] {
    require_pointer(halo, "halo");
    delete &halo_of(*halo);
    *halo = LNW_HALO_NULL;
  });
}
