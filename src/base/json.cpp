#include "base/json.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <ostream>

namespace laneway {

namespace {

/// Reading and writing use a frame of the stack for each level.
constexpr std::size_t deepest = 200;

constexpr std::array kind_names = {"null",     "a boolean", "a whole number", "a whole number",
                                   "a number", "a text",    "an array",       "an object"};

}  // namespace

/// Makes a value from what the library's parser reports.
class JsonReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit JsonReader(Json& root) : root_(root) {}

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*size*/) override { return open(Json::object()); }
  bool key(string_t& value) override {
    key_ = std::move(value);
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t /*size*/) override { return open(Json::array()); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    throw JsonError(error.what());
  }

 private:
  bool add(Json value) {
    place() = std::move(value);
    return true;
  }
  bool open(Json empty) {
    if (open_.size() == deepest) throw JsonError("JSON is nested too deeply");
    Json& made = place();
    made = std::move(empty);
    open_.push_back(&made);
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }
  /// Of the next value: those before it in the same array do not move while it is open.
  Json& place() {
    if (open_.empty()) return root_;
    Json& around = *open_.back();
    if (around.is_object()) return around[key_];
    around.push_back(nullptr);
    return around.back();
  }

  Json& root_;
  std::vector<Json*> open_;
  std::string key_;
};

/// Makes what the library writes.
class JsonWriter {
 public:
  [[nodiscard]] static nlohmann::ordered_json of(const Json& json) {
    switch (json.kind_) {
      case Json::Kind::null:
        return nullptr;
      case Json::Kind::boolean:
        return json.number_ != 0;
      case Json::Kind::integer:
        return static_cast<std::int64_t>(json.number_);
      case Json::Kind::natural:
        return json.number_;
      case Json::Kind::real:
        return json.real_;
      case Json::Kind::text:
        return json.text_;
      case Json::Kind::array:
        break;
      case Json::Kind::object:
        return object(json);
    }
    nlohmann::ordered_json items = nlohmann::ordered_json::array();
    for (const Json& item : json.items_) items.push_back(of(item));
    return items;
  }

 private:
  [[nodiscard]] static nlohmann::ordered_json object(const Json& json) {
    nlohmann::ordered_json members = nlohmann::ordered_json::object();
    for (const auto& [key, value] : json.members_) members.emplace(key, of(value));
    return members;
  }
};

Json::Json(const char* text) : kind_(Kind::text), text_(text) {}
Json::Json(std::string text) : kind_(Kind::text), text_(std::move(text)) {}
Json::Json(std::string_view text) : kind_(Kind::text), text_(text) {}

Json::Json(std::initializer_list<Json> values) {
  const bool names = std::ranges::all_of(
      values, [](const Json& value) { return value.items_.size() == 2 && value.items_.front().is_string(); });
  kind_ = names ? Kind::object : Kind::array;
  if (!names) items_ = values;
  if (names)
    for (const Json& value : values) (*this)[value.items_[0].text_] = value.items_[1];
}

Json Json::array(std::initializer_list<Json> values) {
  Json json;
  json.kind_ = Kind::array;
  json.items_ = values;
  return json;
}

Json Json::object() {
  Json json;
  json.kind_ = Kind::object;
  return json;
}

Json Json::parse(std::string_view text) {
  Json json;
  JsonReader reader(json);
  if (!nlohmann::json::sax_parse(text, &reader)) throw JsonError("this is not JSON");
  return json;
}

std::string Json::dump(int indent) const {
  return JsonWriter::of(*this).dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::size_t Json::size() const {
  return kind_ == Kind::object ? members_.size() : kind_ == Kind::array ? items_.size() : is_null() ? 0 : 1;
}

void Json::refuse(const char* wanted) const {
  throw JsonError(std::string("expected ") + wanted + ", found " + kind_names[static_cast<std::size_t>(kind_)]);
}

bool Json::boolean() const {
  if (kind_ != Kind::boolean) refuse("a boolean");
  return number_ != 0;
}

std::uint64_t Json::integer() const {
  if (kind_ != Kind::integer && kind_ != Kind::natural) refuse("a whole number");
  return number_;
}

double Json::real() const {
  if (kind_ == Kind::integer) return static_cast<double>(static_cast<std::int64_t>(number_));
  if (kind_ == Kind::natural) return static_cast<double>(number_);
  if (kind_ != Kind::real) refuse("a number");
  return real_;
}

const std::string& Json::string() const {
  if (kind_ != Kind::text) refuse("a text");
  return text_;
}

void Json::push_back(Json value) {
  if (is_null()) kind_ = Kind::array;
  if (!is_array()) refuse("an array");
  items_.push_back(std::move(value));
}

Json& Json::back() {
  if (!is_array() || items_.empty()) refuse("an array with items");
  return items_.back();
}

Json& Json::operator[](std::string_view key) {
  if (is_null()) kind_ = Kind::object;
  if (!is_object()) refuse("an object");
  for (auto& [name, value] : members_)
    if (name == key) return value;
  return members_.emplace_back(std::string(key), Json()).second;
}

const Json& Json::at(std::string_view key) const {
  if (!is_object()) refuse("an object");
  const Json* found = find(key);
  if (found == nullptr) throw JsonError("there is no '" + std::string(key) + "'");
  return *found;
}

const Json& Json::at(std::size_t index) const {
  if (!is_array()) refuse("an array");
  if (index >= items_.size()) throw JsonError("an array has " + std::to_string(items_.size()) + " items only");
  return items_[index];
}

const Json* Json::find(std::string_view key) const {
  const auto found =
      std::ranges::find(members_, key, [](const auto& member) -> std::string_view { return member.first; });
  return found == members_.end() ? nullptr : &found->second;
}

void Json::update(const Json& object) {
  for (const auto& [key, value] : object.members_) (*this)[key] = value;
}

std::ostream& operator<<(std::ostream& out, const Json& json) {
  return out << json.dump();
}

}  // namespace laneway
