#include "communicator/decisions.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/bytes/wire.hpp"
#include "communicator/control/control_rounds.hpp"

namespace laneway {

namespace {

constexpr std::size_t most_decisions = 512;  // between two comparisons; of more, the last

/// Those of a rank: how many there were before, and the texts of the others.
struct OfRank {
  std::int64_t before = 0;
  std::vector<std::string> latest;

  explicit OfRank(const Bytes& data) {
    Reader reader(data);
    before = reader.get<std::int64_t>();
    while (!reader.done()) latest.push_back(text_of(reader.get_bytes()));
  }
  [[nodiscard]] std::int64_t all() const { return before + static_cast<std::int64_t>(latest.size()); }
  [[nodiscard]] std::string at(std::int64_t number) const {
    if (number >= all()) return "none";
    return number < before ? "one that is forgotten" : "'" + latest[static_cast<std::size_t>(number - before)] + "'";
  }
};

/// What is said of the first difference between two ranks; empty: there is none.
std::string difference(const OfRank& first, const OfRank& other, Rank rank) {
  const std::int64_t begin = std::max(first.before, other.before);
  for (std::int64_t number = begin; number < std::max(first.all(), other.all()); ++number)
    if (const std::string theirs = other.at(number), ours = first.at(number); ours != theirs)
      return "decision " + std::to_string(number + 1) + " on the communicator is " + ours + " on rank 0, but " +
             theirs + " on rank " + std::to_string(rank);
  return "";
}

}  // namespace

void Decisions::note(std::string decision) {
  latest_.push_back(std::move(decision));
  if (latest_.size() <= most_decisions) return;
  latest_.pop_front();
  ++before_;
}

void Decisions::compare(const PrivateComm& comm) {
  Writer writer;
  writer.put(before_);
  for (const std::string& decision : latest_) writer.put(bytes_of(decision));
  const auto first_difference = [](const std::vector<Bytes>& all) {
    const OfRank first(all.front());
    std::string found;
    for (std::size_t rank = 1; rank < all.size() && found.empty(); ++rank)
      found = difference(first, OfRank(all[rank]), static_cast<Rank>(rank));
    return bytes_of(found);
  };
  const std::string found = text_of(ControlRounds(comm).ask_first_rank(writer.take(), first_difference));
  before_ += static_cast<std::int64_t>(latest_.size());
  latest_.clear();
  if (found.empty()) return;
  comm.all_throw();
  throw DecisionsDiffer(ErrorKind::internal, found);
}

}  // namespace laneway
