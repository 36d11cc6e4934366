#include "base/json.h"

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/utf8.h"

namespace lirio::json {
namespace {

[[noreturn]] void wrong_type(const std::string& source, std::string_view key, const char* expected,
                             Element found) {
  static constexpr const char* kNames[] = {"an array", "an object", "an integer", "an integer too large",
                                           "a number", "a string",  "a boolean",  "null"};
  const std::string_view tags = "[{lud\"tn";
  const std::size_t index = tags.find(static_cast<char>(found.type()));
  throw Error(fmt::format("{}: field '{}' is {}, expected {}", source, key,
                          index == std::string_view::npos ? "of another type" : kNames[index], expected),
              "Correct the field, or fetch the file again.");
}

template <typename T>
std::optional<T> get(Object object, std::string_view key, const std::string& source, const char* expected) {
  const std::optional<Element> element = find(object, key);
  if (!element) return std::nullopt;
  T value;
  if (element->get(value) != simdjson::SUCCESS) wrong_type(source, key, expected, *element);
  return value;
}

}  // namespace

Document::Document(std::string_view text, std::string source) : source_(std::move(source)) {
  if (text.data() == nullptr) text = "";  // of an empty file
  if (const auto error = parser_.parse(text.data(), text.size()).get(root_)) {
    throw Error(fmt::format("{}: not valid JSON: {}", source_, simdjson::error_message(error)),
                "The file may be damaged or incomplete; fetch it again.");
  }
}

Document Document::from_file(const std::filesystem::path& path) {
  const MappedFile file(path);
  return Document({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}, path.string());
}

Object Document::root_object() const {
  Object object;
  if (root_.get(object) != simdjson::SUCCESS) {
    throw Error(fmt::format("{}: expected a JSON object at the top", source_), "Fetch the file again.");
  }
  return object;
}

std::optional<Element> find(Object object, std::string_view key) {
  Element element;
  if (object.at_key(key).get(element) != simdjson::SUCCESS || element.is_null()) return std::nullopt;
  return element;
}

std::optional<int64_t> get_int(Object object, std::string_view key, const std::string& source) {
  return get<int64_t>(object, key, source, "an integer");
}

std::optional<double> get_double(Object object, std::string_view key, const std::string& source) {
  return get<double>(object, key, source, "a number");
}

std::optional<bool> get_bool(Object object, std::string_view key, const std::string& source) {
  return get<bool>(object, key, source, "a boolean");
}

std::optional<std::string_view> get_string(Object object, std::string_view key, const std::string& source) {
  return get<std::string_view>(object, key, source, "a string");
}

std::optional<Object> get_object(Object object, std::string_view key, const std::string& source) {
  return get<Object>(object, key, source, "an object");
}

std::optional<Array> get_array(Object object, std::string_view key, const std::string& source) {
  return get<Array>(object, key, source, "an array");
}

void append_string(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out.push_back('"');
  while (!text.empty()) {
    const Utf8Unit unit = decode_utf8(text);
    switch (unit.code_point) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (unit.code_point < 0x20) {
          out += "\\u00";
          out.push_back(kHex[unit.code_point >> 4]);
          out.push_back(kHex[unit.code_point & 15]);
        } else {
          append_utf8(out, unit.code_point);
        }
    }
    text.remove_prefix(unit.length);
  }
  out.push_back('"');
}

}  // namespace lirio::json
