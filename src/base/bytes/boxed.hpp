#pragma once

#include <memory>
#include <optional>
#include <utility>

namespace laneway {

/// An optional value that takes one pointer where it is absent, and memory of its own where it is there: for what few
/// of many objects have. Copies and compares as the value does.
template <class T>
class Boxed {
 public:
  Boxed() = default;
  Boxed(std::nullopt_t) {}
  Boxed(const T& value) : value_(std::make_unique<T>(value)) {}
  Boxed(const Boxed& other) : value_(other ? std::make_unique<T>(*other) : nullptr) {}
  Boxed(Boxed&& other) noexcept = default;
  Boxed& operator=(Boxed other) noexcept {
    value_ = std::move(other.value_);
    return *this;
  }
  ~Boxed() = default;

  [[nodiscard]] bool has_value() const { return value_ != nullptr; }
  explicit operator bool() const { return has_value(); }
  [[nodiscard]] T& operator*() { return *value_; }
  [[nodiscard]] const T& operator*() const { return *value_; }
  [[nodiscard]] T* operator->() { return value_.get(); }
  [[nodiscard]] const T* operator->() const { return value_.get(); }

  friend bool operator==(const Boxed& a, const Boxed& b) { return a && b ? *a == *b : a.has_value() == b.has_value(); }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace laneway
