#pragma once

#include <mpi.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "algorithms/rendezvous/messenger.hpp"
#include "communicator/control/control_comm.hpp"
#include "communicator/private_comm.hpp"

namespace laneway {

/// The messages of one round, on a private communicator with a tag that no other round uses meanwhile.
class MpiMessenger final : public Messenger {
 public:
  /// `round` and `way` go with each message. What comes another way is not taken: then `differs()`.
  MpiMessenger(std::shared_ptr<PrivateComm> comm, int tag, std::uint32_t round, std::uint8_t way)
      : comm_(std::move(comm)), tag_(tag), round_(round), way_(way) {}

  [[nodiscard]] Rank rank() const override { return comm_->rank(); }
  [[nodiscard]] Rank size() const override { return comm_->size(); }
  using Messenger::send;
  void send(Rank to, Topic topic, int step, Bytes data, bool acknowledged) override;
  [[nodiscard]] bool all_taken() override { return acknowledged_.all_complete(); }
  [[nodiscard]] std::optional<RoundMessage> take() override;
  /// All ranks meet in it.
  void count_at(const std::vector<Rank>& ranks) override;
  [[nodiscard]] std::optional<int> counted() override { return counted_; }

  /// Nothing is under way from or to this rank, as far as it has begun.
  [[nodiscard]] bool idle() { return receiving_.empty() && acknowledged_.all_complete() && sending_.all_complete(); }
  [[nodiscard]] std::int64_t messages() const { return static_cast<std::int64_t>(sent_to_.size()); }
  /// @name Where ranks do not do the same
  /// @{
  [[nodiscard]] bool differs() const { return differs_; }
  [[nodiscard]] std::int64_t messages_to(Rank rank) const { return std::ranges::count(sent_to_, rank); }
  /// Messages that have come here, but for alarms.
  [[nodiscard]] std::int64_t come() const { return come_; }
  /// @}

 private:
  [[nodiscard]] std::optional<RoundMessage> open(MessageUnderWay message);

  std::shared_ptr<PrivateComm> comm_;
  int tag_;
  std::uint32_t round_;
  std::uint8_t way_;
  std::vector<Rank> sent_to_;  // of each message
  std::int64_t come_ = 0;
  bool differs_ = false;
  ControlMessages acknowledged_{*comm_};
  ControlMessages sending_{*comm_};
  ControlMessages receiving_{*comm_};
  std::optional<int> counted_;
};

}  // namespace laneway
