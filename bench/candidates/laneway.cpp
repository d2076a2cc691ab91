#include <laneway/laneway.h>

#include <array>
#include <initializer_list>
#include <sstream>
#include <string_view>
#include <utility>

#include "candidates/candidates.hpp"
#include "candidates/reductions.hpp"
#include "plan/plan.hpp"

namespace laneway::bench {

namespace {

/// An MPI_Info with the entries that are not empty.
class InfoHints {
 public:
  InfoHints(std::initializer_list<std::pair<const char*, const std::string&>> entries) {
    MPI_Info_create(&info_);
    for (const auto& [key, value] : entries)
      if (!value.empty()) MPI_Info_set(info_, key, value.c_str());
  }
  ~InfoHints() { MPI_Info_free(&info_); }
  InfoHints(const InfoHints&) = delete;
  InfoHints& operator=(const InfoHints&) = delete;

  [[nodiscard]] MPI_Info get() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

class Laneway final : public Candidate {
 public:
  /// Backwards: see make_reduction.
  Laneway(const std::string& strategy, const Task& task, bool backwards) : is_backwards_(backwards) {
    const Exchange& exchange = task.exchange;
    const std::vector<Rank>& sources = (backwards ? exchange.send : exchange.receive).peers;
    const std::vector<Rank>& destinations = (backwards ? exchange.receive : exchange.send).peers;
    const InfoHints machine{{"lnw_machine", task.run.machine}};
    LNW_Dist_graph_create_adjacent(task.run.comm, static_cast<int>(sources.size()), sources.data(), MPI_UNWEIGHTED,
                                   static_cast<int>(destinations.size()), destinations.data(), MPI_UNWEIGHTED,
                                   machine.get(), 0, &comm_);
    const double begin = MPI_Wtime();
    if (backwards)
      init_backwards(strategy, task);
    else
      init(strategy, task);
    init_seconds_ = MPI_Wtime() - begin;
  }
  ~Laneway() override {
    LNW_Request_free(&request_);
    MPI_Comm_free(&comm_);
  }
  Laneway(const Laneway&) = delete;
  Laneway& operator=(const Laneway&) = delete;

  void init(const std::string& strategy, const Task& task) {
    const Exchange& exchange = task.exchange;
    const InfoHints hints{{"lnw_strategy", strategy}, {"lnw_progress", task.progress}, {"lnw_memory_path", task.path}};
    std::byte* send = task.buffers.send.data();
    std::byte* receive = task.buffers.receive.data();
    if (exchange.indexed) {
      const ElementType element(exchange.element_bytes);
      const std::vector<MPI_Count> send_indices(exchange.send.indices.begin(), exchange.send.indices.end());
      const std::vector<MPI_Count> receive_indices(exchange.receive.indices.begin(), exchange.receive.indices.end());
      LNW_Neighbor_alltoallv_init_indexed(
          send, static_cast<MPI_Count>(exchange.send.labels.size()), exchange.send.counts.data(), send_indices.data(),
          element.get(), receive, static_cast<MPI_Count>(exchange.receive.labels.size()),
          exchange.receive.counts.data(), receive_indices.data(), element.get(), comm_, hints.get(), &request_);
      return;
    }
    const auto bytes = static_cast<int>(exchange.send_bytes());
    const Blocks blocks(task);
    switch (exchange.op) {
      case Op::allgather:
        LNW_Neighbor_allgather_init(send, bytes, MPI_BYTE, receive, bytes, MPI_BYTE, comm_, hints.get(), &request_);
        break;
      case Op::allgatherv:
        LNW_Neighbor_allgatherv_init(send, bytes, MPI_BYTE, receive, blocks.receive_counts.data(),
                                     blocks.receive_displacements.data(), MPI_BYTE, comm_, hints.get(), &request_);
        break;
      case Op::alltoallv:
        LNW_Neighbor_alltoallv_init(send, blocks.send_counts.data(), blocks.send_displacements.data(), MPI_BYTE,
                                    receive, blocks.receive_counts.data(), blocks.receive_displacements.data(),
                                    MPI_BYTE, comm_, hints.get(), &request_);
        break;
      default:
        break;
    }
  }

  void init_backwards(const std::string& strategy, const Task& task) {
    const Exchange& exchange = task.exchange;
    const InfoHints hints{{"lnw_strategy", strategy}, {"lnw_progress", task.progress}};
    MPI_Datatype element = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(static_cast<int>(exchange.element_bytes / static_cast<std::int64_t>(sizeof(double))),
                        MPI_DOUBLE, &element);
    MPI_Type_commit(&element);
    const std::vector<MPI_Count> from(exchange.receive.indices.begin(), exchange.receive.indices.end());
    const std::vector<MPI_Count> to(exchange.send.indices.begin(), exchange.send.indices.end());
    LNW_Neighbor_reducev_init_indexed(task.buffers.receive.data(),
                                      static_cast<MPI_Count>(exchange.receive.labels.size()),
                                      exchange.receive.counts.data(), from.data(), element, task.buffers.send.data(),
                                      static_cast<MPI_Count>(exchange.send.labels.size()), exchange.send.counts.data(),
                                      to.data(), element, MPI_SUM, comm_, hints.get(), &request_);
    MPI_Type_free(&element);
  }

  [[nodiscard]] std::optional<bool> verify(const Task& task, std::uint64_t salt) override {
    return is_backwards_ ? std::optional(adds_up(task, salt, *this)) : std::nullopt;
  }
  [[nodiscard]] std::optional<double> init_seconds() const override { return init_seconds_; }

  void start() override { LNW_Start(&request_); }
  bool test() override {
    int flag = 0;
    LNW_Test(&request_, &flag, MPI_STATUS_IGNORE);
    return flag != 0;
  }
  void wait() override { LNW_Wait(&request_, MPI_STATUS_IGNORE); }

  [[nodiscard]] std::optional<std::vector<Message>> messages() const override {
    MPI_Count length = 0;
    LNW_Request_get_plan(request_, nullptr, 0, &length);
    std::string text(static_cast<std::size_t>(length) + 1, '\0');
    LNW_Request_get_plan(request_, text.data(), length + 1, &length);
    text.pop_back();
    return bench::messages(plan_from_json(text));
  }

  [[nodiscard]] std::optional<RankTraffic> traffic() const override {
    LNW_Request_statistics statistics;
    LNW_Request_get_statistics(request_, &statistics);
    return RankTraffic{statistics.net_messages, statistics.net_bytes, statistics.messages - statistics.net_messages,
                       statistics.bytes - statistics.net_bytes};
  }

  [[nodiscard]] std::optional<Choice> choice() const override {
    MPI_Info info = MPI_INFO_NULL;
    LNW_Request_get_info(request_, &info);
    Choice choice;
    int keys = 0;
    MPI_Info_get_nkeys(info, &keys);
    for (int i = 0; i < keys; ++i) {
      std::array<char, MPI_MAX_INFO_KEY + 1> key{};
      std::array<char, MPI_MAX_INFO_VAL + 1> value{};
      int found = 0;
      MPI_Info_get_nthkey(info, i, key.data());
      MPI_Info_get(info, key.data(), MPI_MAX_INFO_VAL, value.data(), &found);
      constexpr std::string_view cost = "lnw_cost_";
      const std::string_view name = key.data();
      if (name.starts_with(cost)) {
        std::istringstream numbers(value.data());
        std::vector<double>& predicted = choice.predicted[std::string(name.substr(cost.size()))];
        for (double seconds = 0; numbers >> seconds;) predicted.push_back(seconds);
      }
      if (name == "lnw_strategy") choice.strategy = value.data();
    }
    MPI_Info_free(&info);
    if (choice.predicted.empty()) return std::nullopt;
    return choice;
  }

  [[nodiscard]] std::optional<MemoryUse> memory() const override {
    LNW_Request_statistics statistics;
    LNW_Request_get_statistics(request_, &statistics);
    return MemoryUse{statistics.staging_bytes, statistics.window_bytes, statistics.metadata_bytes};
  }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  LNW_Request request_ = LNW_REQUEST_NULL;
  double init_seconds_ = 0;
  bool is_backwards_;
};

}  // namespace

std::unique_ptr<Candidate> make_strategy(const std::string& name, const Task& task) {
  return std::make_unique<Laneway>(name, task, false);
}

std::unique_ptr<Candidate> make_reduction(const std::string& strategy, const Task& task) {
  return std::make_unique<Laneway>(strategy, task, true);
}

}  // namespace laneway::bench
