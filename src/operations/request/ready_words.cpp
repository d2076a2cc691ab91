#include "operations/request/ready_words.hpp"

#include <string>
#include <utility>

#include "base/error.hpp"

namespace laneway {

namespace {

/// How many become ready.
std::size_t partitions_of(const Work& work) {
  const EdgePartitions* const edges = work.edge_partitions();
  require(edges != nullptr || work.has_partitions(), ErrorKind::request, "request has no partitions");
  const int partitions = edges != nullptr ? edges->sent() : work.sent_partitions();
  require(edges != nullptr || partitions >= 0, ErrorKind::request,
          "request is one for receiving: its partitions arrive");
  return static_cast<std::size_t>(partitions);
}

}  // namespace

WordReadyWork::WordReadyWork(std::unique_ptr<Work>& work, const Device& device)
    : WrappedWork(nullptr), marks_(partitions_of(*work)) {
  if (device)
    flags_ = DeviceFlags(device, marks_.size());
  else
    host_words_.resize(marks_.size());
  activity_.list(*this, list_of(*work));
  work_ = std::move(work);
}

std::uint64_t* WordReadyWork::word_at(std::size_t partition) const {
  return host_words_.empty() ? flags_.word(partition) : const_cast<std::uint64_t*>(&host_words_[partition].value);
}

std::uint64_t* WordReadyWork::word(EdgePartition partition) const {
  if (const EdgePartitions* const edges = work_->edge_partitions())
    return word_at(static_cast<std::size_t>(edges->event_of_sent(partition.edge, partition.partition)));
  const auto number = static_cast<std::size_t>(partition.partition);
  require(partition.partition >= 0 && number < marks_.size(), ErrorKind::argument, [&] {
    return "partition is " + std::to_string(partition.partition) + "; the request has " + std::to_string(marks_.size());
  });
  return word_at(number);
}

bool WordReadyWork::start() {
  if (state() != WorkState::inactive) return false;
  ++exchange_;
  first_ = 0;
  if (!work_->start()) {
    --exchange_;
    return false;
  }
  activity_.begin();
  return true;
}

bool WordReadyWork::progress() {
  bool all_before = true;
  for (std::size_t partition = first_; partition < marks_.size(); ++partition) {
    const std::atomic_ref<std::uint64_t> word(*word_at(partition));
    if (word.load(std::memory_order_relaxed) != 0 && word.exchange(0, std::memory_order_acquire) != 0)
      make_ready(partition);
    all_before = all_before && is_ready(partition);
    if (all_before) first_ = partition + 1;
  }
  return work_->done();
}

/// One that is ready already stays so.
void WordReadyWork::make_ready(std::size_t partition) {
  if (is_ready(partition)) return;
  if (const EdgePartitions* const edges = work_->edge_partitions()) {
    const EdgePartition of = edges->sent_by(static_cast<int>(partition));
    edges->ready(of.edge, of.partition, [this](int event) { return fire_once(event); });
  } else if (mark(partition)) {
    work_->ready(static_cast<int>(partition));
  }
}

void WordReadyWork::ready(int partition) {
  work_->ready(partition);
  mark(static_cast<std::size_t>(partition));
}

bool WordReadyWork::fire_once(int event) {
  if (!work_->fire_once(event)) return false;
  if (static_cast<std::size_t>(event) < marks_.size()) mark(static_cast<std::size_t>(event));
  return true;
}

}  // namespace laneway
