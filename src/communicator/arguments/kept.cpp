#include "communicator/arguments/kept.hpp"

namespace laneway {

KeptIntegers::KeptIntegers(const Integers& given, std::int64_t entries)
    : is_null_(given.null()), is_wide_(given.wide()) {
  for (std::int64_t i = 0; i < entries && !is_null_; ++i)
    is_wide_ ? wide_.push_back(given[i]) : narrow_.push_back(static_cast<int>(given[i]));
}

KeptIntegers::KeptIntegers(const std::vector<std::int64_t>& values, bool is_wide) : is_null_(false), is_wide_(is_wide) {
  if (is_wide)
    wide_ = values;
  else
    for (const std::int64_t value : values) narrow_.push_back(static_cast<int>(value));
}

Integers KeptIntegers::get() const {
  static constexpr int none = 0;
  if (is_null_) return {};
  if (is_wide_) return wide_.data() != nullptr ? Integers(wide_.data()) : Integers(static_cast<const int*>(&none));
  return {narrow_.data() != nullptr ? narrow_.data() : &none};
}

std::int64_t KeptIntegers::bytes() const {
  return static_cast<std::int64_t>(narrow_.size() * sizeof(int) + wide_.size() * sizeof(std::int64_t));
}

KeptSide::KeptSide(const SideArguments& given, std::int64_t entries, const std::vector<int>& slots)
    : count_(given.count),
      counts_(given.counts, entries),
      displacements_(given.displacements, entries),
      is_indexed_(given.indices != nullptr),
      type_name_(given.type_name) {
  std::int64_t named = 0;  // by indices
  for (std::int64_t i = 0; i < entries && is_indexed_; ++i) named += given.counts[i];
  if (given.lengths == nullptr) {
    if (is_indexed_) indices_.assign(given.indices, given.indices + named);
  } else {
    for (std::int64_t run = 0; named > 0; named -= given.lengths[run++]) {
      indices_.push_back(given.indices[run]);
      lengths_.push_back(given.lengths[run]);
    }
  }
  if (given.types == nullptr) {
    type_ = std::make_unique<const HeldType>(given.type);
    return;
  }
  has_list_ = true;
  types_.resize(static_cast<std::size_t>(entries));
  std::shared_ptr<const HeldType> held;
  MPI_Datatype before = MPI_DATATYPE_NULL;
  for (const int slot : slots) {
    if (!held || given.types[slot] != before) held = std::make_shared<const HeldType>(before = given.types[slot]);
    types_[static_cast<std::size_t>(slot)] = held;
  }
}

SideArguments KeptSide::get(std::vector<MPI_Datatype>& handles) const {
  static constexpr MPI_Count none = 0;
  SideArguments arguments{.count = count_, .counts = counts_.get(), .displacements = displacements_.get()};
  if (is_indexed_) arguments.indices = indices_.empty() ? &none : indices_.data();
  if (type_) {
    arguments.type = type_->get();
  } else if (has_list_) {
    handles.assign(1, MPI_DATATYPE_NULL);  // not null where there are no blocks
    for (const auto& type : types_) handles.push_back(type ? type->get() : MPI_DATATYPE_NULL);
    arguments.types = handles.data() + 1;
  }
  if (!lengths_.empty()) arguments.lengths = lengths_.data();
  arguments.type_name = type_name_;
  return arguments;
}

std::int64_t KeptSide::bytes() const {
  return counts_.bytes() + displacements_.bytes() +
         static_cast<std::int64_t>((indices_.size() + lengths_.size()) * sizeof(MPI_Count) +
                                   types_.size() * sizeof(types_[0]));
}

}  // namespace laneway
