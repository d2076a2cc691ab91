// Algorithms of Open MPI, each on a communicator of its own. A communicator keeps what `coll_tuned_*_algorithm` says
// when it is made, and MPI_T can write these variables while a program runs. `han` is another component: a communicator
// prefers it by a key of its info, where its priority lets it be there at all.
#include <mpi.h>

#include <array>
#include <cstdlib>

#include "base/simulated.hpp"
#include "candidates/dense.hpp"

namespace laneway::bench {

void allow_forced_algorithms() {
#ifdef LANEWAY_HAVE_MPI_T
  setenv("OMPI_MCA_coll_tuned_use_dynamic_rules", "1", 0);
  setenv("OMPI_MCA_coll_han_priority", "1", 0);
#endif
}

#ifdef LANEWAY_HAVE_MPI_T
ForcedAlgorithms::ForcedAlgorithms() {
  int provided = 0;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
}
ForcedAlgorithms::~ForcedAlgorithms() {
  MPI_T_finalize();
}

namespace {

/// A variable of the MPI library that has a number of an algorithm; not there in others.
class AlgorithmVariable {
 public:
  explicit AlgorithmVariable(DenseKind kind) {
    const std::string name = std::string("coll_tuned_") + laneway::name(kind) + "_algorithm";
    int index = 0;
    if (MPI_T_cvar_get_index(name.c_str(), &index) != MPI_SUCCESS) return;
    int length = 0, description = 0, verbosity = 0, bind = 0, scope = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_T_cvar_get_info(index, nullptr, &length, &verbosity, &type, &names_, nullptr, &description, &bind, &scope);
    if (names_ == MPI_T_ENUM_NULL) return;
    int count = 0;
    is_there_ = MPI_T_cvar_handle_alloc(index, nullptr, &handle_, &count) == MPI_SUCCESS;
  }
  ~AlgorithmVariable() {
    if (is_there_) MPI_T_cvar_handle_free(&handle_);
  }
  AlgorithmVariable(const AlgorithmVariable&) = delete;
  AlgorithmVariable& operator=(const AlgorithmVariable&) = delete;

  /// Numbers and names, without the one that leaves the choice to the library.
  [[nodiscard]] std::vector<std::pair<int, std::string>> algorithms() const {
    std::vector<std::pair<int, std::string>> found;
    if (!is_there_) return found;
    int items = 0, length = 0;
    MPI_T_enum_get_info(names_, &items, nullptr, &length);
    for (int i = 0; i < items; ++i) {
      std::array<char, 128> text{};
      int size = text.size();
      int value = 0;
      MPI_T_enum_get_item(names_, i, &value, text.data(), &size);
      if (value != 0) found.emplace_back(value, text.data());
    }
    return found;
  }
  void write(int value) { MPI_T_cvar_write(handle_, &value); }

 private:
  MPI_T_enum names_ = MPI_T_ENUM_NULL;
  MPI_T_cvar_handle handle_ = MPI_T_CVAR_HANDLE_NULL;
  bool is_there_ = false;
};

class Forced final : public DenseCandidate {
 public:
  Forced(const DenseTask& task, MPI_Comm comm) : task_(task), comm_(comm) {}
  void run() override { call_mpi(task_, comm_); }

 private:
  const DenseTask& task_;
  MPI_Comm comm_;
};

MPI_Comm with_algorithm(const DenseTask& task, AlgorithmVariable& variable, int algorithm) {
  MPI_Comm comm = MPI_COMM_NULL;
  variable.write(algorithm);
  MPI_Comm_dup(task.run.comm, &comm);
  variable.write(0);
  return comm;
}

MPI_Comm with_component(const DenseTask& task, const char* component) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "ompi_comm_coll_preference", component);
  MPI_Comm_dup_with_info(task.run.comm, info, &comm);
  MPI_Info_free(&info);
  return comm;
}

/// What is right for two ranks alone, the library would refuse elsewhere.
bool is_for_two(const std::string& algorithm) {
  return algorithm == "two_proc";
}

std::vector<std::string> forced_names(DenseKind kind) {
  const AlgorithmVariable variable(kind);
  std::vector<std::string> names;
  for (const auto& [number, algorithm] : variable.algorithms())
    if (!is_for_two(algorithm)) names.push_back("mpi:" + algorithm);
  if (!names.empty() && kind != DenseKind::alltoall && kind != DenseKind::alltoallv &&
      kind != DenseKind::reduce_scatter)
    names.emplace_back("mpi:han");
  return names;
}

std::unique_ptr<DenseCandidate> make_forced(const std::string& name, const DenseTask& task) {
  AlgorithmVariable variable(task.dense.kind);
  if (variable.algorithms().empty()) return nullptr;
  const std::string key = laneway::name(task.dense.kind) + name;
  if (name == "mpi:han")
    return std::make_unique<Forced>(task, task.communicators.get(key, [&] { return with_component(task, "han"); }));
  for (const auto& [number, algorithm] : variable.algorithms()) {
    if (name != "mpi:" + algorithm) continue;
    const int value = number;
    return std::make_unique<Forced>(task,
                                    task.communicators.get(key, [&] { return with_algorithm(task, variable, value); }));
  }
  return nullptr;
}

}  // namespace

DenseMaker dense_mpi_forced() {
  return {"mpi", forced_names, make_forced};
}
#else
ForcedAlgorithms::ForcedAlgorithms() = default;
ForcedAlgorithms::~ForcedAlgorithms() = default;

DenseMaker dense_mpi_forced() {
  return {"mpi", [](DenseKind) { return std::vector<std::string>(); },
          [](const std::string&, const DenseTask&) -> std::unique_ptr<DenseCandidate> { return nullptr; }};
}
#endif

}  // namespace laneway::bench
