// The tools of a request as far as reading a call needs them: names, parameters, and the type of each
// parameter by its JSON schema. Called by the server, which fills a ToolSet, and by the output parser. A
// filled set is immutable, so thread-safe.
//
// A schema only advises: keywords that are unknown, malformed, circular or contradictory are passed
// over, and a parameter of which nothing is known is text. Nothing a client sends here is an error.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace lirio {

/// The types that a parameter admits.
struct ArgumentType {
  enum class Kind {
    kText,
    kInteger,
    kNumber,
    kBoolean,
    kArray,
    kObject,
    kOther,  ///< a type by a name that isn't known: whatever JSON or Python literal it is, else text
  };

  /// In the schema's order, none twice; the first that fits a value is taken, and text fits every value.
  /// Empty means text.
  std::vector<Kind> kinds;
  bool nullable = false;

  /// True when every value but null is text.
  bool is_text() const { return kinds.empty() || kinds.front() == Kind::kText; }
};

/// The argument that a model wrote as `raw`, as JSON: null where the type admits it or isn't text, the
/// first type that fits, else the text itself as a JSON string. Spaces around values that aren't text
/// don't count. Integers of any size and decimal fractions keep their digits. `raw` is valid UTF-8.
std::string to_json_argument(std::string_view raw, const ArgumentType& type);

/// True for null and None in any case.
bool spells_null(std::string_view raw);

class ToolSchema {
 public:
  /// `parameters` is the JSON schema of the arguments, or nothing.
  ToolSchema(std::string name, std::optional<json::Element> parameters);

  const std::string& name() const { return name_; }

  /// The type of parameter `key`; text for one that is not declared, unless additionalProperties has a
  /// schema.
  const ArgumentType& type_of(std::string_view key) const;

  /// Whether `key` is declared; when the schema declares no parameter at all, every name counts.
  bool declares(std::string_view key) const { return types_.empty() || types_.contains(key); }

  /// The parameters that a call must have.
  const std::vector<std::string>& required() const { return required_; }

 private:
  std::string name_;
  std::map<std::string, ArgumentType, std::less<>> types_;
  ArgumentType other_keys_;
  std::vector<std::string> required_;
};

class ToolSet {
 public:
  /// Declares a tool; when its name is there already, the first stays.
  void add(std::string name, std::optional<json::Element> parameters);
  /// The same from the schema's text; text that is not JSON counts as no schema.
  void add_text(std::string name, std::string_view parameters);

  bool empty() const { return tools_.empty(); }
  /// Null when there is no tool of exactly this name.
  const ToolSchema* find(std::string_view name) const;

 private:
  std::map<std::string, ToolSchema, std::less<>> tools_;
};

}  // namespace lirio
