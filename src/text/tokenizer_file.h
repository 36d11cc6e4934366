// Reads and checks tokenizer.json and tokenizer_config.json: everything in them that lirio can't follow
// exactly is an Error. Called by the tokenizer while loading. Thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/bpe.h"

namespace lirio {

/// Ids lie below this; the model's own vocabulary is a quarter of it.
inline constexpr TokenId kTokenIdLimit = 1 << 20;

/// A token beside the BPE vocabulary. Special ones are left out of decoded text on request; the others, such
/// as <think>, stay.
struct AddedToken {
  TokenId id;
  bool special;
};

/// What the two files say, checked: ids below kTokenIdLimit, every token and every id once, merges among
/// known tokens, a token for each byte.
struct TokenizerFile {
  struct Range {
    uint32_t offset = 0;
    uint32_t length = 0;  ///< 0: the id stands for nothing
  };

  std::string bytes;          ///< what the tokens stand for, one after another
  std::vector<Range> ranges;  ///< by id, into `bytes`
  std::vector<Merge> merges;  ///< by rank
  std::array<TokenId, 256> byte_tokens{};
  std::vector<AddedToken> added;  ///< in order of their contents, which are `content(id)`

  std::string_view content(TokenId id) const {
    const Range range = ranges[static_cast<std::size_t>(id)];
    return std::string_view(bytes).substr(range.offset, range.length);
  }
};

/// `config` is tokenizer_config.json or null; its `added_tokens_decoder` adds to and overrides the flags of
/// tokenizer.json's `added_tokens`. Throws Error naming file, field, expected and found.
TokenizerFile read_tokenizer_file(const json::Document& tokenizer, const json::Document* config);

}  // namespace lirio
