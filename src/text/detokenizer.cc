#include "text/detokenizer.h"

#include <string_view>

#include "base/utf8.h"

namespace lirio {

void Detokenizer::push(TokenId token, std::string& out) {
  if (special_ == SpecialTokens::kSkip && tokenizer_.is_special(token)) return;
  pending_ += tokenizer_.token_bytes(token);
  std::string_view rest = pending_;
  while (!rest.empty()) {
    const Utf8Unit unit = decode_utf8(rest);
    if (unit.truncated) break;
    append_utf8(out, unit.code_point);
    rest.remove_prefix(unit.length);
  }
  pending_.erase(0, pending_.size() - rest.size());
}

void Detokenizer::flush(std::string& out) {
  if (!pending_.empty()) append_utf8(out, kReplacementCharacter);
  pending_.clear();
}

}  // namespace lirio
