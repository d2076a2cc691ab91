// What all ranks of a communicator must decide alike, compared under lnw_check=decisions. A difference would otherwise
// show as a hang somewhere later.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/process/attachments.hpp"
#include "communicator/communicator.hpp"

namespace laneway {

/// Ranks have decided differently.
class DecisionsDiffer : public Error {
 public:
  using Error::Error;
};

/// The decisions of a communicator since they were compared last, and how many there were before.
class Decisions final : public Attachment {
 public:
  void note(std::string decision);
  /// Collective: the first rank compares. Throws DecisionsDiffer on all ranks.
  void compare(const PrivateComm& comm);

  void on(Change) override { *this = {}; }
  Decisions() = default;
  Decisions& operator=(Decisions&& other) noexcept {
    before_ = other.before_;
    latest_ = std::move(other.latest_);
    return *this;
  }

 private:
  std::int64_t before_ = 0;
  std::deque<std::string> latest_;
};

/// Under lnw_check=decisions only: `text()` says what has been decided, which all ranks must have decided in this
/// order.
template <class Text>
void note_decision(Communicator& communicator, Text&& text) {
  if (communicator.call_hints().check_decisions) communicator.attachment<Decisions>().note(text());
}

/// Under lnw_check=decisions only, where all ranks are in a call that may wait for the others. Collective.
inline void compare_decisions(Communicator& communicator, const PrivateComm& comm) {
  if (communicator.call_hints().check_decisions) communicator.attachment<Decisions>().compare(comm);
}

}  // namespace laneway
