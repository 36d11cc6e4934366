// Faults: what is wrong with a checkpoint or a config, collected so that one Error can list it all, and the
// words that its messages are made of. Used by weights and model while loading. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lirio {

class Faults {
 public:
  /// `fault` is a phrase without a full stop that names its tensor or field, what was expected and what was
  /// found.
  void add(std::string fault) { list_.push_back(std::move(fault)); }
  bool empty() const { return list_.empty(); }
  std::size_t count() const { return list_.size(); }
  const std::vector<std::string>& list() const { return list_; }

  /// The first 8 faults joined by "; ", with the number of further ones.
  std::string text() const;

  /// Throws Error("<subject>: <text()>", hint) unless empty.
  void throw_if_any(std::string_view subject, const std::string& hint) const;

 private:
  std::vector<std::string> list_;
};

/// "30,000,000".
std::string with_commas(int64_t number);
/// "[8192, 256]".
std::string shape_text(std::span<const int64_t> shape);
/// `text` in double quotes on one line, cut after about 100 bytes: names come from untrusted files.
std::string quote(std::string_view text);

}  // namespace lirio
