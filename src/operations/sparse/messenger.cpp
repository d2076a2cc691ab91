#include "operations/sparse/messenger.hpp"

#include <climits>
#include <cstring>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "mpi/check.hpp"
#include "plan/plan.hpp"

namespace laneway {

namespace {

/// Comes after the data, so that this need not be moved.
struct Trailer {
  std::uint32_t round;
  std::uint16_t step;
  std::uint8_t topic;
  std::uint8_t way;
};

}  // namespace

MpiMessenger::~MpiMessenger() {
  // After a failure MPI may still use what is here.
  auto posted = std::make_unique<Posted>();
  const auto keep = [&](auto& messages) {
    for (auto& message : messages) {
      if (message->request == MPI_REQUEST_NULL) continue;
      posted->control_messages.push_back({message->other, std::move(message->data)});
      posted->requests.push_back(message->request);
    }
  };
  keep(acknowledged_);
  keep(sending_);
  keep(receiving_);
  if (!posted->requests.empty()) comm_->keep(std::move(posted));
}

void MpiMessenger::send(Rank to, Topic topic, int step, Bytes data, bool acknowledged) {
  require(data.size() <= INT_MAX - sizeof(Trailer), ErrorKind::unsupported,
          "a message of discovery of more than 2 GiB");
  const Trailer trailer{round_, static_cast<std::uint16_t>(step), static_cast<std::uint8_t>(topic), way_};
  const auto* const bytes = reinterpret_cast<const std::byte*>(&trailer);
  data.insert(data.end(), bytes, bytes + sizeof trailer);
  auto& messages = acknowledged ? acknowledged_ : sending_;
  messages.push_back(std::make_unique<UnderWay>(UnderWay{std::move(data), MPI_REQUEST_NULL, to}));
  UnderWay& message = *messages.back();
  check_mpi((acknowledged ? MPI_Issend : MPI_Isend)(message.data.data(), static_cast<int>(message.data.size()),
                                                    MPI_BYTE, to, tag_, comm_->get(), &message.request),
            acknowledged ? "MPI_Issend" : "MPI_Isend");
  sent_to_.push_back(to);
}

bool MpiMessenger::complete(std::vector<std::unique_ptr<UnderWay>>& messages) {
  while (!messages.empty()) {
    int flag = 0;
    check_mpi(MPI_Test(&messages.back()->request, &flag, MPI_STATUS_IGNORE), "MPI_Test");
    if (flag == 0) return false;
    messages.pop_back();
  }
  return true;
}

std::optional<RoundMessage> MpiMessenger::take() {
  receive_probed(comm_->get(), tag_, receiving_);
  for (auto message = receiving_.begin(); message != receiving_.end();) {
    int flag = 0;
    check_mpi(MPI_Test(&(*message)->request, &flag, MPI_STATUS_IGNORE), "MPI_Test");
    if (flag == 0) {
      ++message;
      continue;
    }
    UnderWay here = std::move(**message);
    message = receiving_.erase(message);
    if (std::optional<RoundMessage> incoming = open(std::move(here))) return incoming;
  }
  return std::nullopt;
}

/// Nothing where the sender does it another way.
std::optional<RoundMessage> MpiMessenger::open(UnderWay message) {
  Trailer trailer;
  LANEWAY_ASSERT(message.data.size() >= sizeof trailer);
  const std::size_t bytes = message.data.size() - sizeof trailer;
  std::memcpy(&trailer, message.data.data() + bytes, sizeof trailer);
  message.data.resize(bytes);
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
