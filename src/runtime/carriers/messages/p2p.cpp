#include "runtime/carriers/messages/p2p.hpp"

#include <algorithm>
#include <climits>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/bytes/address.hpp"
#include "base/bytes/mix.hpp"
#include "base/error.hpp"
#include "base/simulated.hpp"
#include "mpi/check.hpp"
#include "mpi/made_type.hpp"
#include "mpi/quirks.hpp"
#include "plan/plan.hpp"
#include "runtime/carriers/elements.hpp"
#include "runtime/carriers/messages/advance.hpp"

namespace laneway {

namespace {

/// The text of the class: that of the code may be a stack of the library's functions.
[[noreturn]] void throw_message_error(int code, std::size_t index) {
  const int mpi_class = mpi_error_class(code);
  throw MessageError(static_cast<int>(index), mpi_error_text(mpi_class), mpi_class);
}

/// A datatype of so many elements where their number does not fit into an int; MPI_DATATYPE_NULL where it does.
class LargeType {
 public:
  LargeType(std::int64_t count, MPI_Datatype element) {
    if (count <= INT_MAX) return;
    constexpr std::int64_t chunk = 1 << 30;
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    check_mpi(MPI_Type_get_extent(element, &lower, &extent), "MPI_Type_get_extent");
    MadeType whole;
    MadeType chunks;
    check_mpi(MPI_Type_contiguous(static_cast<int>(chunk), element, whole.place()), "MPI_Type_contiguous");
    check_mpi(MPI_Type_contiguous(static_cast<int>(count / chunk), whole.get(), chunks.place()), "MPI_Type_contiguous");
    int lengths[2] = {1, static_cast<int>(count % chunk)};
    MPI_Aint displacements[2] = {0, static_cast<MPI_Aint>(count / chunk * chunk * extent)};
    MPI_Datatype types[2] = {chunks.get(), element};
    check_mpi(MPI_Type_create_struct(2, lengths, displacements, types, type_.place()), "MPI_Type_create_struct");
    check_mpi(MPI_Type_commit(type_.place()), "MPI_Type_commit");
  }

  [[nodiscard]] MPI_Datatype get() const { return type_.get(); }

 private:
  MadeType type_;
};

/// Messages up to this size leave the sender at once in every MPI library.
constexpr std::int64_t short_bytes = 4096;

/// Bytes that a receive of `bytes` claims. SMPI has a second queue, for receives that are shorter than what is under
/// way when it is sent, and gives a short message to a longer receive that was posted later but waits in the first
/// queue. With receives that are all so long there is one queue, in order. Only what was sent is written.
std::int64_t claimed_bytes(std::int64_t bytes) {
  return simulated ? std::max(bytes, simulated_eager_bytes()) : bytes;
}

class P2PEndpoint final : public Endpoint {
 public:
  /// `elements` may be null.
  P2PEndpoint(MPI_Comm comm, int tag_base, std::span<const Message> messages, const MessageElements* elements)
      : comm_(comm) {
    one_by_one_ = messages.size() <= 2 && std::all_of(messages.begin(), messages.end(), [](const Message& message) {
                    return message.bytes <= short_bytes;
                  });
    requests_.reserve(messages.size());
    starts_.reserve(messages.size());
    try {
      make_requests(tag_base, messages, elements);
    } catch (...) {
      free_requests();
      throw;
    }
    if constexpr (quirks.arrays_return_errors) statuses_.resize(messages.size());
    if constexpr (simulated) {
      under_way_now_.resize(messages.size());
      given_.resize(messages.size());
    }
    // MPI_Startall may start requests in any order, but those of one channel match in theirs.
    const bool repeats = std::ranges::any_of(messages, may_repeat, &Message::channel);
    std::map<std::tuple<bool, Rank, int>, std::size_t> next;  // the first one from here on, by channel
    std::size_t end = messages.size();                        // of the run
    for (std::size_t m = messages.size(); m-- > 0;) {
      if (requests_[m] == MPI_REQUEST_NULL) {
        end = m;
        continue;
      }
      if (repeats) {
        const auto [same, is_last] = next.try_emplace({messages[m].is_send, messages[m].peer, messages[m].channel}, m);
        if (!is_last) end = std::min(end, std::exchange(same->second, m));
      }
      starts_[m].run = static_cast<int>(end - m);
    }
  }

  void expect_poll() override {
    if constexpr (quirks.arrays_return_errors) return;
    keeps_list_ = true;
    under_way_.reserve(requests_.size());
  }

  void advance() override { advance_mpi(comm_); }

  ~P2PEndpoint() override {
    if (!mpi_is_finalized()) free_requests();
  }
  P2PEndpoint(const P2PEndpoint&) = delete;
  P2PEndpoint& operator=(const P2PEndpoint&) = delete;

  void start(int first, int count) override {
    const int end = first + count;
    if constexpr (simulated) std::fill_n(under_way_now_.begin() + first, count, true);
    if (keeps_list_)
      for (int m = first; m < end; ++m) under_way_.push_back(m);
    for (int next = first; next < end;) {
      const auto at = static_cast<std::size_t>(next);
      const Start& from_here = starts_[at];
      const int run = std::min(from_here.run, end - next);
      if (run > 1 && !one_by_one_) {
        check_mpi(MPI_Startall(run, &requests_[at]), "MPI_Startall");
        next += run;
        continue;
      }
      if (run > 0) {
        check_mpi(MPI_Start(&requests_[at]), "MPI_Start");
      } else {
        check_mpi(
            MPI_Isend(from_here.data, from_here.bytes, MPI_BYTE, from_here.peer, from_here.tag, comm_, &requests_[at]),
            "MPI_Isend");
      }
      ++next;
    }
  }

  int poll(std::span<int> completed) override {
    int n = 0;
    if constexpr (quirks.arrays_return_errors) {
      const int code = MPI_Testsome(size(), give_started(), &n, completed.data(), statuses_.data());
      if (n == MPI_UNDEFINED) return -1;
      take_back(completed.first(static_cast<std::size_t>(n)));
      if (code != MPI_SUCCESS) throw_failed(code, "MPI_Testsome", completed.first(static_cast<std::size_t>(n)));
      return n;
    }
    if (under_way_.empty()) return -1;
    for (std::size_t i = 0; i < under_way_.size();) {
      const int m = under_way_[i];
      if (!test(static_cast<std::size_t>(m))) {
        ++i;
        continue;
      }
      under_way_[i] = under_way_.back();
      under_way_.pop_back();
      completed[static_cast<std::size_t>(n++)] = m;
    }
    return n;
  }

  int wait_some(std::span<int> completed) override {
    if constexpr (!simulated) return poll(completed);
    int index = MPI_UNDEFINED;
    const double begin = MPI_Wtime();
    check_mpi(MPI_Waitany(size(), give_started(), &index, MPI_STATUS_IGNORE), "MPI_Waitany");
    if (MPI_Wtime() > begin) pass(simulated_costs().turn);
    if (index == MPI_UNDEFINED) return 0;
    completed[0] = index;
    take_back(completed.first(1));
    return 1;
  }

  /// One by one also in Open MPI, whose MPI_Testall loses errors of persistent requests. Those that have been found
  /// complete are not looked at again.
  bool test_all() override {
    if constexpr (simulated) {
      int flag = 0;
      const int code = MPI_Testall(size(), requests_.data(), &flag, statuses_.data());
      if (code != MPI_SUCCESS) throw_failed(code, "MPI_Testall");
      return flag != 0;
    }
    for (; complete_ < requests_.size(); ++complete_)
      if (!test(complete_)) return false;
    complete_ = 0;
    return true;
  }

  void wait_all() override {
    if (quirks.arrays_return_errors && !one_by_one_) {
      complete_ = 0;  // test_all may have come part of the way
      const int code = MPI_Waitall(size(), requests_.data(), statuses_.data());
      if (code != MPI_SUCCESS) throw_failed(code, "MPI_Waitall");
      return;
    }
    for (std::size_t m = std::exchange(complete_, 0); m < requests_.size(); ++m) {
      const int code = MPI_Wait(&requests_[m], MPI_STATUS_IGNORE);
      if (code != MPI_SUCCESS) [[unlikely]]
        throw_message_error(code, m);
    }
  }

  Left abandon() noexcept override {
    if (mpi_is_finalized()) requests_.clear();
    const bool cancels = !simulated && !abandoned_;
    abandoned_ = true;
    Left left = Left::nothing;
    for (std::size_t m = 0; m < requests_.size(); ++m) {
      MPI_Request& request = requests_[m];
      if (request == MPI_REQUEST_NULL) continue;
      const Start& message = starts_[m];
      bool ended = has_ended(request);
      if (!ended && cancels && !message.is_send && MPI_Cancel(&request) == MPI_SUCCESS) ended = has_ended(request);
      if (!ended)
        left = std::max(left, !message.in_user_buffer ? Left::in_own_memory
                              : message.is_send       ? Left::sends
                                                      : Left::receives);
      else if (request != MPI_REQUEST_NULL)
        MPI_Request_free(&request);
    }
    return left;
  }

 private:
  struct Start {
    int run;  // persistent requests in a row from here on; 0 for an inline send, which alone needs the rest
    int bytes;
    Rank peer;
    int tag;
    const std::byte* data;
    bool is_send;
    bool in_user_buffer;
  };

  /// SMPI takes a persistent request that has never been started for a complete one.
  MPI_Request* give_started() {
    if constexpr (!simulated) return requests_.data();
    for (std::size_t m = 0; m < requests_.size(); ++m) given_[m] = under_way_now_[m] ? requests_[m] : MPI_REQUEST_NULL;
    return given_.data();
  }
  void take_back(std::span<const int> completed) {
    if constexpr (!simulated) return;
    for (const int index : completed) {
      const auto m = static_cast<std::size_t>(index);
      requests_[m] = given_[m];
      under_way_now_[m] = false;
    }
  }

  void make_requests(int tag_base, std::span<const Message> messages, const MessageElements* elements) {
    std::size_t sends = 0;
    std::size_t receives = 0;
    for (const Message& message : messages) {
      const Elements own = elements == nullptr ? Elements{}
                           : message.is_send   ? elements->sends()[sends++]
                                               : elements->receives()[receives++];
      const bool typed = own.type != MPI_DATATYPE_NULL;
      starts_.push_back({0, static_cast<int>(std::min<std::int64_t>(message.bytes, INT_MAX)), message.peer,
                         tag_base + message.channel, message.data, message.is_send, message.in_user_buffer});
      if (message.is_send && !typed && message.bytes <= quirks.inline_send_bytes) {
        requests_.push_back(MPI_REQUEST_NULL);
        continue;
      }
      void* const data = at(static_cast<std::byte*>(message.data), own.origin);
      const MPI_Datatype element = typed ? own.type : MPI_BYTE;
      const std::int64_t length = typed ? own.count : message.is_send ? message.bytes : claimed_bytes(message.bytes);
      const LargeType large(length, element);
      const bool is_large = large.get() != MPI_DATATYPE_NULL;
      const MPI_Datatype type = is_large ? large.get() : element;
      const int count = is_large ? 1 : static_cast<int>(length);
      const int tag = tag_base + message.channel;
      MPI_Request request = MPI_REQUEST_NULL;
      if (message.is_send)
        check_mpi(MPI_Send_init(data, count, type, message.peer, tag, comm_, &request), "MPI_Send_init");
      else
        check_mpi(MPI_Recv_init(data, count, type, message.peer, tag, comm_, &request), "MPI_Recv_init");
      requests_.push_back(request);
    }
  }

  void free_requests() {
    for (MPI_Request& request : requests_)
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  }

  /// A failed request is complete, too.
  static bool has_ended(MPI_Request& request) {
    int flag = 0;
    return MPI_Test(&request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS || flag != 0;
  }

  bool test(std::size_t m) {
    int flag = 0;
    const int code = MPI_Test(&requests_[m], &flag, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) [[unlikely]]
      throw_message_error(code, m);
    return flag != 0;
  }

  /// A call with all requests, or with those that `completed` names, has failed.
  [[noreturn]] void throw_failed(int code, const char* call, std::optional<std::span<const int>> completed = {}) const {
    if (mpi_error_class(code) != MPI_ERR_IN_STATUS) throw_mpi_error(code, call);
    const std::size_t n = completed ? completed->size() : requests_.size();
    for (std::size_t i = 0; i < n; ++i) {
      const int error = statuses_[i].MPI_ERROR;
      if (error == MPI_SUCCESS || error == MPI_ERR_PENDING) continue;
      throw_message_error(error, completed ? static_cast<std::size_t>((*completed)[i]) : i);
    }
    throw_mpi_error(code, call);
  }

  [[nodiscard]] int size() const { return static_cast<int>(requests_.size()); }

  MPI_Comm comm_;
  bool one_by_one_;  // two short messages take less time so than in one call for both
  bool keeps_list_ = false;
  bool abandoned_ = false;
  std::vector<MPI_Request> requests_;
  std::vector<Start> starts_;         // by message
  std::vector<MPI_Status> statuses_;  // where arrays return errors
  std::size_t complete_ = 0;          // where messages are waited for one by one: how many of the first ones
  std::vector<MPI_Request> given_;    // to MPI, where it may see only those that have been started
  std::vector<bool> under_way_now_;   // which these are
  std::vector<int> under_way_;        // if they are looked at one by one, in any order
};

}  // namespace

std::unique_ptr<Endpoint> P2PTransport::bind(std::span<const Message> messages) {
  return std::make_unique<P2PEndpoint>(comm_, tag_base_, messages, elements_);
}

MessageNames P2PTransport::names(Rank own, const std::vector<Rank>& peers) const {
  MessageNames names{0, tag_base_, own, peers};
  int has_world = 0;
  check_mpi(MPI_Initialized(&has_world), "MPI_Initialized");
  if (has_world == 0) return names;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Group world = MPI_GROUP_NULL;
  int size = 0;
  check_mpi(MPI_Comm_group(comm_, &group), "MPI_Comm_group");
  check_mpi(MPI_Comm_group(MPI_COMM_WORLD, &world), "MPI_Comm_group");
  check_mpi(MPI_Group_size(group, &size), "MPI_Group_size");
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::vector<int> in_world(ranks.size());
  check_mpi(MPI_Group_translate_ranks(group, size, ranks.data(), world, in_world.data()), "MPI_Group_translate_ranks");
  check_mpi(MPI_Group_free(&group), "MPI_Group_free");
  check_mpi(MPI_Group_free(&world), "MPI_Group_free");
  for (const int rank : in_world) names.group = mix(names.group ^ static_cast<std::uint64_t>(rank));
  const auto known = [&](Rank rank) {
    const int there = in_world.at(static_cast<std::size_t>(rank));
    return there == MPI_UNDEFINED ? rank : there;
  };
  names.own = known(own);
  std::ranges::transform(peers, names.peers.begin(), known);
  return names;
}

void MessageElements::keep_types() {
  if (!kept_.empty()) return;
  std::map<MPI_Datatype, MadeType> copies;
  const auto for_each_type = [&](auto&& f) {
    for (std::vector<Elements>* list : {&sends_, &receives_})
      for (Elements& elements : *list)
        if (elements.type != MPI_DATATYPE_NULL) f(elements.type);
  };
  for_each_type([&](MPI_Datatype type) {
    const auto [copy, is_new] = copies.try_emplace(type);
    if (is_new) check_mpi(MPI_Type_dup(type, copy->second.place()), "MPI_Type_dup");
  });
  for_each_type([&](MPI_Datatype& type) { type = copies.at(type).get(); });
  for (auto& [of, copy] : copies) kept_.push_back(std::move(copy));
}

}  // namespace laneway
