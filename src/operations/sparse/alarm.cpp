#include "operations/sparse/alarm.hpp"

#include <algorithm>

namespace laneway {

namespace {

std::string named(const Way& way) {
  return way.chosen ? "auto" : way.finder->name;
}

}  // namespace

void SparseAlarm::raise() {
  if (raised()) return;
  ways_.assign(static_cast<std::size_t>(messenger_.size()), way_);
  const RoundVotes own = votes_;
  std::vector<std::int64_t> sent;
  for (Rank rank = 0; rank < messenger_.size(); ++rank) sent.push_back(messenger_.messages_to(rank));
  for (Rank rank = 0; rank < messenger_.size(); ++rank) {
    if (rank == messenger_.rank()) continue;
    Writer writer;
    writer.put(own);
    writer.put(sent[static_cast<std::size_t>(rank)]);
    writer.put(way_);
    messenger_.send(rank, Topic::alarm, 0, writer.take());
  }
}

void SparseAlarm::on(const RoundMessage& incoming) {
  raise();
  Reader reader(incoming.data);
  votes_.merge(reader.get<RoundVotes>());
  expected_ += reader.get<std::int64_t>();
  ways_[static_cast<std::size_t>(incoming.source)] = reader.get<std::uint8_t>();
  ++received_;
}

std::string SparseAlarm::text() const {
  const auto other = std::ranges::find_if(ways_, [&](std::uint8_t way) { return way != ways_.front(); });
  if (other == ways_.end()) return "the ranks' calls differ";
  const Way first = Way::of(ways_.front()), second = Way::of(*other);
  const std::string rank = std::to_string(other - ways_.begin());
  if (first.asks != second.asks)
    return "the ranks' calls differ: rank " + std::string(first.asks ? "0" : rank) + " asks for answers, rank " +
           (first.asks ? rank : "0") + " does not";
  return "lnw_find differs: rank 0 says " + named(first) + ", rank " + rank + " " + named(second);
}

}  // namespace laneway
