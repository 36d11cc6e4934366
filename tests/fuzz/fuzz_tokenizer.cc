// Fuzzes the tokenizer. The first byte of the input chooses: text through the pocket tokenizer and back; the
// bytes as tokenizer.json; or a small, right tokenizer.json with some of its bytes replaced, which gets past
// the first checks.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"
#include "text/detokenizer.h"
#include "text/pre_tokenizer.h"
#include "text/tokenizer.h"

namespace {

using namespace lirio;

void require(bool condition) {
  if (!condition) std::abort();
}

/// Text to ids to text: nothing lost, no control token, the same in a stream.
void round_trip(const Tokenizer& tokenizer, EncodeScratch& scratch, std::string_view text) {
  std::vector<TokenId> ids;
  tokenizer.encode(text, scratch, ids);
  NfcScratch nfc;
  const std::string expected(to_nfc(text, nfc));
  require(to_valid_utf8(expected) == expected);
  Detokenizer detokenizer(tokenizer);
  std::string streamed;
  for (const TokenId id : ids) {
    require(!tokenizer.is_added(id));
    const std::size_t start = streamed.size();
    detokenizer.push(id, streamed);
    const std::string_view piece = std::string_view(streamed).substr(start);
    require(to_valid_utf8(piece) == piece);
  }
  detokenizer.flush(streamed);
  require(streamed == expected);
}

void load(std::string_view tokenizer_json, const json::Document* config) {
  try {
    const json::Document document(tokenizer_json, "tokenizer.json");
    const Tokenizer tokenizer = Tokenizer::from_json(document, config);
    EncodeScratch scratch;
    round_trip(tokenizer, scratch, "abc ab\xFF the e\xCC\x81 12\n");
  } catch (const Error&) {
    return;  // what a bad file should cause
  }
}

std::string small_tokenizer_json() {
  std::string out =
      R"({"added_tokens":[{"id":300,"content":"<x>","special":true}],"normalizer":{"type":"NFC"},)"
      R"("pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":)";
  json::append_string(out, kSplitRule);
  out +=
      R"(},"behavior":"Isolated","invert":false},{"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]},)"
      R"("model":{"type":"BPE","merges":["a b",["ab","c"]],"vocab":{"ab":256,"abc":257)";
  char32_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
    std::string letter;
    append_utf8(letter, printable ? static_cast<char32_t>(byte) : next++);
    out += ',';
    json::append_string(out, letter);
    out += ":" + std::to_string(byte);
  }
  return out + "}}}";
}

/// Edits are triples: two bytes of place, one new byte; 0xFF deletes, so that the text may also shrink.
std::string edited(std::string text, std::string_view edits) {
  for (; edits.size() >= 3; edits.remove_prefix(3)) {
    const std::size_t place =
        (static_cast<uint8_t>(edits[0]) << 8 | static_cast<uint8_t>(edits[1])) % text.size();
    if (edits[2] == '\xFF' && text.size() > 1) {
      text.erase(place, 1);
    } else {
      text[place] = edits[2];
    }
  }
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Tokenizer pocket =
      Tokenizer::from_directory(std::filesystem::path(LIRIO_SOURCE_DIR) / "models" / "pocket");
  static EncodeScratch scratch;
  static const std::string small = small_tokenizer_json();
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      load(input, nullptr);
      break;
    case 1:
      load(edited(small, input), nullptr);
      break;
    case 2:
      try {
        const json::Document config(input, "tokenizer_config.json");
        load(small, &config);
      } catch (const Error&) {
        return 0;
      }
      break;
    default:
      round_trip(pocket, scratch, input);
  }
  return 0;
}
