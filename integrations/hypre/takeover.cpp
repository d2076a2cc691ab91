#include "takeover.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "algorithms/trials/expected_exchanges.hpp"
#include "base/log_line.hpp"

namespace laneway::hypre {

namespace {

/// Exchanges of a kind that a package has before its plan is made. Making one takes about as long as so many exchanges,
/// and what has been used so often is expected to be used as often again.
constexpr std::int64_t default_after = 20;

/// Marks handles as ours: no request of hypre is here.
hypre_MPI_Request mark;

std::string_view environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view{} : value;
}

std::string_view reason(Outcome outcome) {
  switch (outcome) {
    case Outcome::one_rank:
      return "of one rank";
    case Outcome::other_caller:
      return "outside the products and smoothers of solvers (LANEWAY_HYPRE_CALLERS)";
    case Outcome::not_yet:
      return "among the first of their package (LANEWAY_HYPRE_AFTER)";
    case Outcome::on_trial:
      return "to compare hypre alone with plans (LANEWAY_HYPRE_TRIAL)";
    case Outcome::slower:
      return "of solvers that were no faster with plans (LANEWAY_HYPRE_TRIAL)";
    case Outcome::unknown_origin:
      return "of packages that were not seen being made";
    case Outcome::in_use:
      return "while another one of the same kind was active";
    case Outcome::not_on_host:
      return "with data in a device's memory";
    case Outcome::unknown_job:
      return "of unknown jobs";
    case Outcome::no_plan:
      return "that could not be planned";
    case Outcome::taken_over:
    case Outcome::count_:
      break;
  }
  return "";
}

std::string error_text(int code) {
  std::string text(MPI_MAX_ERROR_STRING, '\0');
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  text.resize(static_cast<std::size_t>(length));
  return text;
}

/// Errors of planning are not the program's: while this lives, they come back as codes.
class ReturnedErrors {
 public:
  explicit ReturnedErrors(MPI_Comm comm) : comm_(comm) {
    MPI_Comm_get_errhandler(comm_, &before_);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  }
  ~ReturnedErrors() {
    MPI_Comm_set_errhandler(comm_, before_);
    MPI_Errhandler_free(&before_);
  }
  ReturnedErrors(const ReturnedErrors&) = delete;
  ReturnedErrors& operator=(const ReturnedErrors&) = delete;

 private:
  MPI_Comm comm_;
  MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

/// The exchange may neither be left out nor done differently on this rank alone.
[[noreturn]] void abort_job(MPI_Comm comm, const std::string& what) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  log_line("hypre, rank " + std::to_string(rank) + ": " + what + " (LANEWAY_DISABLE=1 leaves all exchanges to hypre)");
  MPI_Abort(comm, MPI_ERR_OTHER);
  std::abort();
}

}  // namespace

struct Takeover::Lists {
  std::vector<HYPRE_Int> values;

  explicit Lists(const hypre_ParCSRCommPkg& package) {
    for_each(package, [&](const HYPRE_Int* from, HYPRE_Int count) {
      values.push_back(count);
      values.insert(values.end(), from, from + count);
      return true;
    });
  }
  [[nodiscard]] bool matches(const hypre_ParCSRCommPkg& package) const {
    const HYPRE_Int* at = values.data();
    const HYPRE_Int* const end = at + values.size();
    return for_each(package, [&](const HYPRE_Int* from, HYPRE_Int count) {
      if (end - at < 1 + count || *at != count) return false;
      if (count > 0 && std::memcmp(at + 1, from, static_cast<std::size_t>(count) * sizeof *from) != 0) return false;
      at += 1 + count;
      return true;
    });
  }

 private:
  template <class F>
  static bool for_each(const hypre_ParCSRCommPkg& package, F&& visit) {
    const HYPRE_Int sends = package.num_sends;
    const HYPRE_Int receives = package.num_recvs;
    return visit(package.send_procs, sends) && visit(package.recv_procs, receives) &&
           visit(package.send_map_starts, sends > 0 ? sends + 1 : 0) &&
           visit(package.recv_vec_starts, receives > 0 ? receives + 1 : 0) &&
           visit(package.send_map_elmts,
                 sends > 0 && package.send_map_elmts != nullptr ? package.send_map_starts[sends] : 0);
  }
};

struct Takeover::Plan {
  std::int64_t exchanges = 0;
  bool made = false;  // or tried to
  bool active = false;
  bool on_trial = false;
  bool lost = false;
  std::unique_ptr<const Lists> lists;
  LNW_Hypre_exchange exchange = LNW_HYPRE_EXCHANGE_NULL;

  Plan() = default;
  ~Plan() { LNW_Hypre_exchange_free(&exchange); }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  [[nodiscard]] bool usable() const { return exchange.request != LNW_REQUEST_NULL; }
  void lose() {
    lost = true;
    if (!active) LNW_Hypre_exchange_free(&exchange);
  }
};

thread_local Takeover::SolverTrial* Takeover::SolverTrial::current = nullptr;

void Takeover::SolverTrial::begin() {
  current = this;
  if (state_ == State::waits_for_plans) ready_ = true;
  uses_plans_ = state_ != State::runs || trial_.way() == 1;
  start_ = MPI_Wtime();
}

void Takeover::SolverTrial::end(MPI_Comm comm, HYPRE_Int iterations) {
  const double seconds = (MPI_Wtime() - start_) / std::max<HYPRE_Int>(1, iterations);
  current = nullptr;
  if (state_ == State::waits_for_plans && ready_ && !plans_.empty()) {
    state_ = State::runs;
    return;
  }
  if (state_ != State::runs) return;
  trial_.add(seconds);
  if (!trial_.is_due()) return;
  state_ = State::over;
  std::vector<double> both = trial_.typical();
  MPI_Allreduce(MPI_IN_PLACE, both.data(), 2, MPI_DOUBLE, MPI_SUM, comm);
  lost_ = trial_.decide(both) == 0;
  if (!lost_) return;
  for (const std::weak_ptr<Plan>& weak : plans_)
    if (const std::shared_ptr<Plan> plan = weak.lock()) plan->lose();
}

void Takeover::SolverTrial::add(const std::shared_ptr<Plan>& plan) {
  if (state_ == State::over || std::exchange(plan->on_trial, true)) return;
  plans_.push_back(plan);
}

std::shared_ptr<Takeover::SolverTrial> Takeover::trial_of(const void* solver) {
  if (!on_ || trial_.samples == 0) return nullptr;
  const std::lock_guard lock(mutex_);
  std::shared_ptr<SolverTrial>& trial = trials_[solver];
  if (!trial) trial = std::make_shared<SolverTrial>(trial_);
  return trial;
}

void Takeover::forget(const void* solver) {
  const std::lock_guard lock(mutex_);
  trials_.erase(solver);
}

/// What a handle of ours points to. It keeps the plan, since hypre lets a package be destroyed before the handle.
struct Takeover::Active {
  hypre_ParCSRCommHandle handle{};
  std::shared_ptr<Plan> plan;
  MPI_Comm comm = MPI_COMM_NULL;
};

Takeover& Takeover::instance() {
  static auto* const takeover = new Takeover;
  return *takeover;
}

Takeover::Takeover() : after_(default_after) {
  if (const std::string_view disable = environment("LANEWAY_DISABLE"); !disable.empty() && disable != "0")
    give_up("LANEWAY_DISABLE is set");
  if (const std::string_view callers = environment("LANEWAY_HYPRE_CALLERS"); callers == "all")
    least_caller_ = Caller::program;
  else if (callers == "products")
    least_caller_ = Caller::product;
  else if (!callers.empty() && callers != "solvers")
    give_up("LANEWAY_HYPRE_CALLERS is " + std::string(callers) + ", not solvers, products or all");
  read_count("LANEWAY_HYPRE_AFTER", after_);
  // Whoever names a strategy has chosen.
  if (const std::string_view strategy = environment("LANEWAY_STRATEGY"); !strategy.empty() && strategy != "auto")
    trial_.samples = 0;
  read_count("LANEWAY_HYPRE_TRIAL", trial_.samples);
}

void Takeover::read_count(const char* variable, std::int64_t& count) {
  const std::string_view text = environment(variable);
  if (text.empty()) return;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count < 0)
    give_up(std::string(variable) + " is " + std::string(text) + ", not a number of exchanges");
}

void Takeover::give_up(std::string reason) {
  on_ = false;
  off_because_ = std::move(reason);
}

void Takeover::made(const hypre_ParCSRCommPkg* package) {
  if (!on_) return;
  const std::lock_guard lock(mutex_);
  packages_[package] = {};
}

void Takeover::changed(const hypre_ParCSRCommPkg* package) {
  const std::lock_guard lock(mutex_);
  if (const auto found = packages_.find(package); found != packages_.end()) found->second = {};
}

void Takeover::destroyed(const hypre_ParCSRCommPkg* package) {
  const std::lock_guard lock(mutex_);
  packages_.erase(package);
}

Takeover::Package* Takeover::find(const hypre_ParCSRCommPkg* package) {
  const std::lock_guard lock(mutex_);
  const auto found = packages_.find(package);
  return found == packages_.end() ? nullptr : &found->second;
}

Outcome Takeover::prepare(const Exchange& exchange, std::shared_ptr<Plan>& plan) {
  const MPI_Comm comm = exchange.package->comm;
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  if (ranks < 2) return Outcome::one_rank;
  if (exchange.caller < least_caller_) return Outcome::other_caller;
  const std::size_t bytes = LNW_Hypre_value_bytes(exchange.job) * static_cast<std::size_t>(exchange.block_size);
  if (bytes == 0) return Outcome::unknown_job;
  if (!exchange.on_host) return Outcome::not_on_host;
  Package* const package = find(exchange.package);
  if (package == nullptr) return Outcome::unknown_origin;

  const bool transpose = LNW_Hypre_is_transpose(exchange.job) != 0;
  const Kind kind{transpose, !transpose && exchange.caller >= Caller::product, bytes};
  for (const auto& [known, its_plan] : package->plans)
    if (known == kind) plan = its_plan;
  if (!plan) plan = package->plans.emplace_back(kind, std::make_shared<Plan>()).second;
  if (plan->exchanges++ < after_) {
    if (SolverTrial::current != nullptr) SolverTrial::current->not_ready();
    return Outcome::not_yet;
  }
  if (plan->lost) return Outcome::slower;
  if (!plan->made) make(exchange, kind, *plan);
  if (!plan->usable()) return Outcome::no_plan;
  if (!plan->lists->matches(*exchange.package))
    abort_job(comm, "a communication package was changed in place by a function that is not known to do so");
  if (plan->active) return Outcome::in_use;
  if (SolverTrial::current == nullptr) return Outcome::taken_over;
  SolverTrial::current->add(plan);
  return SolverTrial::current->uses_plans() ? Outcome::taken_over : Outcome::on_trial;
}

void Takeover::make(const Exchange& exchange, Kind kind, Plan& plan) {
  plan.made = true;
  const ReturnedErrors errors(exchange.package->comm);
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  if (environment("LANEWAY_EXCHANGES").empty()) MPI_Info_set(info, "lnw_exchanges", exchanges_of_solvers);
  const int code =
      LNW_Hypre_exchange_init(exchange.job, exchange.block_size, exchange.package,
                              kind.deduplicates ? LNW_HYPRE_PACKED : LNW_HYPRE_ENTRIES, info, &plan.exchange);
  MPI_Info_free(&info);
  if (code != MPI_SUCCESS) {
    const std::string text = error_text(code);
    int rank = 0;
    MPI_Comm_rank(exchange.package->comm, &rank);
    const std::lock_guard lock(mutex_);
    if (rank == 0 && text != last_error_)
      log_line("hypre: an exchange is left to hypre, because it cannot be planned: " + text);
    last_error_ = text;
    return;
  }
  plan.lists = std::make_unique<const Lists>(*exchange.package);
  const char* strategy = nullptr;
  LNW_Request_get_strategy(plan.exchange.request, &strategy);
  const std::lock_guard lock(mutex_);
  ++strategies_[strategy];
}

hypre_ParCSRCommHandle* Takeover::start(const Exchange& exchange) {
  end_with_mpi();
  if (!on_) return nullptr;
  std::shared_ptr<Plan> plan;
  const bool lost = SolverTrial::current != nullptr && SolverTrial::current->lost();
  const Outcome outcome = lost ? Outcome::slower : prepare(exchange, plan);
  ++outcomes_[static_cast<std::size_t>(outcome)];
  if (outcome != Outcome::taken_over) return nullptr;
  auto* const active = new Active;
  active->comm = exchange.package->comm;
  active->plan = std::move(plan);
  active->plan->active = true;
  hypre_ParCSRCommHandle& handle = active->handle;
  handle.comm_pkg = const_cast<hypre_ParCSRCommPkg*>(exchange.package);
  handle.send_data = const_cast<void*>(exchange.send);
  handle.recv_data = exchange.receive;
  handle.requests = &mark;
  handle.send_data_buffer = active;
  if (const int code = LNW_Hypre_exchange_start(&active->plan->exchange, exchange.send); code != MPI_SUCCESS)
    abort_job(active->comm, error_text(code));
  return &handle;
}

bool Takeover::finish(hypre_ParCSRCommHandle* handle) {
  if (handle == nullptr || handle->requests != &mark) return false;
  const std::unique_ptr<Active> active(static_cast<Active*>(handle->send_data_buffer));
  if (const int code = LNW_Hypre_exchange_wait(&active->plan->exchange, handle->recv_data); code != MPI_SUCCESS)
    abort_job(active->comm, error_text(code));
  active->plan->active = false;
  return true;
}

void Takeover::end_with_mpi() {
  if (ends_with_mpi_.load(std::memory_order_relaxed) || ends_with_mpi_.exchange(true)) return;
  int key = MPI_KEYVAL_INVALID;
  const auto at_end = [](MPI_Comm, int, void*, void*) {
    instance().end();
    return MPI_SUCCESS;
  };
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_end, &key, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
  MPI_Comm_free_keyval(&key);
}

void Takeover::end() {
  const std::lock_guard lock(mutex_);
  packages_.clear();
  trials_.clear();
  on_ = false;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0 || !is_verbose("hypre")) return;
  if (!off_because_.empty()) return log_line("hypre, rank 0: all exchanges passed through: " + off_because_);
  std::int64_t plans = 0;
  std::string names;
  for (const auto& [strategy, count] : strategies_) {
    plans += count;
    names += (names.empty() ? ": " : ", ") + strategy + " " + std::to_string(count);
  }
  log_line("hypre, rank 0: " + std::to_string(outcomes_[static_cast<std::size_t>(Outcome::taken_over)]) +
           " exchanges taken over, by " + std::to_string(plans) + " plans" + names);
  for (std::size_t i = 1; i < outcomes_.size(); ++i)
    if (outcomes_[i] > 0)
      log_line("hypre, rank 0: " + std::to_string(outcomes_[i]) + " exchanges passed through " +
               std::string(reason(static_cast<Outcome>(i))));
}

}  // namespace laneway::hypre
