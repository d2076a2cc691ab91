#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace laneway {

/// A text that is no JSON, or a value of another kind than is asked for.
class JsonError : public Error {
 public:
  explicit JsonError(const std::string& message) : Error(ErrorKind::argument, message) {}
};

/// A JSON value. Objects keep the order in which their members were added. Its library, which takes seconds to compile,
/// is included by json.cpp alone. What does not fit (another kind, no such member) is a JsonError.
class Json {
 public:
  using Members = std::vector<std::pair<std::string, Json>>;

  Json() = default;
  Json(std::nullptr_t) {}
  template <std::same_as<bool> Boolean>
  Json(Boolean value) : kind_(Kind::boolean), number_(value ? 1 : 0) {}
  template <std::integral Integer>
  requires(!std::same_as<Integer, bool>) Json(Integer value)
      : kind_(std::signed_integral<Integer> ? Kind::integer : Kind::natural),
        number_(static_cast<std::uint64_t>(value)) {}
  Json(double value) : kind_(Kind::real), real_(value) {}
  Json(const char* text);
  Json(std::string text);
  Json(std::string_view text);
  template <class T>
  Json(std::span<const T> values) : kind_(Kind::array) {
    for (const T& value : values) push_back(value);
  }
  template <class T>
  Json(const std::vector<T>& values) : kind_(Kind::array) {
    for (const T& value : values) push_back(value);
  }
  template <class T>
  Json(const std::map<std::string, T>& values) : kind_(Kind::object) {
    for (const auto& [key, value] : values) (*this)[key] = value;
  }
  /// An object if each value is an array of a text and one value more; an array otherwise.
  Json(std::initializer_list<Json> values);

  [[nodiscard]] static Json array(std::initializer_list<Json> values = {});
  [[nodiscard]] static Json object();
  /// Throws where the text is none, or nested deeper than any that this project writes.
  [[nodiscard]] static Json parse(std::string_view text);
  /// In one line, or with so many spaces a level. What is not UTF-8 is replaced.
  [[nodiscard]] std::string dump(int indent = -1) const;

  [[nodiscard]] bool is_null() const { return kind_ == Kind::null; }
  [[nodiscard]] bool is_array() const { return kind_ == Kind::array; }
  [[nodiscard]] bool is_object() const { return kind_ == Kind::object; }
  [[nodiscard]] bool is_string() const { return kind_ == Kind::text; }
  [[nodiscard]] bool is_integer() const { return kind_ == Kind::integer; }
  /// An integer that is not negative, as parsed or made of an unsigned type.
  [[nodiscard]] bool is_natural() const { return kind_ == Kind::natural; }

  template <class T>
  [[nodiscard]] T get() const {
    if constexpr (std::same_as<T, bool>)
      return boolean();
    else if constexpr (std::integral<T>)
      return static_cast<T>(integer());
    else if constexpr (std::floating_point<T>)
      return static_cast<T>(real());
    else
      return string();
  }

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] const std::vector<Json>& items() const { return items_; }
  [[nodiscard]] const Members& members() const { return members_; }
  [[nodiscard]] auto begin() const { return items_.begin(); }
  [[nodiscard]] auto end() const { return items_.end(); }

  /// A null value becomes an array.
  void push_back(Json value);
  [[nodiscard]] Json& back();
  /// A null value becomes an object; a member that is not there is added.
  Json& operator[](std::string_view key);
  [[nodiscard]] const Json& operator[](std::string_view key) const { return at(key); }
  [[nodiscard]] const Json& operator[](std::size_t index) const { return at(index); }
  [[nodiscard]] Json& operator[](std::size_t index) { return const_cast<Json&>(at(index)); }
  [[nodiscard]] const Json& at(std::string_view key) const;
  [[nodiscard]] const Json& at(std::size_t index) const;
  /// Null where it is not there.
  [[nodiscard]] const Json* find(std::string_view key) const;
  [[nodiscard]] bool contains(std::string_view key) const { return find(key) != nullptr; }
  template <class T>
  [[nodiscard]] T value(std::string_view key, T otherwise) const {
    const Json* found = find(key);
    return found ? found->get<T>() : otherwise;
  }
  /// Sets the members of another object.
  void update(const Json& object);

  /// Whether both are written alike.
  friend bool operator==(const Json& a, const Json& b) { return a.dump() == b.dump(); }
  friend std::ostream& operator<<(std::ostream& out, const Json& json);

 private:
  enum class Kind : std::uint8_t { null, boolean, integer, natural, real, text, array, object };

  [[noreturn]] void refuse(const char* wanted) const;
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] std::uint64_t integer() const;
  [[nodiscard]] double real() const;
  [[nodiscard]] const std::string& string() const;

  friend class JsonReader;
  friend class JsonWriter;

  Kind kind_ = Kind::null;
  std::uint64_t number_ = 0;
  double real_ = 0;
  std::string text_;
  std::vector<Json> items_;
  Members members_;
};

}  // namespace laneway
