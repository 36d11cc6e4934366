#include "text/tokenizer_file.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <functional>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "text/byte_alphabet.h"
#include "text/pre_tokenizer.h"

namespace lirio {
namespace {

constexpr const char* kFetchAgain = "Fetch the file again from the model's own repository.";
constexpr const char* kOtherTokenizer =
    "lirio reads the tokenizer of Qwen3.6 and Qwen3.5 alone; use the tokenizer.json that came with the "
    "model.";

std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 160;
  std::string out;
  json::append_string(out, text.substr(0, kShown));
  if (text.size() > kShown) out += "...";
  return out;
}

/// An element as it stands in the file, shortened.
std::string shown(std::optional<json::Element> element) {
  if (!element) return "nothing";
  std::string text = simdjson::minify(*element);
  constexpr std::size_t kShown = 200;
  if (text.size() <= kShown) return text;
  return to_valid_utf8(std::string_view(text).substr(0, kShown)) + "...";
}

/// From the bytes of each token to its id: open addressing over the ids, at most half full.
class TokenIndex {
 public:
  TokenIndex(const TokenizerFile& file, std::size_t tokens)
      : file_(file), slots_(std::bit_ceil(std::max<std::size_t>(2 * tokens, 2)), kEmpty) {}

  /// False when another token has the same bytes.
  bool insert(TokenId id) {
    TokenId& slot = slots_[slot_of(file_.content(id))];
    if (slot != kEmpty) return false;
    slot = id;
    return true;
  }

  std::optional<TokenId> find(std::string_view bytes) const {
    const TokenId id = slots_[slot_of(bytes)];
    return id == kEmpty ? std::nullopt : std::optional<TokenId>(id);
  }

 private:
  static constexpr TokenId kEmpty = -1;

  std::size_t slot_of(std::string_view bytes) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t index = std::hash<std::string_view>()(bytes) & mask;
    while (slots_[index] != kEmpty && file_.content(slots_[index]) != bytes)
      index = (index + 1) & mask;
    return index;
  }

  const TokenizerFile& file_;
  std::vector<TokenId> slots_;
};

class Loader {
 public:
  explicit Loader(const json::Document& document)
      : source_(document.source()), root_(document.root_object()), model_(object(root_, "model", source_)) {}

  TokenizerFile load(const json::Document* config) {
    check_model();
    check_steps();
    const json::Object vocabulary = object(model_, "vocab", source_ + ": model");
    TokenIndex index(file_, vocabulary.size());
    read_vocabulary(vocabulary, index);
    find_byte_tokens(index);
    read_merges(index);
    read_added_tokens(index);
    if (config != nullptr) read_config(*config, index);
    sort_added_tokens();
    return std::move(file_);
  }

 private:
  static json::Object object(json::Object parent, std::string_view key, const std::string& source) {
    if (const auto value = json::get_object(parent, key, source)) return *value;
    throw Error(fmt::format("{}: field '{}' is missing, expected an object", source, key), kFetchAgain);
  }

  [[noreturn]] void other_tokenizer(const std::string& field, std::string_view expected,
                                    std::string_view found) const {
    throw Error(fmt::format("{}: {}: expected {}, found {}", source_, field, expected, found),
                kOtherTokenizer);
  }

  /// The field of `step` must be the string `expected`.
  void expect_string(json::Object step, const std::string& path, std::string_view key,
                     std::string_view expected) const {
    const auto element = json::find(step, key);
    std::string_view found;
    if (!element || element->get(found) != simdjson::SUCCESS || found != expected) {
      other_tokenizer(fmt::format("{}.{}", path, key), quoted(expected), shown(element));
    }
  }

  /// The field of `step` must be false or absent.
  void expect_false(json::Object step, const std::string& path, std::string_view key) const {
    const auto element = json::find(step, key);
    bool found = false;
    if (element && (element->get(found) != simdjson::SUCCESS || found)) {
      other_tokenizer(fmt::format("{}.{}", path, key), "false", shown(element));
    }
  }

  void check_model() const {
    expect_string(model_, "model", "type", "BPE");
    expect_false(model_, "model", "ignore_merges");
    expect_false(model_, "model", "byte_fallback");
    for (const std::string_view affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      const auto value = json::get_string(model_, affix, source_ + ": model");
      if (value && !value->empty())
        other_tokenizer(fmt::format("model.{}", affix), "nothing", quoted(*value));
    }
    const auto dropout = json::get_double(model_, "dropout", source_ + ": model");
    if (dropout && *dropout != 0) other_tokenizer("model.dropout", "nothing", fmt::format("{}", *dropout));
  }

  /// Normaliser, split rule, byte level; nothing before or after them.
  void check_steps() const {
    expect_string(object(root_, "normalizer", source_), "normalizer", "type", "NFC");
    const json::Object pre_tokenizer = object(root_, "pre_tokenizer", source_);
    expect_string(pre_tokenizer, "pre_tokenizer", "type", "Sequence");
    const auto steps = json::get_array(pre_tokenizer, "pretokenizers", source_ + ": pre_tokenizer");
    json::Object split;
    json::Object byte_level;
    if (!steps || steps->size() != 2 || steps->at(0).get(split) != simdjson::SUCCESS ||
        steps->at(1).get(byte_level) != simdjson::SUCCESS) {
      other_tokenizer("pre_tokenizer.pretokenizers", "a Split and a ByteLevel step",
                      shown(json::find(pre_tokenizer, "pretokenizers")));
    }
    const std::string split_path = "pre_tokenizer.pretokenizers[0]";
    expect_string(split, split_path, "type", "Split");
    expect_string(split, split_path, "behavior", "Isolated");
    expect_false(split, split_path, "invert");
    expect_string(object(split, "pattern", source_ + ": " + split_path), split_path + ".pattern", "Regex",
                  kSplitRule);
    const std::string bytes_path = "pre_tokenizer.pretokenizers[1]";
    expect_string(byte_level, bytes_path, "type", "ByteLevel");
    for (const std::string_view key : {"add_prefix_space", "use_regex"}) {
      // Absent means true here.
      if (!json::find(byte_level, key))
        other_tokenizer(fmt::format("{}.{}", bytes_path, key), "false", "nothing");
      expect_false(byte_level, bytes_path, key);
    }
    for (const std::string_view key : {"post_processor", "decoder"}) {
      const auto step = json::get_object(root_, key, source_);
      if (step) expect_string(*step, std::string(key), "type", "ByteLevel");
    }
  }

  static bool in_range(int64_t id) { return id >= 0 && id < kTokenIdLimit; }

  [[noreturn]] static void bad_id(const std::string& source, const std::string& field,
                                  std::string_view found) {
    throw Error(
        fmt::format("{}: {}: expected an id from 0 to {}, found {}", source, field, kTokenIdLimit - 1, found),
        kFetchAgain);
  }

  /// Gives the bytes from `offset` to the end of `file_.bytes` to `id`.
  void assign(TokenId id, std::size_t offset) {
    const auto slot = static_cast<std::size_t>(id);
    if (slot >= file_.ranges.size()) file_.ranges.resize(slot + 1);
    file_.ranges[slot] = {static_cast<uint32_t>(offset), static_cast<uint32_t>(file_.bytes.size() - offset)};
  }

  bool in_use(TokenId id) const {
    return static_cast<std::size_t>(id) < file_.ranges.size() &&
           file_.ranges[static_cast<std::size_t>(id)].length != 0;
  }

  void read_vocabulary(json::Object vocabulary, TokenIndex& index) {
    file_.ranges.reserve(vocabulary.size());
    for (const auto [letters, value] : vocabulary) {
      const auto field = [&, key = letters] { return fmt::format("model.vocab[{}]", quoted(key)); };
      int64_t number;
      if (value.get(number) != simdjson::SUCCESS || !in_range(number)) bad_id(source_, field(), shown(value));
      const auto id = static_cast<TokenId>(number);
      if (in_use(id)) {
        throw Error(fmt::format("{}: {}: expected an id of its own, found {} again", source_, field(), id),
                    kFetchAgain);
      }
      const std::size_t offset = file_.bytes.size();
      if (letters.empty() || !append_bytes_of_letters(letters, file_.bytes)) {
        throw Error(fmt::format("{}: {}: expected characters of the byte-level alphabet", source_, field()),
                    kFetchAgain);
      }
      if (file_.bytes.size() > std::numeric_limits<uint32_t>::max()) {
        throw Error(fmt::format("{}: model.vocab: more than 4 GiB of tokens", source_), kFetchAgain);
      }
      assign(id, offset);
      if (!index.insert(id)) {
        throw Error(fmt::format("{}: {}: expected each token once, found it again", source_, field()),
                    kFetchAgain);
      }
    }
  }

  void find_byte_tokens(const TokenIndex& index) {
    for (int byte = 0; byte < 256; ++byte) {
      const char text = static_cast<char>(byte);
      const std::optional<TokenId> id = index.find({&text, 1});
      if (!id) {
        throw Error(fmt::format("{}: model.vocab: expected a token for each byte, found none for {:#04x}",
                                source_, byte),
                    kFetchAgain);
      }
      file_.byte_tokens[static_cast<std::size_t>(byte)] = *id;
    }
  }

  void read_merges(const TokenIndex& index) {
    const auto merges = json::get_array(model_, "merges", source_ + ": model");
    if (!merges) {
      throw Error(fmt::format("{}: field 'model.merges' is missing, expected an array", source_),
                  kFetchAgain);
    }
    file_.merges.reserve(merges->size());
    std::string bytes;
    for (const json::Element element : *merges) {
      const auto fail = [&](std::string_view expected) {
        throw Error(fmt::format("{}: model.merges[{}]: expected {}, found {}", source_, file_.merges.size(),
                                expected, shown(element)),
                    kFetchAgain);
      };
      const auto [left, right] = merge_sides(element);
      if (left.empty() || right.empty()) fail("two tokens");
      bytes.clear();
      if (!append_bytes_of_letters(left, bytes)) fail("tokens of the vocabulary");
      const std::size_t left_bytes = bytes.size();
      if (!append_bytes_of_letters(right, bytes)) fail("tokens of the vocabulary");
      const auto left_id = index.find(std::string_view(bytes).substr(0, left_bytes));
      const auto right_id = index.find(std::string_view(bytes).substr(left_bytes));
      if (!left_id || !right_id) fail("tokens of the vocabulary");
      const auto result = index.find(bytes);
      if (!result) fail("a pair whose union is in the vocabulary");
      file_.merges.push_back({*left_id, *right_id, *result});
    }
    check_merges_differ();
  }

  /// The two sides of "a b" or ["a", "b"]; empty ones when it is neither.
  static std::pair<std::string_view, std::string_view> merge_sides(json::Element element) {
    std::string_view both;
    if (element.get(both) == simdjson::SUCCESS) {
      const std::size_t space = both.find(' ');
      if (space == std::string_view::npos) return {};
      return {both.substr(0, space), both.substr(space + 1)};
    }
    json::Array sides;
    std::string_view left;
    std::string_view right;
    if (element.get(sides) != simdjson::SUCCESS || sides.size() != 2 ||
        sides.at(0).get(left) != simdjson::SUCCESS || sides.at(1).get(right) != simdjson::SUCCESS) {
      return {};
    }
    return {left, right};
  }

  void check_merges_differ() const {
    std::vector<uint64_t> pairs;
    pairs.reserve(file_.merges.size());
    for (const Merge& merge : file_.merges) {
      pairs.push_back(static_cast<uint64_t>(merge.left) << 32 | static_cast<uint32_t>(merge.right));
    }
    std::sort(pairs.begin(), pairs.end());
    const auto twice = std::adjacent_find(pairs.begin(), pairs.end());
    if (twice == pairs.end()) return;
    throw Error(fmt::format("{}: model.merges: expected each pair once, found {} {} twice", source_,
                            quoted(file_.content(static_cast<TokenId>(*twice >> 32))),
                            quoted(file_.content(static_cast<TokenId>(*twice & 0xFFFFFFFFu)))),
                kFetchAgain);
  }

  void read_added_tokens(const TokenIndex& index) {
    const auto tokens = json::get_array(root_, "added_tokens", source_);
    if (!tokens) return;
    std::size_t position = 0;
    for (const json::Element element : *tokens) {
      const std::string field = fmt::format("added_tokens[{}]", position++);
      json::Object token;
      std::optional<int64_t> id;
      if (element.get(token) == simdjson::SUCCESS) id = json::get_int(token, "id", source_ + ": " + field);
      if (!id) {
        throw Error(
            fmt::format("{}: {}: expected an object with an id, found {}", source_, field, shown(element)),
            kFetchAgain);
      }
      if (!in_range(*id)) bad_id(source_, field + ".id", fmt::format("{}", *id));
      add_token(static_cast<TokenId>(*id), token, source_, field, index);
    }
  }

  void read_config(const json::Document& config, const TokenIndex& index) {
    const auto tokens = json::get_object(config.root_object(), "added_tokens_decoder", config.source());
    if (!tokens) return;
    for (const auto [key, element] : *tokens) {
      const std::string field = fmt::format("added_tokens_decoder[{}]", quoted(key));
      int64_t id = -1;
      const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
      json::Object token;
      if (error != std::errc() || end != key.data() + key.size() || element.get(token) != simdjson::SUCCESS) {
        throw Error(fmt::format("{}: {}: expected an id and its token, found {}", config.source(), field,
                                shown(element)),
                    kFetchAgain);
      }
      if (!in_range(id)) bad_id(config.source(), field, fmt::format("{}", id));
      add_token(static_cast<TokenId>(id), token, config.source(), field, index);
    }
  }

  /// Adds the token, or overrides the flags of the same id with the same content.
  void add_token(TokenId id, json::Object token, const std::string& source, const std::string& field,
                 const TokenIndex& index) {
    const auto fail = [&](std::string_view expected, std::string_view found) {
      throw Error(fmt::format("{}: {}: expected {}, found {}", source, field, expected, found), kFetchAgain);
    };
    const std::string place = source + ": " + field;
    const auto content = json::get_string(token, "content", place);
    if (!content || content->empty()) fail("a content", "none");
    for (const std::string_view flag : {"lstrip", "rstrip", "single_word"}) {
      if (json::get_bool(token, flag, place).value_or(false))
        fail(fmt::format("'{}' to be false", flag), "true");
    }
    const bool special = json::get_bool(token, "special", place).value_or(false);
    if (in_use(id) && file_.content(id) != *content) {
      fail(fmt::format("{} for id {}", quoted(file_.content(id)), id), quoted(*content));
    }
    const auto same_id = added_by_id_.find(id);
    if (same_id != added_by_id_.end()) {
      file_.added[same_id->second].special = special;
      return;
    }
    const auto [same_content, is_new] = added_by_content_.try_emplace(std::string(*content), id);
    const auto in_vocabulary = index.find(*content);
    const TokenId other = is_new ? in_vocabulary.value_or(id) : same_content->second;
    if (other != id) fail(fmt::format("id {} for {}", other, quoted(*content)), fmt::format("id {}", id));
    if (!in_use(id)) {
      const std::size_t offset = file_.bytes.size();
      file_.bytes += *content;
      assign(id, offset);
    }
    added_by_id_.emplace(id, file_.added.size());
    file_.added.push_back({id, special});
  }

  void sort_added_tokens() {
    std::sort(file_.added.begin(), file_.added.end(), [&](const AddedToken& a, const AddedToken& b) {
      return file_.content(a.id) < file_.content(b.id);
    });
  }

  std::string source_;
  json::Object root_;
  json::Object model_;
  TokenizerFile file_;
  std::unordered_map<TokenId, std::size_t> added_by_id_;  // places in file_.added
  std::unordered_map<std::string, TokenId> added_by_content_;
};

}  // namespace

TokenizerFile read_tokenizer_file(const json::Document& tokenizer, const json::Document* config) {
  return Loader(tokenizer).load(config);
}

}  // namespace lirio
