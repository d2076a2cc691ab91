#include "operations/sparse/sparse.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <exception>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/failure.hpp"
#include "base/simulated.hpp"
#include "communicator/background.hpp"
#include "communicator/control/agreement.hpp"
#include "communicator/control/control_rounds.hpp"
#include "communicator/control/mpi_bootstrap.hpp"
#include "communicator/datatypes/datatype.hpp"
#include "mpi/check.hpp"
#include "mpi/running.hpp"
#include "operations/choose/agreed.hpp"
#include "operations/pipeline/pipeline.hpp"
#include "operations/sparse/alarm.hpp"
#include "operations/sparse/messenger.hpp"
#include "operations/sparse/payloads.hpp"
#include "runtime/carriers/node/sharing.hpp"
#include "runtime/carriers/rma/window.hpp"
#include "runtime/device/memory.hpp"
#include "runtime/executor/progress.hpp"

namespace laneway {

namespace {

/// What the ranks of this rank's node write for each other, and the memory that it is in; null where they share none.
struct SharedBoard {
  std::shared_ptr<NodeMemory> memory;
  std::shared_ptr<NodeBoard> board;
};

/// Rounds on one communicator. Each has a number, the same on all ranks, and a tag. A rank begins round n only when it
/// has completed round n - most_rounds; then all ranks have begun that one, and so completed round n - 2 most_rounds,
/// which had the same tag.
class SparseRounds {
 public:
  static constexpr std::int64_t most_rounds = 8;
  static constexpr std::int64_t tags = 2 * most_rounds;
  static_assert(tags == NodeBoard::rounds_at_once);

  SparseRounds(std::shared_ptr<PrivateComm> comm_of_all, int first_tag, NodeMap map, SharedBoard shared_board,
               bool all_have_boards, const FinderRow* default_finder, const Agreement& agreement,
               std::shared_ptr<const Parameters> known)
      : comm(std::move(comm_of_all)),
        nodes(std::move(map)),
        board(std::move(shared_board)),
        boards(all_have_boards),
        finder(default_finder),
        single(agreement.flags.front()),
        have_helpers(agreement.have_helpers),
        parameters(std::move(known)),
        tag_(first_tag) {
    for (auto& one : completed_) one.store(-1, std::memory_order_relaxed);
  }

  [[nodiscard]] std::int64_t take_number() { return next_++; }
  [[nodiscard]] bool may_begin(std::int64_t number) const {
    const std::int64_t before = number - most_rounds;
    return before < 0 || completed_[slot(before)].load(std::memory_order_acquire) >= before;
  }
  void complete(std::int64_t number, const RoundVotes& votes) {
    votes_[slot(number)] = votes;
    completed_[slot(number)].store(number, std::memory_order_release);
  }
  /// What all ranks know when round `number` begins.
  [[nodiscard]] RoundFacts facts(std::int64_t number) const {
    RoundFacts facts{comm->size(), nodes.nodes(), nodes.largest()};
    facts.boards = boards;
    facts.delegates = nodes.most_following();
    if (number < most_rounds) return facts;
    const RoundVotes& votes = votes_[slot(number - most_rounds)];
    facts.degree = std::max(1, votes.degree);
    facts.bytes = static_cast<double>(votes.bytes);
    return facts;
  }
  [[nodiscard]] int tag(std::int64_t number) const { return tag_ + static_cast<int>(number % tags); }

  const std::shared_ptr<PrivateComm> comm;
  const NodeMap nodes;
  const SharedBoard board;
  const bool boards;              ///< on all nodes
  const FinderRow* const finder;  ///< null: by costs
  const bool single;
  const bool have_helpers;
  const std::shared_ptr<const Parameters> parameters;
  std::atomic<bool> broken{false};   ///< a round has ended with an error of its own messages
  std::atomic<int> broken_class{0};  ///< MPI's, of that

 private:
  static std::size_t slot(std::int64_t number) { return static_cast<std::size_t>(number % tags); }

  int tag_;
  std::int64_t next_ = 0;
  std::array<std::atomic<std::int64_t>, tags> completed_;
  std::array<RoundVotes, tags> votes_;
};

struct KeptRounds final : Attachment {
  void on(Change) override { rounds.reset(); }
  std::shared_ptr<SparseRounds> rounds;
};

/// Collective; `node`: the ranks of this rank's node. In simulations messages stand for memory, whose words nobody
/// there waits for in virtual time.
SharedBoard share_board(Communicator& communicator, const PrivateComm& comm, const Hints& hints, const Region& node,
                        bool translate) {
  if constexpr (simulated) return {};
  const Region sharing = find_sharing(communicator, hints, translate);  // of which ranks that are alone are a part, too
  if (node.members.size() < 2 || !std::ranges::includes(sharing.members, node.members)) return {};
  MpiBootstrap bootstrap(comm);
  SharedBoard shared{share_windows(bootstrap, node, NodeBoard::bytes_of_rank()), nullptr};
  if (!shared.memory) return {};
  const auto own = std::ranges::lower_bound(node.members, comm.rank()) - node.members.begin();
  shared.board = std::make_shared<NodeBoard>(shared.memory->windows(), static_cast<std::size_t>(own));
  return shared;
}

/// Collective on the first call for a communicator.
std::shared_ptr<SparseRounds> rounds_of(Communicator& communicator) {
  std::shared_ptr<SparseRounds>& kept = communicator.attachment<KeptRounds>().rounds;
  if (kept && kept->comm->has_tags() && !kept->comm->spoilt()) return kept;
  require(!communicator.partial, ErrorKind::unsupported,
          "comm: adopted by the preloaded library, which has left ranks without neighbours out");
  const std::shared_ptr<PrivateComm> comm = communicator.private_comm();
  auto made = together(*comm, [&] {
    Hints hints;
    const Agreement agreement = agree_on_hints(communicator, *comm, MPI_INFO_NULL, hints,
                                               [](Proposal& proposal) { proposal.flags = {single_threaded()}; });
    Hints of_nodes;
    of_nodes.machine = hints.machine;
    const Region node = communicator.regions(of_nodes, agreement.knows_nodes).front();
    SharedBoard board = share_board(communicator, *comm, hints, node, agreement.knows_nodes);
    // The first ranks of all nodes, and whether the ranks of one share no memory.
    std::vector<Rank> first(static_cast<std::size_t>(comm->size()) + 1, 0);
    first[static_cast<std::size_t>(comm->rank())] = node.id;
    first.back() = node.members.size() > 1 && !board.board ? 1 : 0;
    first = reduce_progressing(first, MPI_INT32_T, MPI_MAX, *comm);
    const bool boards = first.back() == 0;
    first.pop_back();
    NodeMap nodes(first);
    Hints of_costs = hints;
    if (of_costs.parameters == measured_parameters) of_costs.parameters.clear();
    auto parameters = communicator.parameters(of_costs, nodes.nodes() == 1);
    return std::make_shared<SparseRounds>(comm, comm->take_tags(), std::move(nodes), std::move(board), boards,
                                          hints.finder, agreement, std::move(parameters));
  });
  communicator.attachment<KeptRounds>().rounds = made;
  return made;
}

/// Some libraries refuse a window of one rank.
bool has_windows(const PrivateComm& comm) {
  return comm.size() > 1 && Window::refusal(comm.get()).empty();
}

void require_host_memory(const void* buffer) {
  if (buffer == nullptr) return;
  require(memory_at(buffer).host_may_touch(), ErrorKind::unsupported,
          "sendbuf is on a device; discovery takes buffers in the memory of the host");
}

/// With what is sent along, a message.
constexpr std::size_t most_note_bytes = INT_MAX - 64;

/// One round of this rank.
class SparseRound final : public Progressive {
 public:
  SparseRound(Communicator& communicator, SparseCall call)
      : rounds_(rounds_of(communicator)),
        number_(rounds_->take_number()),
        call_(std::move(call)),
        error_handler_(communicator.error_handler()) {
    require_whole();
    prepare();
    for (const SparseSet& set : call_.sets) {
      std::vector<Rank>& own = destinations_.emplace_back();
      if (set.destinations != nullptr && set.degree > 0) own.assign(set.destinations, set.destinations + set.degree);
    }
  }

  [[nodiscard]] const std::shared_ptr<SparseRounds>& rounds() const { return rounds_; }
  /// As far as it comes without waiting; where all ranks meet in it, to there: they meet in the order of their calls.
  void begin_in_call() {
    if (named_ != nullptr && named_->counts_in_memory) progress_until([&] { return rounds_->may_begin(number_); });
    (void)progress();
    if (finder_ && reasons_.finder->counts_in_memory)
      progress_until([&] { return progress() || messenger_->counted(); });
  }

  /// True when the round is over on this rank.
  bool progress() override {
    try {
      return advance();
    } catch (const Error& error) {
      rounds_->broken_class = error.mpi_class();
      rounds_->broken = true;
      throw;
    } catch (...) {
      rounds_->broken = true;
      throw;
    }
  }

  /// When it is over: what has arrived. Throws what is wrong, on all ranks.
  [[nodiscard]] std::vector<std::unique_ptr<Arrivals>> result();

 private:
  void require_whole() const;
  void prepare();
  void begin();
  bool advance();
  [[nodiscard]] const RoundVotes& votes_of_all() const { return alarm_->raised() ? alarm_->votes() : finder_->votes(); }
  void on_node_message(Payload payload);
  void on(RoundMessage incoming);

  std::shared_ptr<SparseRounds> rounds_;
  std::int64_t number_;
  SparseCall call_;
  std::shared_ptr<const ErrorHandler> error_handler_;
  std::vector<Payload> payloads_;                // to others, until it begins
  std::vector<std::vector<Rank>> destinations_;  // of each set: the caller's own lists need not outlive the call
  std::optional<Payload> own_note_;
  RoundVotes votes_;
  const FinderRow* named_ = nullptr;
  SparseReasons reasons_;
  std::unique_ptr<MpiMessenger> messenger_;
  std::unique_ptr<Finder> finder_;
  std::optional<SparseAlarm> alarm_;
  static constexpr int most_deaf_turns = 16;
  int deaf_turns_ = 0;
  std::size_t answers_awaited_ = 0;
  std::vector<Payload> answers_;
  std::vector<Payload> received_;
  bool over_ = false;  // nothing more is heard
};

/// After a process has ended, all that follows on the communicator says so.
void SparseRound::require_whole() const {
  if (!rounds_->broken) return;
  const int error_class = is_of_ended_process(rounds_->broken_class) ? rounds_->broken_class.load() : 0;
  throw Error(error_class != 0 ? ErrorKind::mpi : ErrorKind::unsupported,
              "an earlier sparse exchange on this communicator has failed", error_class);
}

/// What needs the caller's memory. A rank whose arguments are bad takes part, so that all learn it.
void SparseRound::prepare() {
  named_ = rounds_->finder;
  const std::exception_ptr bad_hint = failure_of([&] {
    // Also of a rank whose other arguments are bad, as all should find each other in the same way.
    if (call_.info == MPI_INFO_NULL) return;
    const HintTexts texts = hints_in(call_.info);
    if (texts.contains("lnw_find")) named_ = resolve_hints({{"lnw_find", texts.at("lnw_find")}}, {}).finder;
  });
  call_.failure = failure_of([&] {
    if (call_.failure) std::rethrow_exception(call_.failure);
    if (bad_hint) std::rethrow_exception(bad_hint);
    for (const SparseSet& set : call_.sets) require_host_memory(set.buffer);
    payloads_ = payloads_of(call_.sets, rounds_->comm->size(), call_.fixed_count);
    for (const Payload& payload : payloads_)
      require(payload.data.size() <= most_note_bytes, ErrorKind::unsupported,
              "more than 2 GiB to rank " + std::to_string(payload.peer) + " in one exchange");
    votes_.least = votes_.most = shape_of(call_.sets, call_.fixed_count, call_.answerer != nullptr);
  });
  if (call_.failure) {
    payloads_.clear();
    votes_.failed = rounds_->comm->rank();
  }
  votes_.degree = static_cast<std::int32_t>(payloads_.size());
  for (const Payload& payload : payloads_) votes_.bytes += static_cast<std::int64_t>(payload.data.size());
  const auto own = std::ranges::find(payloads_, rounds_->comm->rank(), &Payload::peer);
  if (own == payloads_.end()) return;
  own_note_ = std::move(*own);
  payloads_.erase(own);
}

void SparseRound::begin() {
  const RoundFacts facts = rounds_->facts(number_);
  const bool chosen = named_ == nullptr;
  if (chosen) {
    FinderChoice choice = choose_finder(facts, *rounds_->parameters);
    reasons_ = {choice.finder, true, std::move(choice.seconds), rounds_->parameters->name};
  } else {
    const bool cannot = named_->counts_in_memory && !has_windows(*rounds_->comm);
    reasons_.finder = cannot ? &find_finder("nbx") : named_;
  }
  const Way way{chosen ? reasons_.finder : named_, chosen, call_.answerer != nullptr};
  messenger_ = std::make_unique<MpiMessenger>(rounds_->comm, rounds_->tag(number_), static_cast<std::uint32_t>(number_),
                                              way.code());
  alarm_.emplace(*messenger_, way, votes_);
  const NodeRoute route = choose_route(*reasons_.finder, facts, *rounds_->parameters);
  finder_ =
      reasons_.finder->make(*messenger_, {rounds_->nodes, rounds_->board.board.get(), number_, route, way.code()});
  if (call_.answerer) answers_awaited_ = payloads_.size();
  finder_->start(std::move(payloads_), votes_);
  if (own_note_) on_node_message(std::move(*own_note_));
}

/// Requests are answered at once, while others still find their targets.
void SparseRound::on_node_message(Payload payload) {
  if (!call_.answerer) return received_.push_back(std::move(payload));
  Bytes answer;
  if (!call_.failure) call_.failure = failure_of([&] { answer = answer_payload(payload, call_.answerer); });
  if (payload.peer == messenger_->rank())
    answers_.push_back({payload.peer, std::move(answer)});
  else
    messenger_->send(payload.peer, Topic::answer, 0, std::move(answer));
}

void SparseRound::on(RoundMessage incoming) {
  if (incoming.topic == Topic::alarm) return alarm_->on(incoming);
  if (alarm_->raised()) return;
  if (incoming.topic != Topic::answer) return finder_->on(std::move(incoming));
  --answers_awaited_;
  answers_.push_back({incoming.source, std::move(incoming.data)});
}

bool SparseRound::advance() {
  if (over_) return true;
  if (!finder_) {
    if (!rounds_->may_begin(number_)) return false;
    begin();
  }
  // Ranks that only wait for a word leave the processors to those who have messages; others' still move.
  if (alarm_->raised() || finder_->listens() || ++deaf_turns_ % most_deaf_turns == 0)
    while (std::optional<RoundMessage> incoming = messenger_->take()) on(std::move(*incoming));
  if (messenger_->differs() || finder_->differs()) alarm_->raise();
  if (alarm_->raised()) {
    if (!alarm_->over() || !messenger_->idle()) return false;
  } else {
    const bool found = finder_->proceed();
    for (Payload& payload : finder_->take_received()) on_node_message(std::move(payload));
    if (!found || answers_awaited_ > 0 || !messenger_->idle()) return false;
  }
  over_ = true;
  if (rounds_->board.board) rounds_->board.board->complete(number_);
  rounds_->complete(number_, votes_of_all());
  return true;
}

std::vector<std::unique_ptr<Arrivals>> SparseRound::result() {
  if (call_.failure) std::rethrow_exception(call_.failure);
  const RoundVotes& votes = votes_of_all();
  require(votes.failed == RoundVotes::nobody, ErrorKind::argument,
          "rank " + std::to_string(votes.failed) + " has reported an error in this call");
  require(!alarm_->raised(), ErrorKind::argument, [&] { return alarm_->text(); });
  require(votes.agree(), ErrorKind::argument,
          "the ranks' calls differ: in the number of sets, the size of a datatype, sendcount, or the function");
  std::vector<std::unique_ptr<Arrivals>> arrivals;
  if (call_.answerer) {
    arrivals.push_back(answers_of(answers_, call_.sets.front()));
  } else {
    std::ranges::sort(received_, {}, &Payload::peer);
    arrivals = arrivals_of(received_, call_.sets.size());
  }
  reasons_.messages = messenger_->messages();
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    const SparseSet& set = call_.sets[i];
    Arrivals& here = *arrivals[i];
    if (!call_.answerer) here.element_bytes = type_map(set.type)->ranges.bytes();
    here.destinations = std::move(destinations_[i]);
    std::erase(here.destinations, MPI_PROC_NULL);
    here.reasons = reasons_;
    here.comm = rounds_->comm;
    here.error_handler = error_handler_;
    here.single = rounds_->single;
    here.have_helpers = rounds_->have_helpers;
  }
  return arrivals;
}

/// A round that goes on while the program does something else.
class SparseWork final : public Work {
 public:
  using Take = std::function<void(std::vector<std::unique_ptr<Arrivals>>)>;

  SparseWork(std::unique_ptr<SparseRound> round, Take take, Helper helper)
      : round_(std::move(round)), take_(std::move(take)) {
    employ(helper);
    activity_.list(*round_, progress_by(helper));
    activity_.begin();
  }

  [[nodiscard]] bool active() const override { return !finished_ && activity_.active(); }
  [[nodiscard]] bool test() override {
    if (finished_) return true;
    if (!activity_.test(nullptr)) return false;
    finished_ = true;
    take_(round_->result());
    return true;
  }
  [[nodiscard]] bool done() override { return activity_.done(nullptr); }

 private:
  std::unique_ptr<SparseRound> round_;
  Take take_;
  bool finished_ = false;
  Activity activity_;
};

}  // namespace

NodesOfRanks nodes_of_ranks(Communicator& communicator) {
  const std::shared_ptr<SparseRounds> rounds = rounds_of(communicator);
  return {rounds->comm, rounds->nodes, rounds->have_helpers};
}

std::vector<std::unique_ptr<Arrivals>> exchange_sparsely(Communicator& communicator, SparseCall call) {
  SparseRound round(communicator, std::move(call));
  progress_until([&] { return round.progress(); });
  return round.result();
}

std::unique_ptr<Request> start_sparse_exchange(Communicator& communicator, SparseCall call,
                                               std::function<void(std::vector<std::unique_ptr<Arrivals>>)> take) {
  auto round = std::make_unique<SparseRound>(communicator, std::move(call));
  const std::shared_ptr<PrivateComm> comm = round->rounds()->comm;
  round->begin_in_call();
  const Helper helper = find_helper(communicator.call_hints().progress);
  return std::make_unique<Request>(comm, communicator.error_handler(),
                                   std::make_unique<SparseWork>(std::move(round), std::move(take), helper),
                                   Reasons{.strategy = "sparse"}, Request::Life::nonblocking);
}

}  // namespace laneway
