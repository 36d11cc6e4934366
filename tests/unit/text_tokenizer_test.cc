#include "text/tokenizer.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <new>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"
#include "support/paths.h"
#include "text/pre_tokenizer.h"

// AddressSanitizer needs operators of its own, so allocations are counted without it.
#if defined(__SANITIZE_ADDRESS__)
#define LIRIO_COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LIRIO_COUNTS_ALLOCATIONS 0
#endif
#endif
#ifndef LIRIO_COUNTS_ALLOCATIONS
#define LIRIO_COUNTS_ALLOCATIONS 1
#endif

#if LIRIO_COUNTS_ALLOCATIONS
namespace {
std::atomic<std::size_t> allocations{0};

void* counted(std::size_t size, std::size_t alignment) {
  ++allocations;
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
}  // namespace

// The whole test program allocates through these; array and nothrow forms call them. Not inlined, or the
// compiler sees memory from new handed to free and warns.
[[gnu::noinline]] void* operator new(std::size_t size) {
  return counted(size, alignof(std::max_align_t));
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
#endif

namespace lirio {
namespace {

const Tokenizer& pocket() {
  static const Tokenizer tokenizer = Tokenizer::from_directory(testing::pocket_dir());
  return tokenizer;
}

std::string decoded(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  std::string bytes;
  for (const TokenId id : ids)
    bytes += tokenizer.token_bytes(id);
  return bytes;
}

/// A small tokenizer.json; every field may be replaced by another JSON text.
struct SmallFile {
  std::string vocabulary = byte_vocabulary() + R"(,"ab":256,"abc":257,"\u0120a":258)";
  std::string merges = R"(["a b",["ab","c"],["\u0120","a"]])";
  std::string added =
      R"([{"id":259,"content":"<|end|>","special":true},{"id":260,"content":"<think>","special":false}])";
  std::string model_type = R"("BPE")";
  std::string model_more = R"("ignore_merges":false,"continuing_subword_prefix":"")";
  std::string normalizer = R"({"type":"NFC"})";
  std::string rule = rule_as_json();
  std::string byte_level = R"({"type":"ByteLevel","add_prefix_space":false,"use_regex":false})";
  std::string post_processor = "null";
  std::string config;  ///< tokenizer_config.json; empty: there is none

  static std::string rule_as_json() {
    std::string out;
    json::append_string(out, kSplitRule);
    return out;
  }

  /// The 256 letters with their bytes as ids.
  static std::string byte_vocabulary() {
    std::string out;
    char32_t next = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
      const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
      std::string letter;
      append_utf8(letter, printable ? static_cast<char32_t>(byte) : next++);
      if (byte > 0) out += ',';
      json::append_string(out, letter);
      out += fmt::format(":{}", byte);
    }
    return out;
  }

  std::string text() const {
    return fmt::format(
        R"({{"added_tokens":{},"normalizer":{},"pre_tokenizer":{{"type":"Sequence","pretokenizers":[{{"type":"Split",)"
        R"("pattern":{{"Regex":{}}},"behavior":"Isolated","invert":false}},{}]}},"post_processor":{},)"
        R"("decoder":{{"type":"ByteLevel"}},"model":{{"type":{},{},"vocab":{{{}}},"merges":{}}}}})",
        added, normalizer, rule, byte_level, post_processor, model_type, model_more, vocabulary, merges);
  }

  Tokenizer load() const {
    const json::Document document(text(), "tokenizer.json");
    if (config.empty()) return Tokenizer::from_json(document, nullptr);
    const json::Document config_document(config, "tokenizer_config.json");
    return Tokenizer::from_json(document, &config_document);
  }

  /// What the file is refused for, or "".
  std::string fault() const {
    try {
      load();
    } catch (const Error& error) {
      EXPECT_NE(error.hint(), "");
      EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos) << "one line";
      return error.what();
    }
    return "";
  }
};

TEST(Tokenizer, ReproducesTheIdsOfTheReferencePipeline) {
  const auto document = json::Document::from_file(testing::golden_dir() / "tokenizer_vectors.json");
  const auto vectors = json::get_array(document.root_object(), "vectors", document.source());
  EncodeScratch scratch;
  std::vector<TokenId> ids;
  for (const json::Element element : *vectors) {
    const json::Object vector = element.get_object();
    std::vector<TokenId> expected;
    const auto stored = json::get_array(vector, "ids", "vectors");
    for (const json::Element id : *stored)
      expected.push_back(static_cast<TokenId>(id.get_int64()));
    ids.clear();
    pocket().encode(*json::get_string(vector, "text", "vectors"), scratch, ids);
    EXPECT_EQ(ids, expected) << element;
  }
}

TEST(Tokenizer, DecodesToTheNormalisedText) {
  std::mt19937 random(7);
  NfcScratch nfc;
  EncodeScratch scratch;
  std::vector<TokenId> ids;
  for (int round = 0; round < 3000; ++round) {
    std::string text(random() % 60, '\0');
    for (char& byte : text)
      byte = static_cast<char>(random() % 2 == 0 ? random() : 'a' + random() % 26);
    ids.clear();
    pocket().encode(text, scratch, ids);
    EXPECT_EQ(decoded(pocket(), ids), to_nfc(text, nfc));
  }
}

TEST(Tokenizer, NeverMakesAnAddedTokenOfText) {
  for (TokenId id = 0; id < pocket().vocabulary_end(); ++id) {
    if (!pocket().is_added(id)) continue;
    const std::string_view content = pocket().token_bytes(id);
    EXPECT_EQ(pocket().added_token(content), id);
    const std::vector<TokenId> ids = pocket().encode(content);
    EXPECT_GT(ids.size(), 1u);
    for (const TokenId part : ids)
      EXPECT_FALSE(pocket().is_added(part)) << content;
    EXPECT_EQ(decoded(pocket(), ids), content);
  }
}

TEST(Tokenizer, TellsSpecialTokensFromOtherAddedOnes) {
  EXPECT_TRUE(pocket().is_special(*pocket().added_token("<|im_end|>")));
  EXPECT_FALSE(pocket().is_special(*pocket().added_token("</think>")));
  EXPECT_FALSE(pocket().is_added(pocket().encode("a").front()));
  EXPECT_EQ(pocket().added_token("the"), std::nullopt);
  EXPECT_EQ(pocket().added_token(""), std::nullopt);
  EXPECT_EQ(pocket().vocabulary_end(), 3188);
  for (const TokenId id : {-1, 3188, 4095, 1 << 30}) {
    EXPECT_FALSE(pocket().is_added(id));
    EXPECT_EQ(pocket().token_bytes(id), "");
  }
}

#if LIRIO_COUNTS_ALLOCATIONS
TEST(Tokenizer, AllocatesNothingOnceWarm) {
  std::string text;
  for (const char* part : {"The quick brown fox, 12 times.\n", "caf\u00E9 e\u0301 \u0301\u0316\u0327",
                           "\u4E2D\u6587 \uAC00\u1161", "\xFF\xC3",
                           "aVeryLongWordWithoutAnySpaceThatGoesPastTheShortPathOfTheMerger"}) {
    for (int i = 0; i < 20; ++i)
      text += part;
  }
  text += std::string(5000, 'x');
  EncodeScratch scratch;
  std::vector<TokenId> ids;
  pocket().encode(text, scratch, ids);
  const std::vector<TokenId> first = ids;
  ids.clear();
  const std::size_t before = allocations;
  pocket().encode(text, scratch, ids);
  EXPECT_EQ(allocations - before, 0u);
  EXPECT_GT(before, 0u);
  EXPECT_EQ(ids, first);
}
#endif

TEST(Tokenizer, GivesTheSameIdsWithAScratchThatServedAnother) {
  SmallFile other;
  other.merges = "[]";
  const Tokenizer first = SmallFile().load();
  const Tokenizer second = other.load();
  EncodeScratch scratch;
  for (int round = 0; round < 3; ++round) {
    for (const Tokenizer* tokenizer : {&first, &second}) {
      std::vector<TokenId> ids;
      tokenizer->encode("abc abc", scratch, ids);
      EXPECT_EQ(ids, tokenizer->encode("abc abc"));
    }
  }
}

TEST(Tokenizer, EncodesLongPiecesLikeShortOnes) {
  const Tokenizer tokenizer = SmallFile().load();
  std::string text;
  std::vector<TokenId> expected;
  for (int i = 0; i < 100'000; ++i) {
    text += "abcab";
    expected.push_back(257);
    expected.push_back(256);
  }
  EXPECT_TRUE(tokenizer.encode(text) == expected);
}

TEST(Tokenizer, StaysFastOnTextMadeToBeSlow) {
  // Each of these takes a minute where any step is quadratic.
  std::mt19937 random(8);
  std::string bytes(250'000, '\0');
  for (char& byte : bytes)
    byte = static_cast<char>(random());
  std::string marks;
  std::string line_ends;
  for (int i = 0; i < 60'000; ++i) {
    marks += i % 2 == 0 ? "\u0301" : "\u0316";
    line_ends += " \n \r";
  }
  for (const std::string& text :
       {std::string(250'000, 'a'), std::string(250'000, ' '), bytes, marks, line_ends}) {
    NfcScratch nfc;
    EXPECT_TRUE(decoded(pocket(), pocket().encode(text)) == to_nfc(text, nfc));
  }
}

TEST(TokenizerFiles, ReadsMergesInBothSpellings) {
  const Tokenizer tokenizer = SmallFile().load();
  EXPECT_EQ(tokenizer.encode("abc a"), (std::vector<TokenId>{257, 258}));
  EXPECT_EQ(tokenizer.vocabulary_end(), 261);
}

TEST(TokenizerFiles, AddsTheTokensOfTheConfig) {
  SmallFile file;
  file.config =
      R"({"added_tokens_decoder":{"259":{"content":"<|end|>","special":true},)"
      R"("260":{"content":"<think>","special":true},"270":{"content":"<|audio|>","special":true}}})";
  const Tokenizer tokenizer = file.load();
  EXPECT_EQ(tokenizer.added_token("<|audio|>"), 270);
  EXPECT_TRUE(tokenizer.is_special(270));
  EXPECT_TRUE(tokenizer.is_special(260)) << "the config's flags win";
  EXPECT_EQ(tokenizer.vocabulary_end(), 271);
  EXPECT_EQ(tokenizer.token_bytes(265), "") << "an id between that stands for nothing";
}

TEST(TokenizerFiles, ReadsAFolderWithAndWithoutConfig) {
  const testing::TemporaryDirectory folder;
  std::ofstream(folder.path() / "tokenizer.json") << SmallFile().text();
  EXPECT_EQ(Tokenizer::from_directory(folder.path()).vocabulary_end(), 261);
  std::ofstream(folder.path() / "tokenizer_config.json")
      << R"({"added_tokens_decoder":{"300":{"content":"<|more|>","special":true}}})";
  EXPECT_EQ(Tokenizer::from_directory(folder.path()).added_token("<|more|>"), 300);
  EXPECT_THROW(Tokenizer::from_directory(folder.path() / "absent"), Error);
}

/// A change to the small file and words that its fault must hold.
struct BadFile {
  void (*change)(SmallFile&);
  std::vector<std::string_view> words;
};

TEST(TokenizerFiles, RefusesWhatItCannotFollowByName) {
  const BadFile cases[] = {
      {[](SmallFile& f) { f.model_type = R"("Unigram")"; },
       {"tokenizer.json: model.type", "\"BPE\"", "Unigram"}},
      {[](SmallFile& f) { f.normalizer = R"({"type":"NFKC"})"; }, {"normalizer.type", "\"NFC\"", "NFKC"}},
      {[](SmallFile& f) { f.normalizer = "null"; }, {"normalizer", "missing"}},
      {[](SmallFile& f) { f.rule = R"("\\p{L}+")"; },
       {"pattern.Regex", "expected \"(?i:'s|", "found \"\\\\p{L}+\""}},
      {[](SmallFile& f) { f.rule = "7"; }, {"pattern.Regex", "found 7"}},
      {[](SmallFile& f) {
         f.byte_level = R"({"type":"ByteLevel","add_prefix_space":true,"use_regex":false})";
       },
       {"add_prefix_space", "expected false, found true"}},
      {[](SmallFile& f) { f.byte_level = R"({"type":"ByteLevel","add_prefix_space":false})"; },
       {"use_regex", "nothing"}},
      {[](SmallFile& f) { f.byte_level = R"({"type":"Digits"})"; }, {"pretokenizers[1].type", "Digits"}},
      {[](SmallFile& f) { f.byte_level = "3"; },
       {"pre_tokenizer.pretokenizers", "a Split and a ByteLevel step"}},
      {[](SmallFile& f) { f.post_processor = R"({"type":"TemplateProcessing"})"; }, {"post_processor.type"}},
      {[](SmallFile& f) { f.model_more = R"("ignore_merges":true)"; },
       {"model.ignore_merges", "expected false"}},
      {[](SmallFile& f) { f.model_more = R"("byte_fallback":true)"; }, {"model.byte_fallback"}},
      {[](SmallFile& f) { f.model_more = R"("end_of_word_suffix":"</w>")"; },
       {"model.end_of_word_suffix", "</w>"}},
      {[](SmallFile& f) { f.model_more = R"("dropout":0.5)"; }, {"model.dropout", "0.5"}},
  };
  for (const BadFile& bad : cases) {
    SmallFile file;
    bad.change(file);
    const std::string fault = file.fault();
    for (const std::string_view word : bad.words)
      EXPECT_NE(fault.find(word), std::string::npos) << word << " in " << fault;
  }
}

TEST(TokenizerFiles, RefusesBrokenVocabulariesByName) {
  const BadFile cases[] = {
      {[](SmallFile& f) { f.vocabulary += R"(,"x y":261)"; },
       {"model.vocab[\"x y\"]", "byte-level alphabet"}},
      {[](SmallFile& f) { f.vocabulary += R"(,"":261)"; }, {"model.vocab[\"\"]"}},
      {[](SmallFile& f) { f.vocabulary += R"(,"xy":-1)"; },
       {"model.vocab[\"xy\"]", "from 0 to 1048575", "-1"}},
      {[](SmallFile& f) { f.vocabulary += R"(,"xy":1048576)"; }, {"1048576"}},
      {[](SmallFile& f) { f.vocabulary += R"(,"xy":18446744073709551615)"; }, {"18446744073709551615"}},
      {[](SmallFile& f) { f.vocabulary += R"(,"xy":"9")"; }, {"found \"9\""}},
      {[](SmallFile& f) { f.vocabulary += R"(,"xy":257)"; }, {"model.vocab[\"xy\"]", "found 257 again"}},
      {[](SmallFile& f) { f.vocabulary += R"(,"abc":261)"; }, {"model.vocab[\"abc\"]", "once"}},
      {[](SmallFile& f) { f.vocabulary = R"("a":0)"; }, {"a token for each byte", "0x00"}},
      {[](SmallFile& f) { f.merges = R"(["a b","x y"])"; }, {"model.merges[1]", "union", "\"x y\""}},
      {[](SmallFile& f) { f.merges = R"(["abx c"])"; }, {"model.merges[0]", "tokens of the vocabulary"}},
      {[](SmallFile& f) { f.merges = R"(["a b c"])"; }, {"model.merges[0]"}},
      {[](SmallFile& f) { f.merges = R"(["ab"])"; }, {"model.merges[0]", "two tokens"}},
      {[](SmallFile& f) { f.merges = R"([" b"])"; }, {"two tokens"}},
      {[](SmallFile& f) { f.merges = R"([["a"]])"; }, {"two tokens", "[\"a\"]"}},
      {[](SmallFile& f) { f.merges = R"([["a","b","c"]])"; }, {"two tokens"}},
      {[](SmallFile& f) { f.merges = R"([7])"; }, {"two tokens", "found 7"}},
      {[](SmallFile& f) { f.merges = R"(["a b","a b"])"; }, {"model.merges", "each pair once"}},
      {[](SmallFile& f) { f.merges = "null"; }, {"model.merges", "missing"}},
  };
  for (const BadFile& bad : cases) {
    SmallFile file;
    bad.change(file);
    const std::string fault = file.fault();
    for (const std::string_view word : bad.words)
      EXPECT_NE(fault.find(word), std::string::npos) << word << " in " << fault;
  }
}

TEST(TokenizerFiles, RefusesBrokenAddedTokensByName) {
  const BadFile cases[] = {
      {[](SmallFile& f) { f.added = R"([{"id":256,"content":"<x>"}])"; },
       {"added_tokens[0]", "\"ab\" for id 256", "\"<x>\""}},
      {[](SmallFile& f) { f.added = R"([{"id":300,"content":"ab"}])"; }, {"id 256 for \"ab\"", "300"}},
      {[](SmallFile& f) { f.added = R"([{"id":300,"content":"<x>"},{"id":301,"content":"<x>"}])"; },
       {"added_tokens[1]", "id 300", "301"}},
      {[](SmallFile& f) { f.added = R"([{"id":300,"content":"<x>"},{"id":300,"content":"<y>"}])"; },
       {"added_tokens[1]", "\"<x>\" for id 300"}},
      {[](SmallFile& f) { f.added = R"([{"id":-5,"content":"<x>"}])"; }, {"added_tokens[0].id", "-5"}},
      {[](SmallFile& f) { f.added = R"([{"id":1048576,"content":"<x>"}])"; }, {"1048576"}},
      {[](SmallFile& f) { f.added = R"([{"content":"<x>"}])"; }, {"added_tokens[0]", "with an id"}},
      {[](SmallFile& f) { f.added = R"([5])"; }, {"added_tokens[0]", "found 5"}},
      {[](SmallFile& f) { f.added = R"([{"id":300}])"; }, {"a content"}},
      {[](SmallFile& f) { f.added = R"([{"id":300,"content":""}])"; }, {"a content"}},
      {[](SmallFile& f) { f.added = R"([{"id":300,"content":"<x>","lstrip":true}])"; },
       {"'lstrip' to be false"}},
      {[](SmallFile& f) { f.added = R"({})"; }, {"added_tokens", "an array"}},
      {[](SmallFile& f) { f.config = R"({"added_tokens_decoder":{"x":{"content":"<x>"}}})"; },
       {"tokenizer_config.json: added_tokens_decoder[\"x\"]"}},
      {[](SmallFile& f) {
         f.config = R"({"added_tokens_decoder":{"9999999999999999999":{"content":"<x>"}}})";
       },
       {"tokenizer_config.json"}},
      {[](SmallFile& f) { f.config = R"({"added_tokens_decoder":{"-3":{"content":"<x>"}}})"; }, {"-3"}},
      {[](SmallFile& f) { f.config = R"({"added_tokens_decoder":{"259":{"content":"<x>"}}})"; },
       {"tokenizer_config.json", "\"<|end|>\" for id 259", "\"<x>\""}},
      {[](SmallFile& f) { f.config = R"({"added_tokens_decoder":[]})"; },
       {"added_tokens_decoder", "an object"}},
  };
  for (const BadFile& bad : cases) {
    SmallFile file;
    bad.change(file);
    const std::string fault = file.fault();
    EXPECT_NE(fault, "");
    for (const std::string_view word : bad.words)
      EXPECT_NE(fault.find(word), std::string::npos) << word << " in " << fault;
  }
}

}  // namespace
}  // namespace lirio
