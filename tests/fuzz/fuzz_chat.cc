// Fuzzes the way of a chat request: JSON to messages, to a prompt, to ids. The first byte of the input
// chooses: the rest is the JSON itself, or it is the texts of a well-formed request, which must be accepted
// whatever they say.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/utf8.h"
#include "text/chat.h"
#include "text/chat_json.h"
#include "text/python_json.h"
#include "text/tokenizer.h"

namespace {

using namespace lirio;

void require(bool condition) {
  if (!condition) std::abort();
}

/// The control tokens among the ids are those that the renderer placed, and the ids spell the prompt.
void check_ids(const Tokenizer& tokenizer, const ChatPrompt& prompt, const EncodedPrompt& encoded) {
  std::size_t at = 0;
  NfcScratch nfc;
  for (const ChatPrompt::Piece& piece : prompt.pieces) {
    if (piece.kind == ChatPrompt::Piece::Kind::kControl) {
      require(at < encoded.ids.size() && encoded.ids[at] == tokenizer.added_token(piece.content));
      ++at;
      continue;
    }
    const std::string_view expected = to_nfc(piece.content, nfc);
    std::string spelled;
    while (spelled.size() < expected.size()) {
      require(at < encoded.ids.size() && !tokenizer.is_added(encoded.ids[at]));
      spelled += tokenizer.token_bytes(encoded.ids[at++]);
    }
    require(spelled == expected);
  }
  require(at == encoded.ids.size());
}

void check_marks(const ChatPrompt& prompt, const EncodedPrompt& encoded) {
  const std::string text = prompt.text();
  const std::vector<std::size_t> offsets = prompt.mark_offsets();
  require(offsets.size() == prompt.marks.size() && encoded.marks.size() == prompt.marks.size());
  std::size_t byte = 0;
  std::size_t token = 0;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    require(encoded.marks[i].kind == prompt.marks[i].kind);
    require(offsets[i] > byte && offsets[i] <= text.size() && text[offsets[i] - 1] == '\n');
    require(encoded.marks[i].token > token && encoded.marks[i].token <= encoded.ids.size());
    byte = offsets[i];
    token = encoded.marks[i].token;
  }
}

void check_prompt(const Tokenizer& tokenizer, EncodeScratch& scratch, const ChatRequest& request) {
  const ChatPrompt prompt = render_chat(request);
  for (std::size_t i = 0; i + 1 < prompt.pieces.size(); ++i) {
    require(prompt.pieces[i].kind == ChatPrompt::Piece::Kind::kControl ||
            prompt.pieces[i + 1].kind == ChatPrompt::Piece::Kind::kControl);
  }
  EncodedPrompt encoded;
  encode_prompt(tokenizer, prompt, scratch, encoded);
  check_ids(tokenizer, prompt, encoded);
  check_marks(prompt, encoded);
}

/// What json.dumps wrote, json.loads reads as the same.
void check_json(std::string_view text) {
  const Result<PythonJson> first = PythonJson::parse(std::string(text));
  if (!first) {
    const std::string& message = first.error().message;
    require(!message.empty() && message.find('\n') == std::string::npos && to_valid_utf8(message) == message);
    return;
  }
  const std::string spelled = first->root().dump();
  require(to_valid_utf8(spelled) == spelled);
  const Result<PythonJson> second = PythonJson::parse(spelled);
  require(second.ok() && second->root().dump() == spelled);
}

/// A request whose messages are the lines of `texts`; a line's first byte says whose.
std::string well_formed_request(std::string_view texts) {
  constexpr std::array<const char*, 5> kRoles = {"user", "assistant", "tool", "system", "developer"};
  std::string out = R"({"messages":[{"role":"user","content":"Q"})";
  while (!texts.empty()) {
    const std::string_view line = texts.substr(0, texts.find('\n'));
    texts.remove_prefix(std::min(line.size() + 1, texts.size()));
    if (line.empty()) continue;
    const auto choice = static_cast<uint8_t>(line[0]);
    const std::string_view text = line.substr(1);
    out += R"(,{"role":")" + std::string(kRoles[choice % kRoles.size()]) + R"(","content":)";
    json::append_string(out, text);
    if ((choice & 0x20) != 0) {
      out += R"(,"reasoning_content":)";
      json::append_string(out, text);
    }
    if ((choice & 0x40) != 0) {
      std::string arguments = "{";
      json::append_string(arguments, text);
      arguments += ": ";
      json::append_string(arguments, text);
      arguments += "}";
      out += R"(,"tool_calls":[{"function":{"name":"f","arguments":)";
      json::append_string(out, arguments);
      out += "}}]";
    }
    out += "}";
  }
  return out + "]}";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Tokenizer pocket =
      Tokenizer::from_directory(std::filesystem::path(LIRIO_SOURCE_DIR) / "models" / "pocket");
  static EncodeScratch scratch;
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  // '{' and '[' are odd, so that a seed is JSON as it is.
  const bool is_json = data[0] % 2 != 0;
  const std::string request_json =
      is_json ? std::string(reinterpret_cast<const char*>(data), size) : well_formed_request(input);
  check_json(request_json);
  const Result<ChatRequest> request = parse_chat_request(request_json);
  require(is_json || request.ok());
  if (request) check_prompt(pocket, scratch, *request);
  return 0;
}
