// Reads a value that a model wrote where JSON was wanted: JSON, or the Python literal that models write
// instead ('...' strings, True, None, tuples, trailing commas), and writes it as JSON. Called for the
// arguments of tool calls. Stateless, thread-safe; linear time, bounded depth, never throws.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lirio {

struct LooseValue {
  enum class Kind { kObject, kArray, kString, kNumber, kBoolean, kNull };

  Kind kind = Kind::kNull;
  std::string json;  ///< compact JSON, keys in their order; numbers keep their digits
  std::string text;  ///< what a kString says
};

struct LooseMember {
  std::string key;
  LooseValue value;
};

/// The value that `text` is, spaces around it aside; nothing when it is none. Every JSON text reads as
/// JSON does, except that half a surrogate pair (\ud800) becomes U+FFFD. Control characters may stand in
/// strings as they are, and an escape that JSON and Python don't know stays as written.
std::optional<LooseValue> read_loose_json(std::string_view text);

/// The members of the object that `text` is, in their order, doubled keys included.
std::optional<std::vector<LooseMember>> read_loose_object(std::string_view text);

/// `text` as a JSON number with the same digits; nothing when it is no decimal number. What JSON forbids
/// is put right: "+1", "007", ".5", "5.".
std::optional<std::string> to_json_number(std::string_view text);

}  // namespace lirio
