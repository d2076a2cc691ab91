#include "offline/reference.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>

#include "base/error.hpp"

namespace laneway {

namespace {

std::size_t index_in(const Memory& memory, std::int64_t offset, std::int64_t n) {
  const auto size = static_cast<std::int64_t>(memory.bytes.size());
  require(n >= 0 && offset >= memory.first && offset + n <= memory.first + size, ErrorKind::buffer, [&] {
    return "bytes [" + std::to_string(offset) + ", " + std::to_string(offset + n) + ") are outside the buffer [" +
           std::to_string(memory.first) + ", " + std::to_string(memory.first + size) + ")";
  });
  return static_cast<std::size_t>(offset - memory.first);
}

}  // namespace

std::span<const std::byte> Memory::at(std::int64_t offset, std::int64_t n) const {
  return std::span(bytes).subspan(index_in(*this, offset, n), static_cast<std::size_t>(n));
}

std::span<std::byte> Memory::at(std::int64_t offset, std::int64_t n) {
  return std::span(bytes).subspan(index_in(*this, offset, n), static_cast<std::size_t>(n));
}

void exchange(const Pattern& pattern, std::span<const Memory> send, std::span<Memory> receive) {
  for (std::size_t d = 0; d < pattern.size(); ++d) {
    std::map<Rank, std::size_t> next;  // where to go on in the source's list
    for (const Edge& in : pattern[d].in) {
      const auto s = static_cast<std::size_t>(in.peer);
      std::size_t& k = next[in.peer];
      while (pattern[s].out.at(k).peer != static_cast<Rank>(d)) ++k;
      std::vector<std::byte> message;
      pattern[s].out[k++].ranges.for_each([&](Range range) {
        const auto bytes = send[s].at(range.offset, range.bytes);
        message.insert(message.end(), bytes.begin(), bytes.end());
      });
      std::size_t taken = 0;
      in.ranges.for_each([&](Range range) {
        const auto place = receive[d].at(range.offset, range.bytes);
        std::copy_n(message.begin() + static_cast<std::ptrdiff_t>(taken), place.size(), place.begin());
        taken += place.size();
      });
    }
  }
}

namespace {

class Reference {
 public:
  Reference(std::span<const Plan> plans, std::span<const Memory> send, std::span<Memory> receive,
            const ReferenceOptions& options)
      : plans_(plans), send_(send), receive_(receive), options_(options), random_(options.seed) {
    for (const Plan& plan : plans_) {
      staging_.push_back({0, std::vector<std::byte>(static_cast<std::size_t>(plan.staging_bytes))});
      for (std::byte& byte : staging_.back().bytes) byte = static_cast<std::byte>(random_());
      shadow_.push_back({0, std::vector<std::byte>(static_cast<std::size_t>(plan.shadow_bytes))});
      missing_.emplace_back();
      dependents_.emplace_back(plan.steps.size());
      done_.emplace_back(plan.steps.size(), false);
      first_.emplace_back();
      for (std::size_t s = 0; s < plan.steps.size(); ++s) {
        missing_.back().push_back(plan.steps[s].after.size());
        for (int before : plan.steps[s].after) dependents_.back().at(static_cast<std::size_t>(before)).push_back(s);
      }
    }
  }

  void run() {
    for (std::size_t r = 0; r < plans_.size(); ++r) {
      for (std::size_t s = 0; s < plans_[r].steps.size(); ++s) {
        if (missing_[r][s] != 0) continue;
        const StepKind kind = plans_[r].steps[s].kind;
        if (kind == StepKind::move || kind == StepKind::event)
          possible_.push_back({Event::begin, r, s});
        else
          first_[r].push_back(s);
      }
      if (!first_[r].empty()) possible_.push_back({Event::begin_first, r, 0});
    }
    while (!possible_.empty()) {
      std::swap(possible_[random_() % possible_.size()], possible_.back());
      const auto [event, rank, step] = possible_.back();
      possible_.pop_back();
      switch (event) {
        case Event::begin_first:
          begin_first(rank);
          break;
        case Event::begin:
          begin(rank, step);
          break;
        case Event::complete_send:
          complete_send(rank, step);
          break;
        case Event::complete_receive:
          complete_receive(rank, step);
          break;
      }
    }
    for (std::size_t r = 0; r < plans_.size(); ++r)
      for (std::size_t s = 0; s < done_[r].size(); ++s)
        require(done_[r][s], ErrorKind::internal, [&] { return "stuck: " + name_of(r, s) + " cannot complete"; });
    for (const auto& [channel, queue] : channels_)
      require(queue.sends.empty(), ErrorKind::internal,
              "nobody receives a message from rank " + std::to_string(std::get<0>(channel)) + " to rank " +
                  std::to_string(std::get<1>(channel)));
  }

 private:
  enum class Event { begin_first, begin, complete_send, complete_receive };
  struct Possible {
    Event event;
    std::size_t rank;
    std::size_t step;
  };
  struct Half {
    std::size_t rank;
    std::size_t step;
    auto operator<=>(const Half&) const = default;
  };
  struct Queue {
    std::deque<Half> sends;  // started, not yet matched
    std::deque<Half> receives;
  };

  [[nodiscard]] const Step& step_of(std::size_t rank, std::size_t step) const { return plans_[rank].steps[step]; }
  [[nodiscard]] std::string name_of(std::size_t rank, std::size_t step) const {
    return "rank " + std::to_string(rank) + " step " + std::to_string(step) + " (" + name(step_of(rank, step).kind) +
           ")";
  }

  [[nodiscard]] std::span<const std::byte> readable(std::size_t rank, Buffer buffer, std::int64_t offset,
                                                    std::int64_t n) const {
    const bool may_read = options_.reads_receive || !plans_[rank].combinations.empty();
    require(buffer != Buffer::receive || may_read, ErrorKind::internal, "a step reads the receive buffer");
    if (buffer == Buffer::receive) return std::as_const(receive_[rank]).at(offset, n);
    if (buffer == Buffer::send) return send_[rank].at(offset, n);
    return std::as_const(buffer == Buffer::shadow ? shadow_ : staging_)[rank].at(offset, n);
  }

  [[nodiscard]] std::span<std::byte> writable(std::size_t rank, Buffer buffer, std::int64_t offset, std::int64_t n) {
    require(buffer != Buffer::send, ErrorKind::internal, "a step writes the send buffer");
    if (buffer == Buffer::receive) return receive_[rank].at(offset, n);
    return (buffer == Buffer::shadow ? shadow_ : staging_)[rank].at(offset, n);
  }

  void begin_first(std::size_t rank) {
    if (first_[rank].empty()) return;
    const std::size_t step = first_[rank].front();
    first_[rank].pop_front();
    if (!first_[rank].empty()) possible_.push_back({Event::begin_first, rank, 0});
    begin(rank, step);
  }

  void begin(std::size_t rank, std::size_t s) {
    const Step& step = step_of(rank, s);
    if (step.kind == StepKind::event) return complete(rank, s);
    if (step.kind == StepKind::move) {
      for (const CopyRun& run : step.runs)
        for (std::int64_t i = 0; i < run.count; ++i) {
          const auto from = readable(rank, step.from.buffer, run.from + i * run.from_stride, run.bytes);
          const auto to = writable(rank, step.to.buffer, run.to + i * run.to_stride, run.bytes);
          if (combines(step))
            options_.combine(plans_[rank].combinations.at(static_cast<std::size_t>(step.combination)), to, from);
          else
            std::copy(from.begin(), from.end(), to.begin());
        }
      complete(rank, s);
      return;
    }
    if (!step.after.empty())
      while (!first_[rank].empty()) begin_first(rank);
    const bool sends = step.kind == StepKind::send;
    const auto self = static_cast<Rank>(rank);
    Queue& queue = channels_[{sends ? self : step.peer, sends ? step.peer : self, step.channel}];
    (sends ? queue.sends : queue.receives).push_back({rank, s});
    if (sends && !options_.rendezvous) possible_.push_back({Event::complete_send, rank, s});
    if (queue.sends.empty() || queue.receives.empty()) return;
    const Half from = queue.sends.front();
    const Half to = queue.receives.front();
    queue.sends.pop_front();
    queue.receives.pop_front();
    require(step_of(from.rank, from.step).span.bytes == step_of(to.rank, to.step).span.bytes, ErrorKind::internal,
            [&] { return name_of(from.rank, from.step) + " and " + name_of(to.rank, to.step) + " differ in size"; });
    source_[to] = from;
    if (options_.rendezvous) possible_.push_back({Event::complete_send, from.rank, from.step});
    possible_.push_back({Event::complete_receive, to.rank, to.step});
  }

  /// The message leaves the sender's memory: when the send completes, or earlier if the receiver was faster.
  const std::vector<std::byte>& take(const Half& from) {
    const auto [it, fresh] = in_flight_.try_emplace(from);
    if (fresh) {
      const End& end = step_of(from.rank, from.step).span;
      it->second.resize(static_cast<std::size_t>(end.bytes));
      end.for_each([&](Buffer buffer, Range place, std::int64_t position) {
        std::ranges::copy(readable(from.rank, buffer, place.offset, place.bytes), it->second.begin() + position);
      });
    }
    return it->second;
  }

  void complete_send(std::size_t rank, std::size_t step) {
    take({rank, step});
    complete(rank, step);
  }

  void complete_receive(std::size_t rank, std::size_t step) {
    const std::vector<std::byte>& message = take(source_.at({rank, step}));
    step_of(rank, step).span.for_each([&](Buffer buffer, Range place, std::int64_t position) {
      std::copy_n(message.begin() + position, place.bytes, writable(rank, buffer, place.offset, place.bytes).begin());
    });
    complete(rank, step);
  }

  void complete(std::size_t rank, std::size_t step) {
    done_[rank][step] = true;
    for (std::size_t dependent : dependents_[rank][step])
      if (--missing_[rank][dependent] == 0) possible_.push_back({Event::begin, rank, dependent});
  }

  std::span<const Plan> plans_;
  std::span<const Memory> send_;
  std::span<Memory> receive_;
  const ReferenceOptions options_;
  std::mt19937_64 random_;
  std::vector<Memory> staging_;
  std::vector<Memory> shadow_;
  std::vector<std::vector<std::size_t>> missing_;
  std::vector<std::vector<std::vector<std::size_t>>> dependents_;
  std::vector<std::vector<bool>> done_;
  std::vector<std::deque<std::size_t>> first_;  // messages without dependencies that have not started
  std::vector<Possible> possible_;
  std::map<std::tuple<Rank, Rank, int>, Queue> channels_;
  std::map<Half, Half> source_;
  std::map<Half, std::vector<std::byte>> in_flight_;
};

}  // namespace

void run_reference(std::span<const Plan> plans, std::span<const Memory> send, std::span<Memory> receive,
                   const ReferenceOptions& options) {
  Reference(plans, send, receive, options).run();
}

}  // namespace laneway
