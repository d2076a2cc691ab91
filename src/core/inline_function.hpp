#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace laneway {

template <class Signature, std::size_t bytes = 128>
class InlineFunction;

/// As std::function, of what is so small and plain that it is kept without an allocation: lambdas that capture the
/// arguments of a call.
template <class Result, class... Arguments, std::size_t bytes>
class InlineFunction<Result(Arguments...), bytes> {
 public:
  InlineFunction(std::nullptr_t = nullptr) {}
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, InlineFunction> &&
           std::is_invocable_r_v<Result, const std::remove_cvref_t<F>&, Arguments...>) InlineFunction(F&& f) {
    using Kept = std::remove_cvref_t<F>;
    static_assert(std::is_trivially_copyable_v<Kept> && std::is_trivially_destructible_v<Kept>);
    static_assert(sizeof(Kept) <= bytes && alignof(Kept) <= alignof(std::max_align_t));
    ::new (static_cast<void*>(kept_)) Kept(std::forward<F>(f));
    call_ = [](const std::byte* kept, Arguments... arguments) -> Result {
      return (*std::launder(reinterpret_cast<const Kept*>(kept)))(std::forward<Arguments>(arguments)...);
    };
  }

  [[nodiscard]] explicit operator bool() const { return call_ != nullptr; }
  Result operator()(Arguments... arguments) const { return call_(kept_, std::forward<Arguments>(arguments)...); }

 private:
  Result (*call_)(const std::byte*, Arguments...) = nullptr;
  alignas(std::max_align_t) std::byte kept_[bytes] = {};
};

}  // namespace laneway
