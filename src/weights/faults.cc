#include "weights/faults.h"

#include <algorithm>

#include "base/error.h"
#include "base/json.h"

namespace lirio {
namespace {

constexpr std::size_t kListedFaults = 8;
constexpr std::size_t kQuotedBytes = 100;

}  // namespace

std::string Faults::text() const {
  std::string text;
  for (std::size_t i = 0; i < std::min(list_.size(), kListedFaults); ++i) {
    if (i > 0) text += "; ";
    text += list_[i];
  }
  if (list_.size() > kListedFaults) text += fmt::format("; and {} more", list_.size() - kListedFaults);
  return text;
}

void Faults::throw_if_any(std::string_view subject, const std::string& hint) const {
  if (!empty()) throw Error(fmt::format("{}: {}", subject, text()), hint);
}

std::string with_commas(int64_t number) {
  std::string digits = std::to_string(number);
  const std::size_t first = number < 0 ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3;) {
    i -= 3;
    digits.insert(i, 1, ',');
  }
  return digits;
}

std::string shape_text(std::span<const int64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

std::string quote(std::string_view text) {
  std::string out;
  json::append_string(out, text.substr(0, kQuotedBytes));
  if (text.size() > kQuotedBytes) out.insert(out.size() - 1, "...");
  return out;
}

}  // namespace lirio
