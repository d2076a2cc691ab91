#include <laneway/laneway.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <tuple>

#include "algorithms/collective/rules.hpp"
#include "base/simulated.hpp"
#include "candidates/dense/operations.hpp"

namespace laneway::bench {

namespace {

/// Orders of combining, in place of a rule.
constexpr std::array<std::string_view, 2> orders = {"canonical", "exact"};

bool is_order(std::string_view rule) {
  return std::ranges::find(orders, rule) != orders.end();
}

/// Hints: which rule, and the nodes to assume.
class DenseHints {
 public:
  DenseHints(const std::string& rule, const DenseTask& task) {
    MPI_Info_create(&info_);
    MPI_Info_set(info_, is_order(rule) ? "lnw_order" : "lnw_collective", rule.c_str());
    if (!task.run.machine.empty()) MPI_Info_set(info_, "lnw_machine", task.run.machine.c_str());
    // Nothing else can pass anything on where ranks are simulated, and in windows all ranks wait for each other.
    if (simulated || rule.starts_with("rma_")) MPI_Info_set(info_, "lnw_progress", "wait");
  }
  ~DenseHints() { MPI_Info_free(&info_); }
  DenseHints(const DenseHints&) = delete;
  DenseHints& operator=(const DenseHints&) = delete;

  [[nodiscard]] MPI_Info get() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

/// An environment variable, until this goes.
class EnvironmentVariable {
 public:
  EnvironmentVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* const found = std::getenv(name)) before_ = found;
    if (!value.empty()) setenv(name, value.c_str(), 1);
  }
  ~EnvironmentVariable() {
    if (before_)
      setenv(name_, before_->c_str(), 1);
    else
      unsetenv(name_);
  }
  EnvironmentVariable(const EnvironmentVariable&) = delete;
  EnvironmentVariable& operator=(const EnvironmentVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

/// A communicator on which blocking calls go by a rule. They take no hints: these are read from the environment in the
/// first one.
MPI_Comm with_rule(const std::string& rule, const DenseTask& task) {
  const EnvironmentVariable collective(is_order(rule) ? "LANEWAY_ORDER" : "LANEWAY_COLLECTIVE", rule);
  const EnvironmentVariable machine("LANEWAY_MACHINE", task.run.machine);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(task.run.comm, &comm);
  LNW_Barrier(comm);
  return comm;
}

/// Blocking, nonblocking, persistent.
struct LanewayForms {
  static constexpr auto alltoall = std::make_tuple(LNW_Alltoall, LNW_Ialltoall, LNW_Alltoall_init);
  static constexpr auto alltoallv = std::make_tuple(LNW_Alltoallv, LNW_Ialltoallv, LNW_Alltoallv_init);
  static constexpr auto allgather = std::make_tuple(LNW_Allgather, LNW_Iallgather, LNW_Allgather_init);
  static constexpr auto gather = std::make_tuple(LNW_Gather, LNW_Igather, LNW_Gather_init);
  static constexpr auto scatter = std::make_tuple(LNW_Scatter, LNW_Iscatter, LNW_Scatter_init);
  static constexpr auto bcast = std::make_tuple(LNW_Bcast, LNW_Ibcast, LNW_Bcast_init);
  static constexpr auto reduce = std::make_tuple(LNW_Reduce, LNW_Ireduce, LNW_Reduce_init);
  static constexpr auto allreduce = std::make_tuple(LNW_Allreduce, LNW_Iallreduce, LNW_Allreduce_init);
  static constexpr auto reduce_scatter =
      std::make_tuple(LNW_Reduce_scatter, LNW_Ireduce_scatter, LNW_Reduce_scatter_init);
  static constexpr auto barrier = std::make_tuple(LNW_Barrier, LNW_Ibarrier, LNW_Barrier_init);
};

class LanewayBlocking final : public DenseCandidate {
 public:
  /// Calls of all sizes are made on one communicator, as in a program.
  LanewayBlocking(const std::string& rule, const DenseTask& task)
      : task_(task), rule_(rule), comm_(task.communicators.get(rule, [&] { return with_rule(rule, task); })) {}

  [[nodiscard]] std::string choice() const override;

  void run() override {
    with_operation<LanewayForms>(
        task_, [&](const auto& forms, auto... arguments) { std::get<0>(forms)(arguments..., comm_); });
  }

 private:
  const DenseTask& task_;
  std::string rule_;
  MPI_Comm comm_;
};

/// Begun and waited for at once: what a program does in between is not timed.
class LanewayNonblocking final : public DenseCandidate {
 public:
  LanewayNonblocking(const std::string& rule, const DenseTask& task)
      : task_(task), comm_(task.communicators.get(rule, [&] { return with_rule(rule, task); })) {}

  void run() override {
    LNW_Request request = LNW_REQUEST_NULL;
    with_operation<LanewayForms>(
        task_, [&](const auto& forms, auto... arguments) { std::get<1>(forms)(arguments..., comm_, &request); });
    LNW_Wait(&request, MPI_STATUS_IGNORE);
  }

 private:
  const DenseTask& task_;
  MPI_Comm comm_;
};

class LanewayPersistent final : public DenseCandidate {
 public:
  LanewayPersistent(const std::string& rule, const DenseTask& task) : LanewayPersistent(rule, task, task.run.comm) {}
  LanewayPersistent(const std::string& rule, const DenseTask& task, MPI_Comm comm) {
    const DenseHints hints(rule, task);
    with_operation<LanewayForms>(task, [&](const auto& forms, auto... arguments) {
      std::get<2>(forms)(arguments..., comm, hints.get(), &request_);
    });
  }
  ~LanewayPersistent() override { LNW_Request_free(&request_); }
  LanewayPersistent(const LanewayPersistent&) = delete;
  LanewayPersistent& operator=(const LanewayPersistent&) = delete;

  void run() override {
    LNW_Start(&request_);
    LNW_Wait(&request_, MPI_STATUS_IGNORE);
  }

  [[nodiscard]] std::string choice() const override {
    MPI_Info info = MPI_INFO_NULL;
    LNW_Request_get_info(request_, &info);
    std::array<char, MPI_MAX_INFO_VAL + 1> value{};
    int found = 0;
    MPI_Info_get(info, "lnw_strategy", MPI_MAX_INFO_VAL, value.data(), &found);
    MPI_Info_free(&info);
    return found != 0 ? value.data() : "";
  }

 private:
  LNW_Request request_ = LNW_REQUEST_NULL;
};

/// Blocking calls do not say it. A request of the same communicator has the verdict of their trial.
std::string LanewayBlocking::choice() const {
  return rule_ == "auto" ? LanewayPersistent(rule_, task_, comm_).choice() : std::string();
}

/// Forms that differ only in how blocks are described are one.
Dense family(DenseKind kind) {
  switch (kind) {
    case DenseKind::alltoall:
    case DenseKind::alltoallv:
      return Dense::alltoall;
    case DenseKind::allgather:
      return Dense::allgather;
    case DenseKind::gather:
      return Dense::gather;
    case DenseKind::scatter:
      return Dense::scatter;
    case DenseKind::bcast:
      return Dense::bcast;
    case DenseKind::reduce:
      return Dense::reduce;
    case DenseKind::allreduce:
      return Dense::allreduce;
    case DenseKind::reduce_scatter:
      return Dense::reduce_scatter;
    default:
      return Dense::barrier;
  }
}

/// After the name of a rule; without one a call blocks.
constexpr std::string_view persistent = ":persistent";
constexpr std::string_view nonblocking = ":nonblocking";

std::vector<std::string> rules_of(DenseKind kind) {
  std::vector<std::string> names{"auto"};
  for (const DenseRule& rule : dense_rules()) {
    const bool fits = kind != DenseKind::alltoallv || !rule.traits.equal_only;
    if (rule.kind == family(kind) && fits) names.emplace_back(rule.name);
  }
  if (reduces(family(kind))) names.insert(names.end(), orders.begin(), orders.end());
  return names;
}

std::vector<std::string> laneway_names(DenseKind kind) {
  std::vector<std::string> names = rules_of(kind);
  for (const std::string& name : rules_of(kind)) names.push_back(name + std::string(persistent));
  return names;
}

std::unique_ptr<DenseCandidate> make_laneway(const std::string& name, const DenseTask& task) {
  std::string_view form;
  for (const std::string_view one : {persistent, nonblocking})
    if (name.ends_with(one)) form = one;
  const std::string rule = name.substr(0, name.size() - form.size());
  for (const std::string& known : rules_of(task.dense.kind)) {
    if (known != rule) continue;
    // Simulated ranks share their environment, and virtual times of all forms are alike.
    if (form == persistent || simulated) return std::make_unique<LanewayPersistent>(rule, task);
    if (form == nonblocking) return std::make_unique<LanewayNonblocking>(rule, task);
    return std::make_unique<LanewayBlocking>(rule, task);
  }
  return nullptr;
}

}  // namespace

DenseMaker dense_laneway() {
  return {"laneway", laneway_names, make_laneway};
}

}  // namespace laneway::bench
