#include "operations/sparse/messenger.hpp"

#include <climits>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "mpi/check.hpp"
#include "plan/plan.hpp"
#include "runtime/carriers/rma/window.hpp"

namespace laneway {

namespace {

/// Comes after the data.
struct Trailer {
  std::uint32_t round;
  std::uint16_t step;
  std::uint8_t topic;
  std::uint8_t way;
};

}  // namespace

void MpiMessenger::send(Rank to, Topic topic, int step, Bytes data, bool acknowledged) {
  require(data.size() <= INT_MAX - sizeof(Trailer), ErrorKind::unsupported,
          "a message of discovery of more than 2 GiB");
  append(data, Trailer{round_, static_cast<std::uint16_t>(step), static_cast<std::uint8_t>(topic), way_});
  (acknowledged ? acknowledged_ : sending_).send(to, tag_, std::move(data), acknowledged);
  sent_to_.push_back(to);
}

std::optional<RoundMessage> MpiMessenger::take() {
  receiving_.receive(tag_);
  while (std::optional<MessageUnderWay> message = receiving_.take(false))
    if (std::optional<RoundMessage> incoming = open(std::move(*message))) return incoming;
  return std::nullopt;
}

/// Nothing where the sender does it another way.
std::optional<RoundMessage> MpiMessenger::open(MessageUnderWay message) {
  const auto trailer = take_trailer<Trailer>(message.data);
  LANEWAY_ASSERT(trailer.round == round_);
  const auto topic = static_cast<Topic>(trailer.topic);
  if (topic != Topic::alarm) {
    ++come_;
    differs_ = differs_ || trailer.way != way_;
    if (trailer.way != way_) return std::nullopt;
  }
  return RoundMessage{message.other, topic, trailer.step, std::move(message.data)};
}

/// All ranks know that all of them come here, without waiting for anything else. A window for this round alone: one
/// that stays would have to be freed together by ranks that free their communicators at different times.
void MpiMessenger::count_at(const std::vector<Rank>& ranks) {
  alignas(cache_line) int counter = 0;  // at the beginning of the window
  Window window;
  window.create(comm_->get(), &counter, sizeof counter, Window::Epochs::fence);
  const int one = 1;
  window.in_epoch([&] {
    for (const Rank rank : ranks) window.accumulate(rank, &one, MPI_INT, 0, MPI_SUM);
  });
  check_mpi(window.close(), "MPI_Win_free");
  counted_ = counter;
}

}  // namespace laneway
