// JSON: reading through simdjson's DOM (key order kept, linear time) and writing strings. The only user of
// simdjson. Readers name the source and the field in what they throw. A Document is not thread-safe; parsed
// elements are read-only views that live as long as their Document.
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace lirio::json {

using Element = simdjson::dom::element;
using Object = simdjson::dom::object;
using Array = simdjson::dom::array;

/// A parsed text and the name under which errors speak of it (a path, "request").
class Document {
 public:
  /// Throws Error naming `source` when the text isn't JSON.
  Document(std::string_view text, std::string source);
  static Document from_file(const std::filesystem::path& path);
  Document(const Document&) = delete;  // elements point into it
  Document& operator=(const Document&) = delete;

  Element root() const { return root_; }
  const std::string& source() const { return source_; }

  /// The root as an object; throws Error otherwise.
  Object root_object() const;

 private:
  std::string source_;
  simdjson::dom::parser parser_;
  Element root_;
};

/// The member `key`, or nothing when it is absent or null.
std::optional<Element> find(Object object, std::string_view key);

// Typed members: nothing when absent or null; throws Error naming `source` and `key` when of another type.
std::optional<int64_t> get_int(Object object, std::string_view key, const std::string& source);
std::optional<double> get_double(Object object, std::string_view key, const std::string& source);
std::optional<bool> get_bool(Object object, std::string_view key, const std::string& source);
std::optional<std::string_view> get_string(Object object, std::string_view key, const std::string& source);
std::optional<Object> get_object(Object object, std::string_view key, const std::string& source);
std::optional<Array> get_array(Object object, std::string_view key, const std::string& source);

/// Appends `text` as a JSON string, quotes included. Invalid UTF-8 bytes become U+FFFD.
void append_string(std::string& out, std::string_view text);

}  // namespace lirio::json
