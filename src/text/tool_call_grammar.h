// The words of the tool-call format, and the rules that tell structure from text that only looks like
// it. Pure functions of the text that lies ahead, called by the reader and the output parser. Thread-safe.
//
//   <tool_call> <function=NAME> ( <parameter=KEY> VALUE </parameter> )* </function> </tool_call>
//
// Spaces and newlines may stand between two tags. Models forget and double closers, and write values that
// hold these very tags: a closer counts only where what follows goes on in the format, and tags that a
// value opens at the beginning of a line are its own, and so are their closers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "text/tool_schema.h"

namespace lirio {

/// What stands behind the text that lies ahead.
enum class InputEnd : uint8_t {
  kOpen,       ///< perhaps more text
  kEndOfTurn,  ///< nothing: the model ended its turn
  kCut,        ///< nothing: the output was cut by a limit or by the client
};

struct Tag {
  enum class Kind : uint8_t {
    kNone,    ///< no tag begins here
    kUnsure,  ///< more text may make it one
    kBroken,  ///< the text ends within what would be one
    kThinkOpen,
    kThinkClose,
    kCallOpen,
    kCallClose,
    kFunctionOpen,
    kFunctionClose,
    kParameterOpen,
    kParameterClose,
  };

  Kind kind = Kind::kNone;
  std::size_t length = 0;  ///< bytes
  std::string_view name;   ///< of kFunctionOpen and kParameterOpen
  bool exact = true;       ///< false for a misspelt closer: </parameter/>, </parameter1>

  bool is_closer() const {
    return kind == Kind::kCallClose || kind == Kind::kFunctionClose || kind == Kind::kParameterClose;
  }
};

/// The tag at the start of `text`. Names have 1 to 128 bytes.
Tag read_tag(std::string_view text, InputEnd end);

/// Whether a call of a declared tool begins.
struct CallOpening {
  enum class Kind : uint8_t { kNone, kUnsure, kXml, kJson };

  Kind kind = Kind::kNone;
  const ToolSchema* tool = nullptr;
  std::size_t length = 0;  ///< bytes up to the first parameter, or up to the { of kJson
};

/// `text` starts at a <tool_call> or <function=NAME> tag. A call begins where a declared NAME is
/// followed by a parameter or a closer, or where <tool_call> is followed by {"name": "NAME".
CallOpening read_call_opening(std::string_view text, InputEnd end, const ToolSet& tools);

/// Tags that a value has opened and not closed.
struct Nesting {
  int calls = 0;
  int functions = 0;
  int parameters = 0;  ///< those outside of functions
};

/// Where in a value a tag stands.
struct ValuePlace {
  bool line_start = true;  ///< first on its line
  bool line_blank = true;  ///< nothing but blanks before it on its line
  Nesting nesting;
};

struct TagInValue {
  enum class Meaning : uint8_t { kText, kUnsure, kEndsValue };

  Meaning meaning = Meaning::kText;
  Tag tag;
  std::size_t closer_length =
      0;            ///< of kEndsValue: bytes that belong to the value's own closer, perhaps none
  Nesting nesting;  ///< after the tag
};

/// The call that a value belongs to.
struct CallInProgress {
  const ToolSet* tools = nullptr;
  const ToolSchema* tool = nullptr;
  std::set<std::string, std::less<>> keys;  ///< parameters begun so far

  bool may_begin(std::string_view key) const { return tool->declares(key) && !keys.contains(key); }
};

/// What the tag at the start of `text`, which is a '<' inside a value, means. Looks at most 1 KB ahead.
TagInValue read_tag_in_value(std::string_view text, InputEnd end, const ValuePlace& place,
                             const CallInProgress& call);

}  // namespace lirio
