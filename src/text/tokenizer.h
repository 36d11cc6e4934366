// Tokenizer: from text to token ids and back to bytes, equal id for id to the reference pipeline (NFC, split
// rule, byte-level BPE). Loaded once per model; called by the engine's front ends. Immutable, so thread-safe;
// an EncodeScratch belongs to one thread at a time.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/bpe.h"
#include "text/piece_cache.h"
#include "text/tokenizer_file.h"
#include "text/unicode.h"

namespace lirio {

/// Reusable buffers of encode: once they have grown to a text's size, encoding the like allocates nothing. It
/// also remembers recent words (0.5 MiB), so keep one per thread rather than one per call.
struct EncodeScratch {
  NfcScratch nfc;
  BpeScratch bpe;
  PieceCache cache;
};

class Tokenizer {
 public:
  /// Reads `directory`/tokenizer.json and, where present, the `added_tokens_decoder` of
  /// tokenizer_config.json. Throws Error naming file, field, expected and found.
  static Tokenizer from_directory(const std::filesystem::path& directory);
  /// The same from parsed files; `config` may be null.
  static Tokenizer from_json(const json::Document& tokenizer, const json::Document* config);

  /// One past the highest id.
  TokenId vocabulary_end() const { return static_cast<TokenId>(file_.ranges.size()); }

  /// Appends the ids of plain text to `out`. Never yields an added token, whatever the text spells.
  /// Ill-formed UTF-8 is read as U+FFFD (base/utf8.h). Time is n log n in the longest piece, linear
  /// otherwise; the text is below 4 GiB.
  void encode(std::string_view text, EncodeScratch& scratch, std::vector<TokenId>& out) const;
  /// The same with buffers of its own, for a text now and then.
  std::vector<TokenId> encode(std::string_view text) const;

  /// The id of the added token with exactly this content, or nothing.
  std::optional<TokenId> added_token(std::string_view content) const;
  /// True for control tokens: those that text never becomes.
  bool is_added(TokenId id) const { return (flags(id) & kAdded) != 0; }
  /// True for added tokens that are left out of readable text.
  bool is_special(TokenId id) const { return (flags(id) & kSpecial) != 0; }

  /// The bytes a token stands for (added tokens: their content), perhaps part of a character; empty for ids
  /// that stand for nothing. Valid as long as the tokenizer is neither moved nor destroyed.
  std::string_view token_bytes(TokenId id) const {
    return id >= 0 && id < vocabulary_end() ? file_.content(id) : std::string_view();
  }

 private:
  enum Flag : uint8_t { kAdded = 1, kSpecial = 2 };

  explicit Tokenizer(TokenizerFile file);
  uint8_t flags(TokenId id) const {
    return id >= 0 && id < vocabulary_end() ? flags_[static_cast<std::size_t>(id)] : uint8_t{0};
  }

  TokenizerFile file_;  // its merges live in bpe_
  Bpe bpe_;
  std::vector<uint8_t> flags_;  // by id
  uint64_t identity_;           // tells caches of different tokenizers apart
};

}  // namespace lirio
