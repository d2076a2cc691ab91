#include "support.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>

#include "algorithms/neighborhood/strategy.hpp"
#include "plan/memory_path.hpp"

namespace laneway::test {

int rank() {
  static const int value = [] {
    int r = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    return r;
  }();
  return value;
}

int size() {
  static const int value = [] {
    int s = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &s);
    return s;
  }();
  return value;
}

bool is_mpich() {
  static const bool value = [] {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0;
    MPI_Get_library_version(text, &length);
    return std::string(text).find("MPICH") != std::string::npos;
  }();
  return value;
}

bool long_tests() {
  const char* value = std::getenv("LANEWAY_TEST_LONG");
  return value && std::string(value) == "1";
}

Comm duplicate_of(MPI_Comm comm) {
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(comm, &copy);
  return Comm(copy);
}

int effort(int cases) {
  if (long_tests()) cases *= 4;
  if (is_mpich() && size() > 2) return std::max(1, cases / 16);
#ifdef LANEWAY_TEST_SANITIZED
  // The fewest ranks are those where leaks are looked for, with whole stacks of all allocations.
  return std::max(1, cases / (size() < 4 ? 36 : 12));
#else
  // More ranks are more nodes: strategies, operations and machines have gone together at fewer.
  return std::max(1, size() > 8 ? cases / 8 : size() > 5 ? cases / 3 : cases);
#endif
}

void MpiTest::SetUp() {
  MPI_Barrier(MPI_COMM_WORLD);
}

void MpiTest::TearDown() {
  const int mine = HasFailure() ? rank() : size();
  int first = mine;
  MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (first < size() && mine == size() && rank() == 0) ADD_FAILURE() << "failed on rank " << first;
}

std::string plan_text(LNW_Request request) {
  MPI_Count length = 0;
  EXPECT_MPI(LNW_Request_get_plan(request, nullptr, 0, &length));
  std::string text(static_cast<std::size_t>(length) + 1, '\0');
  EXPECT_MPI(LNW_Request_get_plan(request, text.data(), length + 1, &length));
  text.pop_back();
  return text;
}

std::uint64_t mix(std::initializer_list<std::uint64_t> values) {
  std::uint64_t hash = 0x9e3779b97f4a7c15ULL;
  for (std::uint64_t value : values) {
    hash ^= value + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2);
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9ULL;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebULL;
    hash ^= hash >> 31;
  }
  return hash;
}

int pick(Random& random, int least, int most) {
  return std::uniform_int_distribution<int>(least, most)(random);
}

Info::Info(const Hints& hints) {
  MPI_Info_create(&info_);
  for (const auto& [key, value] : hints) MPI_Info_set(info_, key.c_str(), value.c_str());
}

bool keeps_hints(MPI_Comm comm) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Comm_get_info(comm, &info);
  int keys = 0;
  MPI_Info_get_nkeys(info, &keys);
  bool is_kept = false;
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY + 1];
    MPI_Info_get_nthkey(info, i, key);
    is_kept = is_kept || std::string_view(key).starts_with("lnw_");
  }
  MPI_Info_free(&info);
  return is_kept;
}

/// `ranks` ranks as a grid, as square as it gets.
static std::string grid(int ranks) {
  int rows = 1;
  for (int n = 2; n * n <= ranks; ++n)
    if (ranks % n == 0) rows = n;
  return std::to_string(rows) + "x" + std::to_string(ranks / rows);
}

Hints Choice::hints(MPI_Comm comm) const {
  Hints result{{"lnw_strategy", strategy},
               {"lnw_deduplicate", deduplicate},
               {"lnw_transport", transport},
               {"lnw_memory_path", path}};
  if (!machine.empty()) result.emplace_back("lnw_machine", machine);
  if (on_grid) {
    int ranks = 0;
    MPI_Comm_size(comm, &ranks);
    result.emplace_back("lnw_grid", grid(ranks));
  }
  return result;
}

std::string Choice::text() const {
  return strategy + " deduplicate=" + deduplicate + " machine='" + machine + "' transport=" + transport;
}

std::vector<Choice> choices(const std::string& machine) {
  std::vector<Choice> result;
  for (const StrategyRow& row : strategies())
    for (const char* deduplicate : {"true", "false"}) {
      // Without relays there is nothing to deduplicate.
      if (!(row.traits.relays && row.traits.deduplicates) && deduplicate[0] == 'f') continue;
      result.push_back({std::string(row.name), deduplicate, machine, row.traits.needs == Traits::Needs::grid});
    }
  for (const char* levels :
       {"auto", "node:auto,rank:auto", "node:three_step,rank:direct", "node:direct,rank:three_step"})
    result.push_back({levels, "true", machine, false});
  static const char* const transports[] = {"auto", "node", "p2p"};
  for (std::size_t i = 0; i < result.size(); ++i) result[i].transport = transports[(i + machine.size()) % 3];
  const std::span<const MemoryPathRow> paths = memory_paths();
  const char* const only_path = std::getenv("LANEWAY_TEST_MEMORY_PATH");
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i].path = only_path != nullptr ? only_path : paths[(i / 3 + machine.size()) % paths.size()].name;
  return result;
}

std::string uneven_machine() {
  static const int nodes[] = {5, 3, 8, 1, 2};
  std::string text = "ranks:";
  int left = size();
  for (int i = 0; left > 0; ++i) {
    // Fewer than eight ranks would all be on the first two nodes.
    const int wanted = size() < 8 ? (i % 2 == 0 ? 2 : 1) : nodes[i % 5];
    const int node = std::min(left, wanted);
    text += (i > 0 ? "," : "") + std::to_string(node);
    left -= node;
  }
  return text;
}

std::vector<std::string> machines() {
  // Nodes need not be ranges of ranks.
  static const std::string scattered = [] {
    char path[] = "/tmp/laneway_machine_XXXXXX";
    if (rank() == 0) {
      const int file = mkstemp(path);
      if (file >= 0) {
        std::ofstream out(path);
        for (int r = 0; r < size(); ++r) out << "n" << (r * 7 + r / 3) % 3 << "\n";
        out.close();
        std::fclose(fdopen(file, "r"));
      }
    }
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    static std::string kept;
    kept = path;
    if (rank() == 0) std::atexit([] { std::remove(kept.c_str()); });
    return std::string("file:") + path;
  }();
  return {"", "node:* rank:2", "node:* rank:3", uneven_machine(), "node:* rank:1", scattered};
}

Shape random_shape(std::uint64_t seed, int rank, int size) {
  Shape shape;
  auto multiplicity = [&](int source, int destination) {
    const auto s = static_cast<std::uint64_t>(source);
    const auto d = static_cast<std::uint64_t>(destination);
    // 0: isolated; otherwise the rank's share of all possible edges, in eighths.
    const std::uint64_t from = mix({seed, 1, s}) % 8;
    const std::uint64_t to = mix({seed, 2, d}) % 8;
    if (from == 0 || to == 0) return 0;
    if (mix({seed, 3, s, d}) % 64 >= from * to + 8) return 0;
    return mix({seed, 4, s, d}) % 6 == 0 ? 2 : 1;
  };
  for (int other = 0; other < size; ++other) {
    for (int n = multiplicity(other, rank); n > 0; --n) shape.sources.push_back(other);
    for (int n = multiplicity(rank, other); n > 0; --n) shape.destinations.push_back(other);
  }
  Random random(static_cast<unsigned>(mix({seed, 5, static_cast<std::uint64_t>(rank)})));
  std::shuffle(shape.sources.begin(), shape.sources.end(), random);
  std::shuffle(shape.destinations.begin(), shape.destinations.end(), random);
  return shape;
}

Shape complete_shape(int size) {
  std::vector<int> all(static_cast<std::size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  return {all, all};
}

Shape ring_shape(int rank, int size) {
  const std::vector<int> both{(rank + size - 1) % size, (rank + 1) % size};
  return {both, {both[1], both[0]}};
}

Comm make_graph(MPI_Comm comm, const Shape& shape, MPI_Info info) {
  MPI_Comm graph = MPI_COMM_NULL;
  EXPECT_MPI(LNW_Dist_graph_create_adjacent(comm, static_cast<int>(shape.sources.size()), shape.sources.data(),
                                            MPI_UNWEIGHTED, static_cast<int>(shape.destinations.size()),
                                            shape.destinations.data(), MPI_UNWEIGHTED, info, 0, &graph));
  return Comm(graph);
}

std::string error_text(int code) {
  char text[MPI_MAX_ERROR_STRING + 1] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  return text;
}

int error_class(int code) {
  int result = MPI_ERR_LASTCODE;
  MPI_Error_class(code, &result);
  return result;
}

void expect_error_class(int code, int wanted) {
  if (is_mpich() && error_class(code) > MPI_ERR_LASTCODE) return;
  EXPECT_EQ(error_class(code), wanted) << error_text(code);
}

void expect_success(int code, const char* call, const char* file, int line) {
  if (code != MPI_SUCCESS) ADD_FAILURE_AT(file, line) << call << ": " << error_text(code);
}

}  // namespace laneway::test
