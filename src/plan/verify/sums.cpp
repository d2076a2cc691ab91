#include "plan/verify/sums.hpp"

#include <algorithm>

namespace laneway::verification {

void Sums::append(std::vector<Term>& terms, const Origin& origin) const {
  if (!is_sum(origin)) {
    terms.push_back({origin.rank, origin.from, origin.exchange});
    return;
  }
  for (const Term& term : sum(origin).terms)
    terms.push_back({term.rank, origin.from + term.from, origin.exchange + term.exchange});
}

Origin Sums::combine(const Origin& to, const Origin& from, const Combination& how) {
  Sum result{{how.operation, how.datatype, how.in_order, true}, {}};
  const auto fits = [&](const Origin& operand) { return !is_sum(operand) || sum(operand).how == result.how; };
  const bool is_partial = how.in_order && is_sum(from);
  std::get<3>(result.how) = fits(to) && fits(from) && !is_partial;
  append(result.terms, to);
  append(result.terms, from);
  if (!how.in_order) std::sort(result.terms.begin(), result.terms.end());
  const Term first = result.terms.front();
  for (Term& term : result.terms) {
    term.from -= first.from;
    term.exchange -= first.exchange;
  }
  const auto [it, is_new] = known_.try_emplace(std::move(result), -1 - static_cast<Rank>(sums_.size()));
  if (is_new) sums_.push_back(&it->first);
  return {to.begin, to.end, it->second, first.from, first.exchange};
}

std::string Sums::describe(const Term& term) const {
  const bool is_initial = term.rank >= ranks_;
  return "byte " + std::to_string(term.from) + (is_initial ? " received by rank " : " of rank ") +
         std::to_string(is_initial ? term.rank - ranks_ : term.rank) +
         (term.exchange > 1 ? " in exchange " + std::to_string(term.exchange) : "");
}

std::string Sums::describe(const Origin& origin, std::int64_t at) const {
  Origin byte = origin.part(at, at + 1);
  std::vector<Term> terms;
  append(terms, byte);
  std::string text;
  for (const Term& term : terms) text += (text.empty() ? "" : " + ") + describe(term);
  if (!is_sum(origin)) return text;
  const auto& [operation, datatype, in_order, is_asked_for] = sum(origin).how;
  return "the " + operation + " of " + text + (is_asked_for ? "" : ", combined otherwise");
}

}  // namespace laneway::verification
