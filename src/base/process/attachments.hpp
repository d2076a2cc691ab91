#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace laneway {

/// What another part keeps with an object, found by its type.
class Attachment {
 public:
  /// What has changed of the object.
  enum class Change : std::uint8_t {
    replaced,  ///< what its ranks communicate on
    unsure     ///< the same, and what its ranks have found out together may not be known to all of them
  };

  Attachment() = default;
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;
  virtual ~Attachment() = default;

  virtual void on(Change) {}
  /// The object's ranks free what they communicate on, all of them.
  virtual void close() noexcept {}

 private:
  friend class Attachments;
  const void* type_ = nullptr;
  Attachment* next_ = nullptr;
};

/// One Attachment of each type, made when it is first asked for. Any thread may ask: there is no lock, and what is
/// there stays there.
class Attachments {
 public:
  Attachments() = default;
  Attachments(const Attachments&) = delete;
  Attachments& operator=(const Attachments&) = delete;
  ~Attachments() {
    for (const Attachment* one = first_.load(std::memory_order_acquire); one != nullptr;)
      delete std::exchange(one, one->next_);
  }

  /// Null if there is none.
  template <class T>
  [[nodiscard]] T* find() const {
    for (Attachment* one = first_.load(std::memory_order_acquire); one != nullptr; one = one->next_)
      if (one->type_ == &type_of<T>) return static_cast<T*>(one);
    return nullptr;
  }

  template <class T>
  [[nodiscard]] T& get() {
    if (T* const known = find<T>()) return *known;
    auto made = std::make_unique<T>();
    Attachment& base = *made;
    base.type_ = &type_of<T>;
    base.next_ = first_.load(std::memory_order_acquire);
    while (!first_.compare_exchange_weak(base.next_, &base, std::memory_order_acq_rel))
      if (T* const known = find<T>()) return *known;  // another thread was faster
    return *made.release();
  }

  void notify(Attachment::Change change) const {
    for (Attachment* one = first_.load(std::memory_order_acquire); one != nullptr; one = one->next_) one->on(change);
  }
  void close() const noexcept {
    for (Attachment* one = first_.load(std::memory_order_acquire); one != nullptr; one = one->next_) one->close();
  }

 private:
  template <class T>
  static inline const char type_of = 0;

  std::atomic<Attachment*> first_{nullptr};
};

}  // namespace laneway
