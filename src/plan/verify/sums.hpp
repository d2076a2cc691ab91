#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "plan/plan.hpp"
#include "plan/verify/contents.hpp"

namespace laneway::verification {

/// Names what results when bytes are combined, so that equal sums have equal names: an Origin whose rank is negative is
/// of a sum. Sums are multisets, or sequences where the operands may not be exchanged, of (rank, offset).
///
/// What a rank's receive buffer holds before an exchange has the origin (ranks + rank, offset).
class Sums {
 public:
  explicit Sums(Rank ranks) : ranks_(ranks) {}

  /// What (offset) of a receive buffer holds before anything is combined.
  [[nodiscard]] Origin initial(Rank rank, std::int64_t begin, std::int64_t end, int exchange) const {
    return {begin, end, ranks_ + rank, begin, exchange};
  }
  /// to op from, both of as many bytes. Sums of other operators, and partial sums where order matters, are no sums that
  /// anybody asks for.
  [[nodiscard]] Origin combine(const Origin& to, const Origin& from, const Combination& how);
  /// Of the byte `at` of the origin.
  [[nodiscard]] std::string describe(const Origin& origin, std::int64_t at) const;

 private:
  struct Term {
    Rank rank = 0;
    std::int64_t from = 0;
    int exchange = 0;

    friend auto operator<=>(const Term&, const Term&) = default;
  };
  /// The first term is from 0, of exchange 0: those of a sum are relative to that.
  struct Sum {
    std::tuple<std::string, std::string, bool, bool> how;  // the last: whether it is what somebody may ask for
    std::vector<Term> terms;

    friend auto operator<=>(const Sum&, const Sum&) = default;
  };

  [[nodiscard]] bool is_sum(const Origin& origin) const { return origin.rank < 0; }
  [[nodiscard]] const Sum& sum(const Origin& origin) const {
    return *sums_[static_cast<std::size_t>(-1 - origin.rank)];
  }
  void append(std::vector<Term>& terms, const Origin& origin) const;
  [[nodiscard]] std::string describe(const Term& term) const;

  Rank ranks_;
  std::map<Sum, Rank> known_;
  std::vector<const Sum*> sums_;
};

}  // namespace laneway::verification
