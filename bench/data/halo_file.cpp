#include "data/halo_file.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <numeric>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace laneway::bench {

namespace {

using Word = std::int64_t;
constexpr std::array<Word, 2> magic = {0x6f6c61682d776e6c, 1};  // "lnw-halo", version

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw Error(ErrorKind::io, path + ": " + what);
}

void append_peers(std::vector<Word>& words, const Side& side) {
  words.push_back(std::ssize(side.peers));
  words.insert(words.end(), side.peers.begin(), side.peers.end());
  words.insert(words.end(), side.counts.begin(), side.counts.end());
}

std::vector<Word> record_of(const Exchange& exchange) {
  const Side& send = exchange.send;
  std::vector<Word> words = {static_cast<Word>(send.labels.empty() ? 0 : send.labels.front()), std::ssize(send.labels)};
  append_peers(words, send);
  words.insert(words.end(), send.indices.begin(), send.indices.end());
  append_peers(words, exchange.receive);
  words.insert(words.end(), exchange.receive.labels.begin(), exchange.receive.labels.end());
  return words;
}

/// Takes the words of a record one after another.
class Words {
 public:
  Words(const std::string& path, std::vector<Word> words) : path_(path), words_(std::move(words)) {}

  Word take() { return take(1).front(); }

  std::span<const Word> take(Word count) {
    if (count < 0 || count > std::ssize(words_) - at_) fail(path_, "a rank's part is cut off");
    const auto begin = static_cast<std::size_t>(at_);
    at_ += count;
    return std::span(words_).subspan(begin, static_cast<std::size_t>(count));
  }

  [[nodiscard]] Word size() const { return std::ssize(words_); }

  /// A number from 0 to `most`.
  Word take_number(Word most) { return check(take(), most); }

  /// Peers and counts; the sum of the counts.
  Word take_peers(Side& side, Rank ranks) {
    const Word peers = take();
    for (Word peer : take(peers)) side.peers.push_back(static_cast<Rank>(check(peer, ranks - 1)));
    Word sum = 0;
    for (Word count : take(peers)) {
      side.counts.push_back(static_cast<int>(check(count, std::ssize(words_))));
      sum += count;
    }
    return sum;
  }

  Word check(Word number, Word most) const {
    if (number < 0 || number > most)
      fail(path_, std::to_string(number) + " is no number from 0 to " + std::to_string(most));
    return number;
  }

 private:
  const std::string& path_;
  std::vector<Word> words_;
  Word at_ = 0;
};

std::vector<Word> read_words(std::istream& file, const std::string& path, Word begin, Word end) {
  if (begin < 0 || end < begin) fail(path, "a rank's part ends before it begins");
  file.seekg(0, std::ios::end);
  if (end > file.tellg() / static_cast<std::streamoff>(sizeof(Word))) fail(path, "it ends too early");
  std::vector<Word> words(static_cast<std::size_t>(end - begin));
  file.seekg(static_cast<std::streamoff>(begin * static_cast<Word>(sizeof(Word))));
  file.read(reinterpret_cast<char*>(words.data()), static_cast<std::streamsize>(words.size() * sizeof(Word)));
  if (!file) fail(path, "it ends too early");
  return words;
}

}  // namespace

std::optional<std::string> halo_file(const std::string& pattern) {
  constexpr std::string_view prefix = "halo:";
  if (!pattern.starts_with(prefix)) return std::nullopt;
  return pattern.substr(prefix.size());
}

void write_halos(const std::string& path, std::span<const Exchange> exchanges) {
  std::vector<Word> words(magic.begin(), magic.end());
  words.push_back(std::ssize(exchanges));
  const std::size_t begins = words.size();
  words.resize(words.size() + exchanges.size() + 1);
  for (std::size_t rank = 0; rank < exchanges.size(); ++rank) {
    words[begins + rank] = std::ssize(words);
    const std::vector<Word> record = record_of(exchanges[rank]);
    words.insert(words.end(), record.begin(), record.end());
  }
  words[begins + exchanges.size()] = std::ssize(words);
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(words.data()), static_cast<std::streamsize>(words.size() * sizeof(Word)));
  file.close();
  if (!file) fail(path, "it cannot be written");
}

Exchange read_halo(const std::string& path, Rank rank, Rank ranks, std::int64_t element_bytes) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(path, "it cannot be read");
  return read_halo(file, path, rank, ranks, element_bytes);
}

Exchange read_halo(std::istream& file, const std::string& path, Rank rank, Rank ranks, std::int64_t element_bytes) {
  constexpr Word head = std::ssize(magic) + 1;
  const std::vector<Word> start = read_words(file, path, 0, head);
  if (!std::equal(magic.begin(), magic.end(), start.begin())) fail(path, "it is no file of halos");
  if (start.back() != ranks)
    fail(path, "it is for " + std::to_string(start.back()) + " ranks, not " + std::to_string(ranks));
  const std::vector<Word> place = read_words(file, path, head + rank, head + rank + 2);
  Words words(path, read_words(file, path, place[0], place[1]));

  Exchange exchange{Op::alltoallv, true, element_bytes, {}, {}};
  constexpr Word most_elements = Word{1} << 40;  // of all ranks
  const auto first = static_cast<std::uint64_t>(words.take_number(most_elements));
  // Most need not be sent, so the file may be much shorter than what is made of it; but not without limit.
  constexpr Word always = Word{1} << 24;
  const Word elements = words.take_number(always + 64 * words.size());
  exchange.send.labels.resize(static_cast<std::size_t>(elements));
  std::iota(exchange.send.labels.begin(), exchange.send.labels.end(), first);
  for (Word index : words.take(words.take_peers(exchange.send, ranks)))
    exchange.send.indices.push_back(words.check(index, elements - 1));
  const std::span<const Word> received = words.take(words.take_peers(exchange.receive, ranks));
  exchange.receive.labels.assign(received.begin(), received.end());
  exchange.receive.indices.resize(received.size());
  std::iota(exchange.receive.indices.begin(), exchange.receive.indices.end(), std::int64_t{0});
  return exchange;
}

}  // namespace laneway::bench
