#include "algorithms/rendezvous/places.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace laneway {

void RoundVotes::merge(const RoundVotes& other) {
  failed = std::min(failed, other.failed);
  degree = std::max(degree, other.degree);
  bytes = std::max(bytes, other.bytes);
  least = std::min(least, other.least);
  most = std::max(most, other.most);
}

namespace {

Bytes bytes_of(const RoundVotes& votes) {
  Writer writer;
  writer.put(votes);
  return writer.take();
}

}  // namespace

int Consensus::steps() const {
  int steps = 0;
  while ((Rank{1} << steps) < places_.size) ++steps;
  return steps;
}

void Consensus::begin(const RoundVotes& own) {
  begun_ = true;
  votes_.merge(own);
  if (!done()) say();
  advance();
}

void Consensus::say() {
  const Rank to = static_cast<Rank>((std::int64_t{places_.place} + (std::int64_t{1} << steps_done_)) % places_.size);
  messenger_.send(places_.rank_at(to), Topic::consensus, steps_done_, bytes_of(votes_));
}

void Consensus::on(const RoundMessage& incoming) {
  early_.emplace(incoming.step, Reader(incoming.data).get<RoundVotes>());
  if (begun_) advance();
}

void Consensus::advance() {
  for (auto next = early_.find(steps_done_); next != early_.end(); next = early_.find(steps_done_)) {
    votes_.merge(next->second);
    early_.erase(next);
    ++steps_done_;
    if (!done()) say();
  }
}

void Counting::begin(const Counts& own, const RoundVotes& votes) {
  begun_ = true;
  for (const auto& [rank, count] : own) counts_[{places_.place_of(rank), rank}] += count;
  votes_.merge(votes);
  if (end_ - first_ > 1) say();
  advance();
}

/// Hands what is for the other half over, and finds out how many messages come from there.
void Counting::say() {
  const Rank middle = first_ + (end_ - first_) / 2;
  const Rank lower = middle - first_, upper = end_ - middle;  // equal, or the upper half has one more
  const bool is_lower = places_.place < middle;
  const Rank own = is_lower ? places_.place - first_ : places_.place - middle;
  const Rank to = is_lower ? middle + own : first_ + own % lower;
  awaited_ = is_lower ? (own == 0 && upper > lower ? 2 : 1) : (own < lower ? 1 : 0);
  Writer writer;
  writer.put(votes_);
  const auto from = is_lower ? counts_.lower_bound({middle, 0}) : counts_.begin();
  const auto until = is_lower ? counts_.end() : counts_.lower_bound({middle, 0});
  for (auto entry = from; entry != until; ++entry) {
    writer.put_compact(entry->first.second);
    writer.put_compact(entry->second);
  }
  counts_.erase(from, until);
  messenger_.send(places_.rank_at(to), Topic::count, step_, writer.take());
  (is_lower ? end_ : first_) = middle;
}

void Counting::merge(Reader& reader) {
  votes_.merge(reader.get<RoundVotes>());
  while (!reader.done()) {
    const auto rank = static_cast<Rank>(reader.get_compact());
    counts_[{places_.place_of(rank), rank}] += static_cast<std::int32_t>(reader.get_compact());
  }
}

void Counting::on(const RoundMessage& incoming) {
  early_[incoming.step].push_back(incoming.data);
  if (begun_) advance();
}

void Counting::advance() {
  for (;;) {
    std::vector<Bytes>& here = early_[step_];
    for (; !here.empty() && awaited_ > 0; --awaited_) {
      Reader reader(here.back());
      merge(reader);
      here.pop_back();
    }
    if (awaited_ > 0) return;
    early_.erase(step_);
    finished_ = end_ - first_ == 1;
    if (finished_) return;
    ++step_;
    say();
  }
}

int Counting::count(Rank rank) const {
  const auto own = counts_.find({places_.place_of(rank), rank});
  return own == counts_.end() ? 0 : own->second;
}

}  // namespace laneway
