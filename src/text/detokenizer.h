// Detokenizer: token ids to readable text, one at a time, never half a character. One per stream, not
// thread-safe; the tokenizer outlives it. True bytes of a token, for logprobs, are Tokenizer::token_bytes.
#pragma once

#include <string>

#include "text/tokenizer.h"

namespace lirio {

class Detokenizer {
 public:
  enum class SpecialTokens { kSkip, kKeep };

  /// kSkip leaves out special tokens (<|im_end|>); added tokens that are not special (<think>) always stay.
  explicit Detokenizer(const Tokenizer& tokenizer, SpecialTokens special = SpecialTokens::kSkip)
      : tokenizer_(tokenizer), special_(special) {}

  /// Appends the text that `token` completes, valid UTF-8, perhaps nothing; bytes of an unfinished character
  /// wait for the next token. All that is appended, flush included, is to_valid_utf8 of the tokens' bytes.
  void push(TokenId token, std::string& out);

  /// Ends the text: an unfinished character becomes U+FFFD. The detokenizer is then as new.
  void flush(std::string& out);

 private:
  const Tokenizer& tokenizer_;
  SpecialTokens special_;
  std::string pending_;  // at most three bytes between calls
};

}  // namespace lirio
