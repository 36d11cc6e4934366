#include "text/loose_json.h"

#include <cstddef>
#include <cstdint>

#include "base/json.h"
#include "base/utf8.h"
#include "text/text_gate.h"

namespace lirio {
namespace {

using Kind = LooseValue::Kind;

constexpr int kMaxDepth = 200;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
}

/// The value of a hexadecimal digit, or -1.
int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) { skip_space(); }

  bool at_end() {
    skip_space();
    return rest_.empty();
  }

  /// Appends the next value to `out` as JSON; `text` receives what a string says.
  bool value(int depth, Kind& kind, std::string& out, std::string& text) {
    if (rest_.empty() || depth > kMaxDepth) return false;
    const char first = rest_.front();
    if (first == '{') {
      kind = Kind::kObject;
      return object(depth, out);
    }
    if (first == '[' || first == '(') {
      kind = Kind::kArray;
      return array(depth, first == '[' ? ']' : ')', out);
    }
    if (first == '"' || first == '\'') {
      kind = Kind::kString;
      text.clear();
      if (!string(text)) return false;
      json::append_string(out, text);
      return true;
    }
    return is_digit(first) || first == '-' || first == '+' || first == '.' ? number(kind, out)
                                                                           : word(kind, out);
  }

  /// Reads an object, giving each member's key to `on_key`, which then reads the value.
  template <typename OnKey>
  bool members(OnKey on_key) {
    take('{');
    while (!take('}')) {
      std::string key;
      if (rest_.empty() || (rest_.front() != '"' && rest_.front() != '\'') || !string(key) || !take(':'))
        return false;
      if (!on_key(std::move(key))) return false;
      if (!take(',') && !next_is('}')) return false;
    }
    return true;
  }

  bool next_is(char c) {
    skip_space();
    return !rest_.empty() && rest_.front() == c;
  }

 private:
  void skip_space() {
    while (!rest_.empty() && is_layout_space(rest_.front()))
      rest_.remove_prefix(1);
  }

  /// Takes `c` and the space around it.
  bool take(char c) {
    if (!next_is(c)) return false;
    rest_.remove_prefix(1);
    skip_space();
    return true;
  }

  bool object(int depth, std::string& out) {
    out += '{';
    bool first = true;
    std::string text;
    const bool right = members([&](std::string key) {
      if (!first) out += ',';
      first = false;
      json::append_string(out, key);
      out += ':';
      Kind kind;
      return value(depth + 1, kind, out, text);
    });
    out += '}';
    return right;
  }

  bool array(int depth, char closer, std::string& out) {
    rest_.remove_prefix(1);
    out += '[';
    bool first = true;
    std::string text;
    while (!take(closer)) {
      if (!first) out += ',';
      first = false;
      Kind kind;
      if (!value(depth + 1, kind, out, text)) return false;
      if (!take(',') && !next_is(closer)) return false;
    }
    out += ']';
    return true;
  }

  bool number(Kind& kind, std::string& out) {
    std::size_t length = 0;
    while (length < rest_.size() && (is_word_character(rest_[length]) || rest_[length] == '+' ||
                                     rest_[length] == '-' || rest_[length] == '.')) {
      ++length;
    }
    const auto json = to_json_number(rest_.substr(0, length));
    if (!json) return false;
    kind = Kind::kNumber;
    out += *json;
    rest_.remove_prefix(length);
    return true;
  }

  bool word(Kind& kind, std::string& out) {
    std::size_t length = 0;
    while (length < rest_.size() && is_word_character(rest_[length]))
      ++length;
    const std::string_view name = rest_.substr(0, length);
    rest_.remove_prefix(length);
    if (name == "true" || name == "True" || name == "false" || name == "False") {
      kind = Kind::kBoolean;
      out += name == "true" || name == "True" ? "true" : "false";
      return true;
    }
    kind = Kind::kNull;
    out += "null";
    return name == "null" || name == "None";
  }

  bool string(std::string& out) {
    const char quote = rest_.front();
    rest_.remove_prefix(1);
    while (true) {
      const char ends[] = {quote, '\\'};
      const std::size_t plain = rest_.find_first_of(std::string_view(ends, 2));
      if (plain == std::string_view::npos) return false;
      out += rest_.substr(0, plain);
      const bool escape = rest_[plain] == '\\';
      rest_.remove_prefix(plain + 1);
      if (!escape) return true;
      if (rest_.empty()) return false;
      read_escape(out);
    }
  }

  void read_escape(std::string& out) {
    static constexpr std::string_view kLetters = "\"\\/'bfnrtav";
    static constexpr std::string_view kMeanings = "\"\\/'\b\f\n\r\t\a\v";
    const char letter = rest_.front();
    const std::size_t index = kLetters.find(letter);
    if (index != std::string_view::npos) {
      out += kMeanings[index];
      rest_.remove_prefix(1);
      return;
    }
    const std::size_t digits = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
    auto code_point = digits > 0 ? hex(1, digits) : std::nullopt;
    if (!code_point) {  // a regular expression's \d, say
      out += '\\';
      return;
    }
    rest_.remove_prefix(1 + digits);
    if (*code_point >= 0xD800 && *code_point < 0xDC00 && rest_.starts_with("\\u")) {
      const auto low = hex(2, 4);
      if (low && *low >= 0xDC00 && *low < 0xE000) {
        code_point = 0x10000 + ((*code_point - 0xD800) << 10) + (*low - 0xDC00);
        rest_.remove_prefix(6);
      }
    }
    const bool scalar = *code_point <= 0x10FFFF && (*code_point < 0xD800 || *code_point >= 0xE000);
    append_utf8(out, scalar ? static_cast<char32_t>(*code_point) : kReplacementCharacter);
  }

  /// The number that `digits` hexadecimal digits at `at` spell.
  std::optional<uint32_t> hex(std::size_t at, std::size_t digits) const {
    if (rest_.size() < at + digits) return std::nullopt;
    uint32_t value = 0;
    for (std::size_t i = at; i < at + digits; ++i) {
      const int digit = hex_value(rest_[i]);
      if (digit < 0) return std::nullopt;
      value = value << 4 | static_cast<uint32_t>(digit);
    }
    return value;
  }

  std::string_view rest_;
};

}  // namespace

std::optional<LooseValue> read_loose_json(std::string_view text) {
  Reader reader(text);
  LooseValue value;
  if (!reader.value(0, value.kind, value.json, value.text) || !reader.at_end()) return std::nullopt;
  return value;
}

std::optional<std::vector<LooseMember>> read_loose_object(std::string_view text) {
  Reader reader(text);
  if (!reader.next_is('{')) return std::nullopt;
  std::vector<LooseMember> members;
  const bool right = reader.members([&](std::string key) {
    members.push_back({std::move(key), {}});
    LooseValue& value = members.back().value;
    return reader.value(1, value.kind, value.json, value.text);
  });
  if (!right || !reader.at_end()) return std::nullopt;
  return members;
}

std::optional<std::string> to_json_number(std::string_view text) {
  std::string out;
  if (text.starts_with('+') || text.starts_with('-')) {
    if (text.front() == '-') out += '-';
    text.remove_prefix(1);
  }
  const auto digits = [&text] {
    std::size_t length = 0;
    while (length < text.size() && is_digit(text[length]))
      ++length;
    const std::string_view found = text.substr(0, length);
    text.remove_prefix(length);
    return found;
  };
  std::string_view whole = digits();
  std::string_view fraction;
  const bool point = text.starts_with('.');
  if (point) {
    text.remove_prefix(1);
    fraction = digits();
  }
  if (whole.empty() && fraction.empty()) return std::nullopt;
  while (whole.size() > 1 && whole.front() == '0')
    whole.remove_prefix(1);
  out += whole.empty() ? "0" : whole;
  if (point) {
    out += '.';
    out += fraction.empty() ? "0" : fraction;
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    out += text.front();
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-')) {
      out += text.front();
      text.remove_prefix(1);
    }
    const std::string_view exponent = digits();
    if (exponent.empty()) return std::nullopt;
    out += exponent;
  }
  if (!text.empty()) return std::nullopt;
  return out;
}

}  // namespace lirio
