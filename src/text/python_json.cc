#include "text/python_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "base/json.h"
#include "base/utf8.h"

namespace lirio {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

std::optional<uint32_t> hex_digit(char c) {
  if (is_digit(c)) return static_cast<uint32_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<uint32_t>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<uint32_t>(c - 'A' + 10);
  return std::nullopt;
}

/// The four digits at the start of `text` as a number, or nothing.
std::optional<char32_t> hex4(std::string_view text) {
  if (text.size() < 4) return std::nullopt;
  char32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const std::optional<uint32_t> digit = hex_digit(text[i]);
    if (!digit) return std::nullopt;
    value = value << 4 | *digit;
  }
  return value;
}

bool is_high_surrogate(char32_t c) {
  return c >= 0xD800 && c <= 0xDBFF;
}
bool is_low_surrogate(char32_t c) {
  return c >= 0xDC00 && c <= 0xDFFF;
}

/// Reads the escape that `text` goes on with after its backslash; it was checked while parsing.
void append_escape(std::string_view& text, std::string& out) {
  const char letter = text[0];
  text.remove_prefix(1);
  switch (letter) {
    case 'b':
      out += '\b';
      return;
    case 'f':
      out += '\f';
      return;
    case 'n':
      out += '\n';
      return;
    case 'r':
      out += '\r';
      return;
    case 't':
      out += '\t';
      return;
    case 'u':
      break;
    default:
      out += letter;
      return;
  }
  char32_t code = *hex4(text);
  text.remove_prefix(4);
  if (is_high_surrogate(code) && text.starts_with("\\u")) {
    const std::optional<char32_t> low = hex4(text.substr(2));
    if (low && is_low_surrogate(*low)) {
      code = 0x10000 + ((code - 0xD800) << 10) + (*low - 0xDC00);
      text.remove_prefix(6);
    }
  }
  append_utf8(out, code >= 0xD800 && code <= 0xDFFF ? kReplacementCharacter : code);
}

std::string unescape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t plain = std::min(text.find('\\'), text.size());
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    text.remove_prefix(1);
    append_escape(text, out);
  }
  return out;
}

/// Whether a number that is neither zero nor within a double's range is too large rather than too small.
bool is_huge(std::string_view number) {
  const std::size_t exponent_mark = number.find_first_of("eE");
  const std::string_view mantissa = number.substr(0, exponent_mark);
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  const std::size_t first = mantissa.find_first_of("123456789");
  if (first == std::string_view::npos) return false;
  // Decimal places of the first digit that isn't zero, left of the point positive.
  const int64_t place =
      first < point ? static_cast<int64_t>(point - first) : -static_cast<int64_t>(first - point) + 1;
  int64_t exponent = 0;
  if (exponent_mark != std::string_view::npos) {
    std::string_view digits = number.substr(exponent_mark + 1);
    const bool negative = digits[0] == '-';
    if (!is_digit(digits[0])) digits.remove_prefix(1);
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (error != std::errc()) exponent = int64_t{1} << 40;
    if (negative) exponent = -exponent;
  }
  return place + exponent > 0;
}

double parse_float(std::string_view source) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (source == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (source == "Infinity") return kInfinity;
  if (source == "-Infinity") return -kInfinity;
  double value = 0;
  const auto [stop, error] = std::from_chars(source.data(), source.data() + source.size(), value);
  if (error != std::errc::result_out_of_range) return value;
  return std::copysign(is_huge(source) ? kInfinity : 0.0, source[0] == '-' ? -1.0 : 1.0);
}

/// json.dumps spells what isn't finite in its own way.
void append_json_float(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "NaN";
  } else if (std::isinf(value)) {
    out += value < 0 ? "-Infinity" : "Infinity";
  } else {
    append_python_float(out, value);
  }
}

}  // namespace

/// Reads the text once, from left to right. A method that returns false has set the error.
class PythonJson::Parser {
 public:
  explicit Parser(PythonJson& document) : document_(document), text_(document.text_) {}

  std::optional<RequestError> run() {
    if (text_.size() >= std::numeric_limits<uint32_t>::max())
      return RequestError{"the text is over 4 GB", ""};
    if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
    if (value(0)) {
      skip_space();
      if (at_ < text_.size()) fail("expected nothing more after the JSON value");
    }
    return std::move(error_);
  }

 private:
  bool fail(std::string_view what) {
    std::string found = "the end";
    if (at_ < text_.size()) {
      const Utf8Unit unit = decode_utf8(text_.substr(at_));
      found = !unit.valid || unit.code_point < 0x20
                  ? fmt::format("byte 0x{:02X}", static_cast<uint8_t>(text_[at_]))
                  : fmt::format("'{}'", text_.substr(at_, unit.length));
    }
    error_ = RequestError{fmt::format("not valid JSON at byte {}: {}, found {}", at_, what, found), ""};
    return false;
  }

  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_]))
      ++at_;
  }

  bool next_is(char c) const { return at_ < text_.size() && text_[at_] == c; }

  uint32_t open_node(Kind kind) {
    document_.nodes_.push_back({static_cast<uint32_t>(at_), 0, 0, kind, false});
    return static_cast<uint32_t>(document_.nodes_.size() - 1);
  }

  void close_node(uint32_t node) {
    document_.nodes_[node].end = static_cast<uint32_t>(at_);
    document_.nodes_[node].next = static_cast<uint32_t>(document_.nodes_.size());
  }

  bool value(int depth) {
    skip_space();
    if (at_ == text_.size()) return fail("expected a value");
    switch (text_[at_]) {
      case '{':
      case '[':
        return container(depth);
      case '"':
        return string();
      case 'n':
        return word("null", Kind::kNull);
      case 't':
        return word("true", Kind::kTrue);
      case 'f':
        return word("false", Kind::kFalse);
      case 'N':
        return word("NaN", Kind::kFloat);
      case 'I':
        return word("Infinity", Kind::kFloat);
      default:
        return text_.substr(at_).starts_with("-I") ? word("-Infinity", Kind::kFloat) : number();
    }
  }

  bool word(std::string_view spelling, Kind kind) {
    if (!text_.substr(at_).starts_with(spelling)) return fail("expected a value");
    const uint32_t node = open_node(kind);
    at_ += spelling.size();
    close_node(node);
    return true;
  }

  bool container(int depth) {
    if (depth == kMaxDepth) {
      error_ = RequestError{fmt::format("JSON nested deeper than {} levels at byte {}", kMaxDepth, at_), ""};
      return false;
    }
    const bool object = text_[at_] == '{';
    const char closer = object ? '}' : ']';
    const uint32_t node = open_node(object ? Kind::kObject : Kind::kArray);
    ++at_;
    skip_space();
    if (!next_is(closer)) {
      for (;;) {
        if (object && !key()) return false;
        if (!value(depth + 1)) return false;
        skip_space();
        if (next_is(closer)) break;
        if (!next_is(',')) return fail(object ? "expected ',' or '}'" : "expected ',' or ']'");
        ++at_;
      }
    }
    ++at_;
    close_node(node);
    return true;
  }

  bool key() {
    skip_space();
    if (!next_is('"')) return fail("expected a key in double quotes");
    if (!string()) return false;
    skip_space();
    if (!next_is(':')) return fail("expected ':'");
    ++at_;
    return true;
  }

  bool string() {
    ++at_;
    const uint32_t node = open_node(Kind::kString);
    for (;;) {
      if (at_ == text_.size()) return fail("expected the end of a string");
      const auto byte = static_cast<uint8_t>(text_[at_]);
      if (byte == '"') break;
      if (byte < 0x20) return fail("control characters in a string must be escaped");
      if (byte == '\\') {
        document_.nodes_[node].escaped = true;
        if (!escape()) return false;
      } else if (byte < 0x80) {
        ++at_;
      } else {
        const Utf8Unit unit = decode_utf8(text_.substr(at_));
        if (!unit.valid) return fail("expected UTF-8");
        at_ += unit.length;
      }
    }
    close_node(node);
    ++at_;
    return true;
  }

  bool escape() {
    ++at_;
    if (at_ == text_.size()) return fail("expected the rest of an escape");
    if (text_[at_] == 'u') {
      if (!hex4(text_.substr(at_ + 1))) return fail("expected \\u and four hexadecimal digits");
      at_ += 5;
      return true;
    }
    if (std::string_view("\"\\/bfnrt").find(text_[at_]) == std::string_view::npos)
      return fail("unknown escape");
    ++at_;
    return true;
  }

  bool digits() {
    if (at_ == text_.size() || !is_digit(text_[at_])) return fail("expected a digit");
    while (at_ < text_.size() && is_digit(text_[at_]))
      ++at_;
    return true;
  }

  bool number() {
    if (!next_is('-') && !is_digit(text_[at_])) return fail("expected a value");
    const uint32_t node = open_node(Kind::kInteger);
    if (next_is('-')) ++at_;
    if (next_is('0')) {
      ++at_;
    } else if (!digits()) {
      return false;
    }
    if (next_is('.')) {
      document_.nodes_[node].kind = Kind::kFloat;
      ++at_;
      if (!digits()) return false;
    }
    if (next_is('e') || next_is('E')) {
      document_.nodes_[node].kind = Kind::kFloat;
      ++at_;
      if (next_is('+') || next_is('-')) ++at_;
      if (!digits()) return false;
    }
    close_node(node);
    return true;
  }

  PythonJson& document_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::optional<RequestError> error_;
};

Result<PythonJson> PythonJson::parse(std::string text) {
  PythonJson document;
  document.text_ = std::move(text);
  if (std::optional<RequestError> error = Parser(document).run()) return std::move(*error);
  return document;
}

std::string_view PythonJson::Value::source() const {
  const Node& node = document_->nodes_[node_];
  return std::string_view(document_->text_).substr(node.begin, node.end - node.begin);
}

std::optional<bool> PythonJson::Value::as_bool() const {
  if (is(Kind::kTrue)) return true;
  if (is(Kind::kFalse)) return false;
  return std::nullopt;
}

std::string PythonJson::Value::string() const {
  if (!is_string()) return {};
  return document_->nodes_[node_].escaped ? unescape(source()) : std::string(source());
}

std::vector<PythonJson::Value> PythonJson::Value::elements() const {
  std::vector<Value> out;
  if (!is_array()) return out;
  const std::vector<Node>& nodes = document_->nodes_;
  for (uint32_t at = node_ + 1; at < nodes[node_].next; at = nodes[at].next)
    out.push_back({document_, at});
  return out;
}

std::vector<PythonJson::Member> PythonJson::Value::members() const {
  std::vector<Member> out;
  if (!is_object()) return out;
  const std::vector<Node>& nodes = document_->nodes_;
  for (uint32_t at = node_ + 1; at < nodes[node_].next; at = nodes[at + 1].next) {
    out.push_back({Value(document_, at).string(), Value(document_, at + 1)});
  }
  // Sorted rather than hashed: no choice of keys makes it slow.
  std::vector<uint32_t> order(out.size());
  for (uint32_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::sort(order.begin(), order.end(), [&out](uint32_t a, uint32_t b) {
    const int difference = out[a].key.compare(out[b].key);
    return difference != 0 ? difference < 0 : a < b;
  });
  std::vector<bool> replaced(out.size(), false);
  bool any_replaced = false;
  for (std::size_t i = 0; i < order.size();) {
    std::size_t last = i;
    while (last + 1 < order.size() && out[order[last + 1]].key == out[order[i]].key)
      ++last;
    out[order[i]].value = out[order[last]].value;
    for (std::size_t j = i + 1; j <= last; ++j)
      replaced[order[j]] = any_replaced = true;
    i = last + 1;
  }
  if (!any_replaced) return out;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (replaced[i]) continue;
    if (kept != i) out[kept] = std::move(out[i]);
    ++kept;
  }
  out.erase(out.begin() + static_cast<std::ptrdiff_t>(kept), out.end());
  return out;
}

std::optional<PythonJson::Value> PythonJson::Value::find(std::string_view key) const {
  std::optional<Value> found;
  if (!is_object()) return found;
  const std::vector<Node>& nodes = document_->nodes_;
  for (uint32_t at = node_ + 1; at < nodes[node_].next; at = nodes[at + 1].next) {
    const Value name(document_, at);
    if (nodes[at].escaped ? name.string() == key : name.source() == key) found = Value(document_, at + 1);
  }
  return found;
}

std::optional<PythonJson::Value> PythonJson::Value::find_present(std::string_view key) const {
  const std::optional<Value> found = find(key);
  return found && !found->is_null() ? found : std::nullopt;
}

const char* PythonJson::Value::kind_name() const {
  switch (kind()) {
    case Kind::kNull:
      return "null";
    case Kind::kFalse:
    case Kind::kTrue:
      return "a boolean";
    case Kind::kInteger:
    case Kind::kFloat:
      return "a number";
    case Kind::kString:
      return "a string";
    case Kind::kArray:
      return "an array";
    case Kind::kObject:
      return "an object";
  }
  return "unknown";
}

void PythonJson::Value::dump(std::string& out) const {
  switch (kind()) {
    case Kind::kNull:
      out += "null";
      break;
    case Kind::kFalse:
      out += "false";
      break;
    case Kind::kTrue:
      out += "true";
      break;
    case Kind::kInteger:
      out += source() == "-0" ? "0" : source();  // Python's integers have one zero
      break;
    case Kind::kFloat:
      append_json_float(out, parse_float(source()));
      break;
    case Kind::kString:
      json::append_string(out, string());
      break;
    case Kind::kArray: {
      out += '[';
      const uint32_t end = document_->nodes_[node_].next;
      for (uint32_t at = node_ + 1; at < end; at = document_->nodes_[at].next) {
        if (at != node_ + 1) out += ", ";
        Value(document_, at).dump(out);
      }
      out += ']';
      break;
    }
    case Kind::kObject: {
      out += '{';
      bool first = true;
      for (const Member& member : members()) {
        if (!std::exchange(first, false)) out += ", ";
        json::append_string(out, member.key);
        out += ": ";
        member.value.dump(out);
      }
      out += '}';
      break;
    }
  }
}

std::string PythonJson::Value::dump() const {
  std::string out;
  dump(out);
  return out;
}

void append_python_float(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
    return;
  }
  // Shortest digits that read back as the same number, as d.ddde+XX; Python writes the same digits by its own
  // rule.
  std::array<char, 32> buffer{};
  const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), std::fabs(value),
                                     std::chars_format::scientific);
  const std::string_view text(buffer.data(), static_cast<std::size_t>(written.ptr - buffer.data()));
  const std::size_t mark = text.find('e');
  std::string digits(text.substr(0, 1));
  if (mark > 2) digits += text.substr(2, mark - 2);
  int exponent = 0;
  const std::string_view exponent_digits = text.substr(mark + 2);
  std::from_chars(exponent_digits.data(), exponent_digits.data() + exponent_digits.size(), exponent);
  if (text[mark + 1] == '-') exponent = -exponent;

  if (std::signbit(value)) out += '-';
  const auto size = static_cast<int>(digits.size());
  if (exponent < -4 || exponent > 15) {
    out += digits[0];
    if (size > 1) out += "." + digits.substr(1);
    out += fmt::format("e{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent));
  } else if (exponent < 0) {
    out += "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  } else if (size <= exponent + 1) {
    out += digits + std::string(static_cast<std::size_t>(exponent + 1 - size), '0') + ".0";
  } else {
    out += digits.substr(0, static_cast<std::size_t>(exponent) + 1) + "." +
           digits.substr(static_cast<std::size_t>(exponent) + 1);
  }
}

}  // namespace lirio
