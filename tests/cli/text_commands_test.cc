// lirio tokenize and lirio render.
#include <fstream>

#include "cli/lirio.h"
#include "support/paths.h"

namespace lirio::testing {
namespace {

constexpr const char* kHi = R"([{"role": "user", "content": "Hi"}])";
constexpr const char* kHiPrompt = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n";

/// A file with `text`, in a folder of its own.
class TextFile {
 public:
  explicit TextFile(std::string_view text) : path_(folder_.path() / "request.json") {
    std::ofstream(path_) << text;
  }
  std::string path() const { return path_.string(); }

 private:
  TemporaryDirectory folder_;
  std::filesystem::path path_;
};

TEST(Render, PrintsThePromptAndNothingElse) {
  const TextFile file(kHi);
  for (const ProcessResult& result :
       {lirio({"render"}, kHi), lirio({"render", "-"}, kHi), lirio({"render", file.path()})}) {
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.out, kHiPrompt);
    EXPECT_EQ(result.err, "");
  }
}

TEST(Render, FlagsSayMoreThanTheRequest) {
  const std::string request =
      R"({"messages": [{"role": "user", "content": "1"}, {"role": "assistant", "content": "one",)"
      R"("reasoning": "R"}, {"role": "user", "content": "2"}], "enable_thinking": true})";
  EXPECT_TRUE(prints(lirio({"render", "--no-think"}, request), "assistant\n<think>\n\n</think>\n\n"));
  EXPECT_TRUE(prints(lirio({"render"}, request), "<|im_start|>assistant\none<|im_end|>"));
  EXPECT_TRUE(
      prints(lirio({"render", "--preserve-thinking"}, request), "assistant\n<think>\nR\n</think>\n\none"));
}

TEST(Render, JsonHasTextTokensAndMarks) {
  const ProcessResult result = lirio({"render", "--json"}, kHi);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(result.out.starts_with(
      R"({"text": "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n", "tokens": )"))
      << result.out;
  EXPECT_TRUE(
      prints(result, R"("ends_in_thinking": true, "marks": [{"kind": "turn_end", "byte": 30, "token": )"));
  EXPECT_TRUE(prints(result, R"({"kind": "assistant_header", "byte": 52, "token": )"));
}

TEST(Render, BatchTurnsEachLineIntoAnObjectAndAnErrorIntoOne) {
  const ProcessResult result = lirio({"render", "--batch"}, std::string(kHi) + "\n\n[]\n" + kHi);
  const std::vector<std::string> lines = lines_of(result.out);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], lines[2]);
  EXPECT_EQ(
      lines[1],
      R"({"error": {"message": "messages: expected at least one message, found none", "param": "messages"}})");
}

TEST(Render, SaysWhatIsWrongWithTheRequest) {
  EXPECT_TRUE(fails(lirio({"render"}, R"([{"role": "banana"}])"), 1,
                    "standard input: messages[0].role: unknown role 'banana'"));
  const TextFile file("{");
  EXPECT_TRUE(fails(lirio({"render", file.path()}), 1, file.path() + ": not valid JSON at byte 1"));
  EXPECT_TRUE(fails(lirio({"render", "no-such-file"}), 1, "no-such-file: can't be read: No such file"));
  EXPECT_TRUE(fails(lirio({"render", pocket_dir().string()}), 1, "is a folder"));
  EXPECT_TRUE(fails(lirio({"render"}, ProcessOptions{.terminal_in = true}), 2, "no request"));
}

TEST(Render, WarnsOfAModelWithAnotherTemplate) {
  TemporaryDirectory model;
  std::ofstream(model.path() / "chat_template.jinja") << "{{ messages }}";
  const ProcessResult result = lirio({"render", "--model", model.path().string()}, kHi);
  EXPECT_EQ(result.out, kHiPrompt);
  ASSERT_EQ(lines_of(result.err).size(), 1u);
  EXPECT_TRUE(result.err.starts_with("warning: ") &&
              result.err.find("neither Qwen3.6's nor") != std::string::npos)
      << result.err;
}

TEST(Tokenize, ListsIdsAndPieces) {
  const ProcessResult result = lirio({"tokenize", "I'm 12 \xC3\xA9\n"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(result.out.starts_with("     40  \"I\"\n      6  \"'\"\n")) << result.out;
  EXPECT_TRUE(result.out.ends_with("  \"\\n\"\n")) << result.out;
  EXPECT_TRUE(result.err.ends_with(" tokens, 10 bytes\n")) << result.err;
}

TEST(Tokenize, ShowsPartsOfCharactersAsBytes) {
  EXPECT_TRUE(prints(lirio({"tokenize", "\xF0\x9F\xA6\x84"}), "\\x"));
}

TEST(Tokenize, ReadsStandardInputToItsEnd) {
  EXPECT_EQ(lirio({"tokenize", "--count"}, "a\nb\n").out, "4\n");
  EXPECT_EQ(lirio({"tokenize", "--count", "-"}, "a\nb\n").out, "4\n");
  EXPECT_EQ(lirio({"tokenize", "--count"}, "").out, "0\n");
  EXPECT_EQ(lirio({"tokenize", "--count", ""}).out, "0\n");
}

TEST(Tokenize, MakesNoControlTokenOfText) {
  EXPECT_EQ(lirio({"tokenize", "<|im_end|>"}).out.find("  <|im_end|>\n"), std::string::npos);
  const ProcessResult chat = lirio({"tokenize", "--chat", "-"}, kHi);
  EXPECT_NE(chat.out.find("  <|im_end|>\n"), std::string::npos) << chat.out;
}

TEST(Tokenize, JsonHasIdsPiecesAndARequestsMarks) {
  EXPECT_EQ(lirio({"tokenize", "--json", "I 1"}).out,
            "{\"count\": 3, \"bytes\": 3, \"ids\": [40, 220, 16], \"pieces\": [\"I\", \" \", \"1\"]}\n");
  EXPECT_TRUE(prints(lirio({"tokenize", "--json", "--chat", "-"}, kHi),
                     "], \"marks\": [{\"kind\": \"turn_end\", \"byte\": 30"));
  EXPECT_EQ(lirio({"tokenize", "--json", "--batch"}, "\"I 1\"\n7\n").out,
            "{\"count\": 3, \"bytes\": 3, \"ids\": [40, 220, 16], \"pieces\": [\"I\", \" \", \"1\"]}\n"
            "{\"error\": {\"message\": \"expected a JSON string in each line\", \"param\": null}}\n");
}

TEST(Tokenize, ExplainsWrongUsage) {
  EXPECT_TRUE(
      fails(lirio({"tokenize", "--chat", "x.json", "hi"}), 2, "a text and --chat can't be given together"));
  EXPECT_TRUE(fails(lirio({"tokenize", "--batch", "hi"}), 2, "a text and --batch can't be given together"));
  EXPECT_TRUE(fails(lirio({"tokenize", "--no-think", "hi"}), 2, "--no-think needs --chat"));
  EXPECT_TRUE(fails(lirio({"tokenize", "hi", "there"}), 2, "unexpected argument 'there'"));
  EXPECT_TRUE(fails(lirio({"tokenize"}, ProcessOptions{.terminal_in = true}), 2, "no text"));
  EXPECT_TRUE(fails(lirio({"tokenize", "--model", "no-such-folder", "hi"}), 1, "no-such-folder"));
}

}  // namespace
}  // namespace lirio::testing
