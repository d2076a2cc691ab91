#include "offline/in_process.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"

namespace laneway {

class InProcessEndpoint final : public Endpoint {
 public:
  InProcessEndpoint(InProcessNetwork& network, Rank rank, std::span<const Message> messages)
      : network_(network), rank_(rank), messages_(messages.begin(), messages.end()), active_(messages.size(), false) {}

  void start(int first, int count) override {
    for (int i = first; i < first + count; ++i) {
      const auto m = static_cast<std::size_t>(i);
      const Message& message = messages_[m];
      LANEWAY_ASSERT(!active_[m]);
      active_[m] = true;
      if (message.is_send)
        send(message);
      else
        posted_.push_back(i);
    }
  }

  int poll(std::span<int> completed) override {
    int n = 0;
    for (std::size_t m = 0; m < messages_.size(); ++m) {
      if (!active_[m] || !messages_[m].is_send) continue;
      active_[m] = false;
      completed[static_cast<std::size_t>(n++)] = static_cast<int>(m);
    }
    std::vector<int> waiting;
    for (int i : posted_) {
      const auto m = static_cast<std::size_t>(i);
      const Message& message = messages_[m];
      auto& queue = network_.in_flight_[{message.peer, rank_, message.channel}];
      const bool blocked = std::any_of(waiting.begin(), waiting.end(), [&](int w) {
        const Message& other = messages_[static_cast<std::size_t>(w)];
        return other.peer == message.peer && other.channel == message.channel;
      });
      if (queue.empty() || blocked) {
        waiting.push_back(i);
        continue;
      }
      require(static_cast<std::int64_t>(queue.front().size()) == message.bytes, ErrorKind::internal,
              "a message of another size than expected");
      network_.copy_(message.data, queue.front().data(), queue.front().size());
      queue.pop_front();
      active_[m] = false;
      completed[static_cast<std::size_t>(n++)] = i;
    }
    posted_ = std::move(waiting);
    return n;
  }

  bool test_all() override {
    std::vector<int> completed(messages_.size());
    poll(completed);
    return std::none_of(active_.begin(), active_.end(), [](bool active) { return active; });
  }

  void wait_all() override { require(test_all(), ErrorKind::internal, "nothing can complete in process"); }

 private:
  void send(const Message& message) {
    std::vector<std::byte>& sent = network_.in_flight_[{rank_, message.peer, message.channel}].emplace_back(
        static_cast<std::size_t>(message.bytes));
    network_.copy_(sent.data(), message.data, sent.size());
  }

  InProcessNetwork& network_;
  Rank rank_;
  std::vector<Message> messages_;
  std::vector<bool> active_;
  std::vector<int> posted_;
};

namespace {

class InProcessTransport final : public Transport {
 public:
  InProcessTransport(InProcessNetwork& network, Rank rank) : network_(network), rank_(rank) {}
  std::unique_ptr<Endpoint> bind(std::span<const Message> messages) override {
    return std::make_unique<InProcessEndpoint>(network_, rank_, messages);
  }

 private:
  InProcessNetwork& network_;
  Rank rank_;
};

}  // namespace

void InProcessNetwork::copy_bytes(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

std::unique_ptr<Transport> InProcessNetwork::transport(Rank rank) {
  return std::make_unique<InProcessTransport>(*this, rank);
}

}  // namespace laneway
