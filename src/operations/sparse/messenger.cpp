#include "operations/sparse/messenger.hpp"

#include <climits>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "mpi/check.hpp"
#include "plan/plan.hpp"

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
  alignas(cache_line) int counter = 0;  // MPICH 4.0 over UCX takes windows to begin at multiples of 16 bytes
  MPI_Win window = MPI_WIN_NULL;
  check_mpi(MPI_Win_create(&counter, sizeof counter, sizeof counter, MPI_INFO_NULL, comm_->get(), &window),
            "MPI_Win_create");
  check_mpi(MPI_Win_fence(0, window), "MPI_Win_fence");
  const int one = 1;
  for (const Rank rank : ranks)
    check_mpi(MPI_Accumulate(&one, 1, MPI_INT, rank, 0, 1, MPI_INT, MPI_SUM, window), "MPI_Accumulate");
  check_mpi(MPI_Win_fence(MPI_MODE_NOSUCCEED, window), "MPI_Win_fence");
  check_mpi(MPI_Win_free(&window), "MPI_Win_free");
  counted_ = counter;
}

}  // namespace laneway
