// JSON as Python's json module understands and spells it: json.dumps(json.loads(text), ensure_ascii=False) is
// what the chat template shows of tool schemas and arguments, and what the model was trained on. Called by
// chat_json, for everything that a client sends. A PythonJson is immutable once parsed, so thread-safe.
//
// Not simdjson, which refuses or rounds what Python accepts: integers of any size, NaN, numbers beyond a
// double's range, lone surrogates (here they become U+FFFD). A byte order mark is skipped; nesting beyond
// kMaxDepth is refused (Python gives up near 1000). Time and memory are linear in the text (16 bytes a
// value), n log n in the keys of an object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lirio {

class PythonJson {
 public:
  enum class Kind : uint8_t { kNull, kFalse, kTrue, kInteger, kFloat, kString, kArray, kObject };

  static constexpr int kMaxDepth = 512;

  struct Member;

  /// A value of the text; as long as the PythonJson lives and stays where it is.
  class Value {
   public:
    Kind kind() const { return document_->nodes_[node_].kind; }
    bool is(Kind kind_asked) const { return kind() == kind_asked; }
    bool is_null() const { return is(Kind::kNull); }
    bool is_string() const { return is(Kind::kString); }
    bool is_array() const { return is(Kind::kArray); }
    bool is_object() const { return is(Kind::kObject); }
    /// True or false, or nothing for any other kind.
    std::optional<bool> as_bool() const;

    /// The text of a string, escapes resolved. Empty for other kinds.
    std::string string() const;
    /// The elements of an array. Empty for other kinds.
    std::vector<Value> elements() const;
    /// The members of an object in Python's order: of a key that stands there twice the last value counts, in
    /// the first place. Empty for other kinds.
    std::vector<Member> members() const;
    /// The member `key`, or nothing; the last one when the key stands there twice.
    std::optional<Value> find(std::string_view key) const;
    /// As find, but a null counts as absent.
    std::optional<Value> find_present(std::string_view key) const;

    /// "a string", "an object" and so on, for messages.
    const char* kind_name() const;

    /// Appends the value as json.dumps(value, ensure_ascii=False) spells it.
    void dump(std::string& out) const;
    std::string dump() const;

   private:
    friend class PythonJson;
    Value(const PythonJson* document, uint32_t node) : document_(document), node_(node) {}
    std::string_view source() const;

    const PythonJson* document_;
    uint32_t node_;
  };

  struct Member {
    std::string key;
    Value value;
  };

  /// The error has no param: it says at which byte the text stops being JSON.
  static Result<PythonJson> parse(std::string text);

  Value root() const { return {this, 0}; }

 private:
  class Parser;

  // Values in the order of the text: a container's come right after it, an object's as key, value, key,
  // value.
  struct Node {
    uint32_t begin;  ///< first byte in text_; of a string the byte after its quote
    uint32_t end;    ///< one past the last; of a string its closing quote
    uint32_t next;   ///< the node after this one and all that it holds
    Kind kind;
    bool escaped;  ///< of a string: it holds a backslash
  };

  PythonJson() = default;

  std::string text_;
  std::vector<Node> nodes_;
};

/// Appends a finite or infinite number or a NaN as Python's repr spells it: 1.0, 1e+16, 1e-05, -0.0, inf.
void append_python_float(std::string& out, double value);

}  // namespace lirio
