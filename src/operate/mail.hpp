#pragma once

#include <mpi.h>

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "comm/private_comm.hpp"
#include "discovery/post.hpp"
#include "operate/probed.hpp"

namespace laneway {

/// The messages of one round, on a private communicator with a tag that no other round uses meanwhile.
class MpiPost final : public Post {
 public:
  /// `round` and `finder` go with each message, and must be the same where it arrives.
  MpiPost(std::shared_ptr<PrivateComm> comm, int tag, std::uint32_t round, std::uint8_t finder)
      : comm_(std::move(comm)), tag_(tag), round_(round), finder_(finder) {}
  ~MpiPost() override;
  MpiPost(const MpiPost&) = delete;
  MpiPost& operator=(const MpiPost&) = delete;

  [[nodiscard]] Rank rank() const override { return comm_->rank(); }
  [[nodiscard]] Rank size() const override { return comm_->size(); }
  using Post::send;
  void send(Rank to, Topic topic, int step, Bytes data, bool acknowledged) override;
  [[nodiscard]] bool all_taken() override { return complete(acknowledged_); }
  [[nodiscard]] std::optional<Mail> take() override;
  /// All ranks meet in it.
  void count_at(const std::vector<Rank>& ranks) override;
  [[nodiscard]] std::optional<int> counted() override { return counted_; }

  /// Nothing is under way from or to this rank, as far as it has begun.
  [[nodiscard]] bool idle() { return receiving_.empty() && complete(acknowledged_) && complete(sending_); }
  [[nodiscard]] std::int64_t messages() const { return messages_; }

 private:
  [[nodiscard]] static bool complete(std::vector<std::unique_ptr<UnderWay>>& messages);
  [[nodiscard]] Mail open(UnderWay message) const;

  std::shared_ptr<PrivateComm> comm_;
  int tag_;
  std::uint32_t round_;
  std::uint8_t finder_;
  std::int64_t messages_ = 0;
  std::vector<std::unique_ptr<UnderWay>> acknowledged_;
  std::vector<std::unique_ptr<UnderWay>> sending_;
  std::deque<std::unique_ptr<UnderWay>> receiving_;
  std::optional<int> counted_;
};

}  // namespace laneway
