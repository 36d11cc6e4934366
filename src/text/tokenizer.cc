#include "text/tokenizer.h"

#include <algorithm>
#include <atomic>
#include <span>
#include <utility>

#include "text/pre_tokenizer.h"

namespace lirio {

Tokenizer Tokenizer::from_directory(const std::filesystem::path& directory) {
  const auto document = json::Document::from_file(directory / "tokenizer.json");
  const std::filesystem::path config_path = directory / "tokenizer_config.json";
  if (!std::filesystem::exists(config_path)) return from_json(document, nullptr);
  const auto config = json::Document::from_file(config_path);
  return from_json(document, &config);
}

Tokenizer Tokenizer::from_json(const json::Document& tokenizer, const json::Document* config) {
  return Tokenizer(read_tokenizer_file(tokenizer, config));
}

Tokenizer::Tokenizer(TokenizerFile file)
    : file_(std::move(file)), bpe_(file_.merges, file_.byte_tokens), flags_(file_.ranges.size()) {
  static std::atomic<uint64_t> tokenizers_made{0};
  identity_ = ++tokenizers_made;
  file_.merges = {};
  for (const AddedToken& token : file_.added) {
    flags_[static_cast<std::size_t>(token.id)] = token.special ? kAdded | kSpecial : kAdded;
  }
}

void Tokenizer::encode(std::string_view text, EncodeScratch& scratch, std::vector<TokenId>& out) const {
  scratch.cache.open(identity_);
  PieceScanner scanner(to_nfc(text, scratch.nfc));
  for (std::string_view piece = scanner.next(); !piece.empty(); piece = scanner.next()) {
    if (piece.size() == 1) {
      out.push_back(bpe_.byte_token(static_cast<uint8_t>(piece.front())));
      continue;
    }
    if (piece.size() > PieceCache::kMaxPieceBytes) {
      bpe_.encode(piece, scratch.bpe, out);
      continue;
    }
    const PieceCache::Key key = PieceCache::key_of(piece);
    if (const PieceCache::Entry* entry = scratch.cache.find(key)) {
      out.insert(out.end(), entry->tokens().begin(), entry->tokens().end());
      continue;
    }
    const std::size_t start = out.size();
    bpe_.encode(piece, scratch.bpe, out);
    scratch.cache.store(key, std::span(out).subspan(start));
  }
}

std::vector<TokenId> Tokenizer::encode(std::string_view text) const {
  EncodeScratch scratch;
  std::vector<TokenId> out;
  encode(text, scratch, out);
  return out;
}

std::optional<TokenId> Tokenizer::added_token(std::string_view content) const {
  const auto place = std::lower_bound(
      file_.added.begin(), file_.added.end(), content,
      [&](const AddedToken& token, std::string_view wanted) { return file_.content(token.id) < wanted; });
  if (place == file_.added.end() || file_.content(place->id) != content) return std::nullopt;
  return place->id;
}

}  // namespace lirio
