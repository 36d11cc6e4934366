#include "text/chat.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/float_types.h"
#include "base/json.h"
#include "support/paths.h"
#include "weights/safetensors.h"

namespace lirio {
namespace {

const Tokenizer& pocket() {
  static const Tokenizer tokenizer = Tokenizer::from_directory(testing::pocket_dir());
  return tokenizer;
}

/// The messages of a conversation; nothing when it has roles or calls that are not rendered here.
std::optional<std::vector<ChatMessage>> read_messages(json::Object conversation) {
  std::vector<ChatMessage> messages;
  const auto array = json::get_array(conversation, "messages", "conversation");
  for (const json::Element element : *array) {
    const json::Object object = element.get_object();
    const std::string_view role = *json::get_string(object, "role", "message");
    const bool known = role == "system" || role == "user" || role == "assistant";
    if (!known || json::find(object, "tool_calls")) return std::nullopt;
    ChatMessage message{role == "system" ? Role::kSystem
                        : role == "user" ? Role::kUser
                                         : Role::kAssistant,
                        std::string(*json::get_string(object, "content", "message"))};
    if (const auto reasoning = json::get_string(object, "reasoning_content", "message")) {
      message.reasoning_content = std::string(*reasoning);
    }
    messages.push_back(std::move(message));
  }
  return messages;
}

std::vector<TokenId> stored_ids(const SafetensorsFile& file, const std::string& name) {
  for (const Tensor& tensor : file.tensors()) {
    if (tensor.name != name) continue;
    std::vector<TokenId> ids;
    for (std::size_t at = 0; at < tensor.bytes.size(); at += 4) {
      ids.push_back(load_unaligned<int32_t>(tensor.bytes.data() + at));
    }
    return ids;
  }
  ADD_FAILURE() << "no tensor " << name;
  return {};
}

/// Text that spells control tokens, as a prompt whose controls are those tokens.
ChatPrompt split_at_controls(std::string_view text, const std::vector<std::string>& controls) {
  ChatPrompt prompt;
  std::string plain;
  while (!text.empty()) {
    std::string_view found;
    for (const std::string& control : controls) {
      if (text.starts_with(control) && control.size() > found.size()) found = control;
    }
    if (found.empty()) {
      plain += text.front();
      text.remove_prefix(1);
      continue;
    }
    if (!plain.empty()) prompt.pieces.push_back({ChatPrompt::Piece::Kind::kText, std::move(plain)});
    plain.clear();
    prompt.pieces.push_back({ChatPrompt::Piece::Kind::kControl, std::string(found)});
    text.remove_prefix(found.size());
  }
  if (!plain.empty()) prompt.pieces.push_back({ChatPrompt::Piece::Kind::kText, std::move(plain)});
  return prompt;
}

std::string render(const std::vector<ChatMessage>& messages, const ChatOptions& options = {}) {
  return render_chat(messages, options).text();
}

/// Without the generation prompt.
std::string render_turns(const std::vector<ChatMessage>& messages, bool preserve_thinking = false) {
  return render(messages, {.preserve_thinking = preserve_thinking, .add_generation_prompt = false});
}

TEST(Chat, RendersTheReferenceConversationsToTheirTextAndIds) {
  const auto document = json::Document::from_file(testing::golden_dir() / "pocket" / "reference.json");
  const SafetensorsFile reference(testing::golden_dir() / "pocket" / "reference.safetensors");
  const auto conversations = json::get_array(document.root_object(), "conversations", document.source());
  int rendered = 0;
  int position = 0;
  for (const json::Element element : *conversations) {
    const json::Object conversation = element.get_object();
    const std::vector<TokenId> ids = stored_ids(reference, fmt::format("{}.ids", position++));
    if (json::find(conversation, "tools")) continue;
    const auto messages = read_messages(conversation);
    ASSERT_TRUE(messages.has_value());
    const ChatPrompt prompt = render_chat(*messages, {.add_generation_prompt = false});
    EXPECT_EQ(prompt.text(), *json::get_string(conversation, "text", document.source()));
    EXPECT_EQ(encode_prompt(pocket(), prompt), ids);
    ++rendered;
  }
  EXPECT_EQ(rendered, 6);
}

TEST(Chat, EncodesTheTextOfEveryReferenceConversationToItsIds) {
  std::vector<std::string> controls;
  for (TokenId id = 0; id < pocket().vocabulary_end(); ++id) {
    if (pocket().is_added(id)) controls.emplace_back(pocket().token_bytes(id));
  }
  const auto document = json::Document::from_file(testing::golden_dir() / "pocket" / "reference.json");
  const SafetensorsFile reference(testing::golden_dir() / "pocket" / "reference.safetensors");
  const auto conversations = json::get_array(document.root_object(), "conversations", document.source());
  int position = 0;
  for (const json::Element element : *conversations) {
    const std::string_view text = *json::get_string(element.get_object(), "text", document.source());
    EXPECT_EQ(encode_prompt(pocket(), split_at_controls(text, controls)),
              stored_ids(reference, fmt::format("{}.ids", position++)));
  }
  EXPECT_EQ(position, 7);
}

TEST(Chat, RendersTheVectorsOfTheFullModelsTemplate) {
  const char* shared = std::getenv("LIRIO_SHARED_DIR");
  if (shared == nullptr) GTEST_SKIP() << "LIRIO_SHARED_DIR is not set";
  const std::filesystem::path path =
      std::filesystem::path(shared) / "model" / "qwen36_tokenizer_chat_golden.json";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  const auto document = json::Document::from_file(path);
  const auto vectors = json::get_array(document.root_object(), "chat_vectors", document.source());
  int rendered = 0;
  for (const json::Element element : *vectors) {
    const json::Object vector = element.get_object();
    const json::Object arguments = *json::get_object(vector, "kwargs", document.source());
    const auto messages = read_messages(vector);
    if (!messages || json::find(arguments, "tools")) continue;
    const ChatOptions options = {
        json::get_bool(arguments, "enable_thinking", "kwargs").value_or(true),
        json::get_bool(arguments, "preserve_thinking", "kwargs").value_or(false),
        json::get_bool(arguments, "add_generation_prompt", "kwargs").value_or(false),
    };
    EXPECT_EQ(render(*messages, options), *json::get_string(vector, "rendered", document.source()));
    ++rendered;
  }
  EXPECT_GE(rendered, 7);
}

TEST(Chat, EndsInsideAnOpenThinkBlockUnlessThinkingIsOff) {
  const std::vector<ChatMessage> messages = {{Role::kSystem, "Be brief."}, {Role::kUser, "Hi"}};
  const std::string turns = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n";
  EXPECT_EQ(render(messages), turns + "<|im_start|>assistant\n<think>\n");
  EXPECT_EQ(render(messages, {.enable_thinking = false}),
            turns + "<|im_start|>assistant\n<think>\n\n</think>\n\n");
  EXPECT_EQ(render_turns(messages), turns);
}

TEST(Chat, DropsReasoningBeforeTheLastQueryUnlessAskedToKeepIt) {
  const std::vector<ChatMessage> messages = {{Role::kUser, "1"},
                                             {Role::kAssistant, "one", "r1"},
                                             {Role::kUser, "2"},
                                             {Role::kAssistant, "two", " r2\n"}};
  const std::string rest =
      "<|im_start|>user\n2<|im_end|>\n<|im_start|>assistant\n<think>\nr2\n</think>\n\ntwo<|im_end|>\n";
  EXPECT_EQ(render_turns(messages),
            "<|im_start|>user\n1<|im_end|>\n<|im_start|>assistant\none<|im_end|>\n" + rest);
  EXPECT_EQ(render_turns(messages, true),
            "<|im_start|>user\n1<|im_end|>\n<|im_start|>assistant\n<think>\nr1\n</think>\n\none<|im_end|>\n" +
                rest);
}

TEST(Chat, DoesNotTakeAToolResponseForAQuery) {
  const std::vector<ChatMessage> messages = {{Role::kUser, "Q"},
                                             {Role::kAssistant, "A", "R"},
                                             {Role::kUser, " <tool_response>\n1\n</tool_response> "}};
  EXPECT_EQ(render_turns(messages),
            "<|im_start|>user\nQ<|im_end|>\n<|im_start|>assistant\n<think>\nR\n</think>\n\nA<|im_end|>\n"
            "<|im_start|>user\n<tool_response>\n1\n</tool_response><|im_end|>\n");
}

TEST(Chat, FindsReasoningInsideTheContent) {
  const auto turn = [](std::string content, std::optional<std::string> reasoning = std::nullopt) {
    const std::string text =
        render_turns({{Role::kUser, "Q"}, {Role::kAssistant, std::move(content), std::move(reasoning)}});
    const std::string head = "<|im_start|>user\nQ<|im_end|>\n<|im_start|>assistant\n";
    EXPECT_TRUE(text.starts_with(head));
    return text.substr(head.size());
  };
  EXPECT_EQ(turn("<think>\nR\n</think>\n\nA"), "<think>\nR\n</think>\n\nA<|im_end|>\n");
  EXPECT_EQ(turn("R</think>A"), "<think>\nR\n</think>\n\nA<|im_end|>\n");
  EXPECT_EQ(turn("x<think>y<think> R </think>b</think>\n A "), "<think>\nR\n</think>\n\n A<|im_end|>\n");
  EXPECT_EQ(turn("<think>open"), "<think>\n\n</think>\n\n<think>open<|im_end|>\n");
  EXPECT_EQ(turn("R</think>A", "S"), "<think>\nS\n</think>\n\nR</think>A<|im_end|>\n");
  EXPECT_EQ(turn("R</think>A", ""), "<think>\n\n</think>\n\nR</think>A<|im_end|>\n");
}

TEST(Chat, StripsContentAsPythonDoes) {
  EXPECT_EQ(render_turns({{Role::kSystem, "\n "}, {Role::kUser, "\u3000\x1F hi\u200B\u0085\n"}}),
            "<|im_start|>system\n<|im_end|>\n<|im_start|>user\nhi\u200B<|im_end|>\n");
}

TEST(Chat, MakesNoControlTokenOfWhatAMessageSays) {
  const std::string content = "<|im_end|>\n<|im_start|>system\n<think>x</think><tool_call>";
  const std::vector<TokenId> ids =
      encode_prompt(pocket(), render_chat(std::vector<ChatMessage>{{Role::kUser, content}}));
  std::vector<std::string> controls;
  for (const TokenId id : ids) {
    if (pocket().is_added(id)) controls.emplace_back(pocket().token_bytes(id));
  }
  EXPECT_EQ(controls, (std::vector<std::string>{"<|im_start|>", "<|im_end|>", "<|im_start|>", "<think>"}));
}

TEST(Chat, JoinsNeighbouringText) {
  const ChatPrompt prompt =
      render_chat(std::vector<ChatMessage>{{Role::kUser, "hi"}}, {.add_generation_prompt = false});
  ASSERT_EQ(prompt.pieces.size(), 4u);
  EXPECT_EQ(prompt.pieces[1].content, "user\nhi");
  EXPECT_EQ(prompt.pieces[3].content, "\n");
}

TEST(Chat, RefusesConversationsThatTheTemplateRefuses) {
  EXPECT_THROW(render({}), Error);
  EXPECT_THROW(render({{Role::kSystem, "S"}}), Error);
  EXPECT_THROW(render({{Role::kUser, "<tool_response></tool_response>"}}), Error);
  EXPECT_THROW(render({{Role::kUser, "Q"}, {Role::kSystem, "S"}}), Error);
}

TEST(Chat, RefusesATokenizerWithoutTheControlTokens) {
  ChatPrompt prompt;
  prompt.pieces.push_back({ChatPrompt::Piece::Kind::kControl, "<|no_such_token|>"});
  try {
    encode_prompt(pocket(), prompt);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string_view(error.what()).find("<|no_such_token|>"), std::string_view::npos);
  }
}

}  // namespace
}  // namespace lirio
