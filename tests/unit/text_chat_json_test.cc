// Requests as clients send them. Numbers in comments are those of the catalogue of client cases.
#include "text/chat_json.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace lirio {
namespace {

std::string fault(std::string json) {
  const Result<ChatRequest> request = parse_chat_request(std::move(json));
  return request ? "none" : request.error().message;
}

std::string faulty_param(std::string json) {
  const Result<ChatRequest> request = parse_chat_request(std::move(json));
  return request ? "none" : request.error().param;
}

std::string rendered(std::string json) {
  const Result<ChatRequest> request = parse_chat_request(std::move(json));
  return request ? render_chat(*request).text() : "refused: " + request.error().message;
}

ChatRequest read(std::string json, const ChatOptions& defaults = {}) {
  Result<ChatRequest> request = parse_chat_request(std::move(json), defaults);
  if (request) return *std::move(request);
  ADD_FAILURE() << request.error().message;
  return {};
}

/// A request whose one message is an assistant's with this member.
ChatMessage read_assistant(const std::string& member) {
  ChatRequest request = read(R"({"messages":[{"role":"assistant",)" + member + "}]}");
  return request.messages.empty() ? ChatMessage{Role::kUser, {}} : std::move(request.messages[0]);
}

constexpr std::string_view kUser = R"({"role":"user","content":"Q"})";

TEST(ChatJson, ReadsAnArrayOrAnObjectWithMessages) {
  EXPECT_EQ(rendered(R"([{"role":"user","content":"Hi"}])"),
            rendered(R"({"messages":[{"content":"Hi","role":"user"}]})"));
  EXPECT_EQ(
      read(R"({"model":"x","stream":true,"stop":[],"messages":[{"role":"user","content":"Hi","name":"n"}]})")
          .messages[0]
          .content,
      "Hi");
}

TEST(ChatJson, AcceptsEitherNameOfReasoning) {  // 30
  EXPECT_EQ(read_assistant(R"("reasoning":"R","content":"A")").reasoning_content, "R");
  EXPECT_EQ(read_assistant(R"("reasoning_content":"R","content":"A")").reasoning_content, "R");
  EXPECT_EQ(read_assistant(R"("reasoning_content":"R","reasoning":"S","content":"A")").reasoning_content,
            "R");
  EXPECT_EQ(read_assistant(R"("reasoning_content":null,"reasoning":"S","content":"A")").reasoning_content,
            "S");
  EXPECT_EQ(read_assistant(R"("reasoning":{"effort":"high"},"content":"A")").reasoning_content, std::nullopt);
  EXPECT_EQ(read(R"([{"role":"user","content":"Q","reasoning":"R"}])").messages[0].reasoning_content,
            std::nullopt);
}

TEST(ChatJson, SwitchesThinkingInFourSpellings) {  // 31
  const auto thinking = [](const std::string& member, bool otherwise = true) {
    return read(R"({"messages":[{"role":"user","content":"Q"}],)" + member + "}",
                {.enable_thinking = otherwise})
        .options.enable_thinking;
  };
  for (const char* off :
       {R"("chat_template_kwargs":{"enable_thinking":false})", R"("enable_thinking":false)",
        R"("reasoning_effort":"none")", R"("thinking":{"type":"disabled"})", R"("thinking":false)"}) {
    EXPECT_FALSE(thinking(off)) << off;
  }
  for (const char* on : {R"("chat_template_kwargs":{"enable_thinking":true})", R"("enable_thinking":true)",
                         R"("reasoning_effort":"low")", R"("thinking":{"type":"enabled","budget_tokens":9})",
                         R"("thinking":{"type":"adaptive"})", R"("thinking":true)"}) {
    EXPECT_TRUE(thinking(on, false)) << on;
  }
  for (const char* silent :
       {R"("chat_template_kwargs":{})", R"("chat_template_kwargs":null)", R"("enable_thinking":null)",
        R"("reasoning_effort":null)", R"("thinking":null)"}) {
    EXPECT_TRUE(thinking(silent)) << silent;
    EXPECT_FALSE(thinking(silent, false)) << silent;
  }
  EXPECT_TRUE(thinking(R"("chat_template_kwargs":{"enable_thinking":true},"enable_thinking":false)"));
  EXPECT_FALSE(
      thinking(R"("enable_thinking":false,"reasoning_effort":"high","thinking":{"type":"enabled"})"));
  EXPECT_FALSE(thinking(R"("reasoning_effort":"high","thinking":{"type":"disabled"})"));
}

TEST(ChatJson, ReadsTheOtherSwitches) {
  const ChatRequest request = read(
      R"({"messages":[{"role":"user","content":"Q"}],"preserve_thinking":true,"continue_final_message":false,)"
      R"("chat_template_kwargs":{"add_generation_prompt":false,"other":1}})");
  EXPECT_TRUE(request.options.preserve_thinking);
  EXPECT_FALSE(request.options.continue_final_message);
  EXPECT_FALSE(request.options.add_generation_prompt);
  EXPECT_EQ(fault(R"({"messages":[{"role":"user"}],"preserve_thinking":"yes"})"),
            "preserve_thinking: expected true or false, found a string");
  EXPECT_EQ(faulty_param(R"({"messages":[{"role":"user"}],"chat_template_kwargs":{"enable_thinking":0}})"),
            "chat_template_kwargs.enable_thinking");
}

TEST(ChatJson, RendersSystemMessagesWhereverTheyStand) {  // 40
  const std::string system = R"({"role":"system","content":"S"})";
  const std::string developer = R"({"role":"developer","content":"D"})";
  const std::string user(kUser);
  const std::string assistant = R"({"role":"assistant","content":"A"})";
  EXPECT_TRUE(rendered("[" + user + "," + assistant + "," + system + "," + user + "]")
                  .find("<|im_start|>user\n<system-reminder>\nS\n</system-reminder><|im_end|>\n") !=
              std::string::npos);
  EXPECT_TRUE(rendered("[" + system + "," + developer + "," + user + "]")
                  .starts_with("<|im_start|>system\nS\n\nD<|im_end|>"));
  EXPECT_TRUE(rendered("[" + developer + "," + developer + "," + user + "]")
                  .starts_with("<|im_start|>system\nD\n\nD<|im_end|>"));
}

TEST(ChatJson, TakesDeveloperForSystemAndNamesUnknownRoles) {  // 41
  EXPECT_EQ(rendered(R"([{"role":"developer","content":"Be brief."},{"role":"user","content":"hi"}])"),
            rendered(R"([{"role":"system","content":"Be brief."},{"role":"user","content":"hi"}])"));
  const std::string odd = R"([{"role":"user","content":"hi"},{"role":"banana","content":"x"}])";
  EXPECT_EQ(
      fault(odd),
      "messages[1].role: unknown role 'banana'; the roles are system, developer, user, assistant, tool");
  EXPECT_EQ(faulty_param(odd), "messages[1].role");
  EXPECT_EQ(fault(R"([{"role":"a\nb\u001b[2m)" + std::string(1000, 'x') + R"("}])").size(), 152u)
      << "one short line";
  EXPECT_EQ(faulty_param(R"([{"content":"x"}])"), "messages[0].role");
  EXPECT_EQ(faulty_param(R"([{"role":7}])"), "messages[0].role");
}

TEST(ChatJson, RendersConversationsWithoutAUserMessage) {  // 42
  EXPECT_EQ(rendered(R"([{"role":"system","content":"S"}])"),
            "<|im_start|>system\nS<|im_end|>\n<|im_start|>assistant\n<think>\n");
  EXPECT_TRUE(rendered(R"([{"role":"system","content":"S"},{"role":"assistant","content":null,"tool_calls":)"
                       R"([{"function":{"name":"f","arguments":"{}"}}]},{"role":"tool","content":"1"}])")
                  .ends_with("</tool_response><|im_end|>\n<|im_start|>assistant\n<think>\n"));
}

TEST(ChatJson, ReadsArgumentsFromJsonTextInItsOrder) {  // 43
  const auto arguments = [](const std::string& json) {
    std::string out;
    for (const ToolCall& call :
         read_assistant(R"("tool_calls":[{"function":{"name":"f","arguments":)" + json + "}}]").tool_calls) {
      for (const ToolCall::Argument& argument : call.arguments)
        out += argument.name + "=" + argument.value + ";";
    }
    return out;
  };
  EXPECT_EQ(arguments(R"({"city":"Paris"})"), "city=Paris;");
  EXPECT_EQ(arguments(R"("{\"city\":\"Paris\"}")"), "city=Paris;");
  EXPECT_EQ(arguments(R"("{\"b\":1,\"a\":2}")"), "b=1;a=2;");
  EXPECT_EQ(arguments(R"("{\"x\":12345678901234567890123,\"y\":[1.50,true,null,\"\\u00e8\"],\"z\":{}}")"),
            "x=12345678901234567890123;y=[1.5, true, null, \"\u00e8\"];z={};");
  EXPECT_EQ(arguments(R"({"a":1,"b":"two","a":"three"})"), "a=three;b=two;");
}

TEST(ChatJson, TakesAbsentArgumentsAsNone) {
  for (const char* json :
       {R"({"name":"f"})", R"({"name":"f","arguments":null})", R"({"name":"f","arguments":""})",
        R"({"name":"f","arguments":" \n"})", R"({"name":"f","arguments":"null"})",
        R"({"name":"f","arguments":{}})", R"({"name":"f","arguments":"{}"})"}) {
    const ChatMessage message =
        read_assistant(R"("content":null,"tool_calls":[{"function":)" + std::string(json) + "}]");
    ASSERT_EQ(message.tool_calls.size(), 1u) << json;
    EXPECT_EQ(message.tool_calls[0].name, "f");
    EXPECT_TRUE(message.tool_calls[0].arguments.empty());
  }
}

TEST(ChatJson, NamesTheCallWhoseArgumentsAreNoObject) {
  const auto with = [](const std::string& call) {
    return R"([{"role":"user","content":"Q"},{"role":"assistant","tool_calls":[)" + call + "]}]";
  };
  EXPECT_EQ(fault(with(R"({"function":{"name":"f","arguments":"{\"a\":"}})")),
            "messages[1].tool_calls[0].function.arguments: not valid JSON at byte 5: expected a value, found "
            "the end");
  EXPECT_EQ(faulty_param(with(R"({"function":{"name":"f","arguments":"[1]"}})")),
            "messages[1].tool_calls[0].function.arguments");
  EXPECT_EQ(faulty_param(with(R"({"function":{"name":"f","arguments":[1]}})")),
            "messages[1].tool_calls[0].function.arguments");
  EXPECT_EQ(faulty_param(with(R"({"function":{"arguments":{}}})")),
            "messages[1].tool_calls[0].function.name");
  EXPECT_EQ(faulty_param(with(R"({"function":{"name":"","arguments":{}}})")),
            "messages[1].tool_calls[0].function.name");
  EXPECT_EQ(faulty_param(with(R"({"function":"f"})")), "messages[1].tool_calls[0].function");
  EXPECT_EQ(faulty_param(with("7")), "messages[1].tool_calls[0]");
  EXPECT_EQ(faulty_param(R"([{"role":"assistant","tool_calls":{}}])"), "messages[0].tool_calls");
}

TEST(ChatJson, ReadsNullContentAndTextPartsAsText) {  // 45
  const std::string head =
      R"([{"role":"user","content":"Q"},{"role":"assistant","content":null,"tool_calls":)"
      R"([{"function":{"name":"f","arguments":"{}"}}]},{"role":"tool","content":)";
  EXPECT_EQ(rendered(head + R"([{"type":"text","text":"22 C"}]}])"), rendered(head + R"("22 C"}])"));
  EXPECT_EQ(rendered(head + R"([{"text":"22"},{"type":"input_text","text":" C"}]}])"),
            rendered(head + R"("22 C"}])"));
  EXPECT_EQ(rendered(head + R"(null}])"), rendered(head + R"(""}])"));
  EXPECT_EQ(rendered(head + R"([]}])"), rendered(head + R"(""}])"));
  EXPECT_EQ(rendered(R"([{"role":"user"}])"), rendered(R"([{"role":"user","content":""}])"));
}

TEST(ChatJson, RefusesContentOfOtherKinds) {
  EXPECT_EQ(fault(R"([{"role":"user","content":7}])"),
            "messages[0].content: expected a string, an array of parts or null, found a number");
  EXPECT_EQ(faulty_param(R"([{"role":"user","content":{"text":"x"}}])"), "messages[0].content");
  EXPECT_EQ(faulty_param(R"([{"role":"user","content":["x"]}])"), "messages[0].content[0]");
  EXPECT_EQ(faulty_param(R"([{"role":"user","content":[{"type":"text","text":null}]}])"),
            "messages[0].content[0].text");
  EXPECT_EQ(faulty_param(R"([{"role":"user","content":[{"type":"text"}]}])"), "messages[0].content[0].text");
}

TEST(ChatJson, DoesNotAskWhoseResultAToolMessageIs) {  // 46
  const std::string head = R"([{"role":"user","content":"Q"},{"role":"tool",)";
  EXPECT_EQ(rendered(head + R"("tool_call_id":"no such call","content":"1"}])"),
            rendered(head + R"("content":"1"}])"));
  EXPECT_NE(rendered(head + R"("content":"1"}])").find("<tool_response>\n1\n</tool_response>"),
            std::string::npos);
}

TEST(ChatJson, NamesAnImageAndItsMessage) {  // 47
  const std::string image =
      R"([{"role":"system","content":"S"},{"role":"user","content":[{"type":"text","text":"What?"},)"
      R"({"type":"image_url","image_url":{"url":"data:"}}]}])";
  EXPECT_EQ(fault(image),
            "messages[1].content[1]: content of type 'image_url' can't be read; this engine reads text only");
  EXPECT_EQ(faulty_param(image), "messages[1].content[1]");
  EXPECT_NE(fault(R"([{"role":"tool","content":[{"image_url":"x"}]}])").find("'image_url'"),
            std::string::npos);
  EXPECT_NE(fault(R"([{"role":"user","content":[{"type":"text","text":"a","image":"x"}]}])").find("'image'"),
            std::string::npos);
  EXPECT_NE(fault(R"([{"role":"user","content":[{"type":"input_audio"}]}])").find("'input_audio'"),
            std::string::npos);
}

TEST(ChatJson, ContinuesALastAssistantMessage) {  // 49
  const std::string head = R"([{"role":"user","content":"Q"},{"role":"assistant","content":)";
  EXPECT_TRUE(rendered(head + R"("The answer"}])").ends_with("<think>\n\n</think>\n\nThe answer"));
  EXPECT_TRUE(rendered(head + R"("<think>\nDone.\n</think>\n\n{\"a\":"}])")
                  .ends_with("<think>\nDone.\n</think>\n\n{\"a\":"));
}

TEST(ChatJson, DropsALeadingBillingLine) {  // 50
  const std::string rest = R"(,{"role":"user","content":"Q"}])";
  const std::string plain = rendered(R"([{"role":"system","content":"Be brief."})" + rest);
  const std::string line = "x-anthropic-billing-header: cc_version=1; cch=a1b2c;";
  EXPECT_EQ(rendered(R"([{"role":"system","content":[{"type":"text","text":")" + line +
                     R"("},{"type":"text","text":"Be brief."}]})" + rest),
            plain);
  EXPECT_EQ(rendered(R"([{"role":"system","content":")" + line + R"(\nBe brief."})" + rest), plain);
  EXPECT_EQ(rendered(R"([{"role":"system","content":")" + line +
                     R"("},{"role":"system","content":"Be brief."})" + rest),
            plain);
  EXPECT_EQ(rendered(R"([{"role":"system","content":")" + line + R"("})" + rest),
            rendered("[" + rest.substr(1)))
      << "a system message of nothing else is as absent";
  for (const char* elsewhere :
       {R"([{"role":"system","content":"S"},{"role":"system","content":"x-anthropic-billing-header: 1"}])",
        R"([{"role":"user","content":"x-anthropic-billing-header: 1"}])",
        R"([{"role":"system","content":"S x-anthropic-billing-header: 1"}])"}) {
    EXPECT_NE(rendered(elsewhere).find("billing"), std::string::npos);
  }
}

TEST(ChatJson, RefusesBadBodies) {  // 51
  EXPECT_EQ(fault(""), "not valid JSON at byte 0: expected a value, found the end");
  EXPECT_EQ(faulty_param("{"), "");
  EXPECT_NE(fault("[{\"role\":\"user\",\"content\":\"\xC4\xE3\xBA\xC3\"}]").find("expected UTF-8"),
            std::string::npos);
  EXPECT_EQ(fault(R"({"messages":[]})"), "messages: expected at least one message, found none");
  EXPECT_EQ(fault(R"({"messages":"hi"})"), "messages: expected an array of messages, found a string");
  EXPECT_EQ(faulty_param(R"({"messages":null})"), "messages");
  EXPECT_EQ(faulty_param("{}"), "messages");
  EXPECT_EQ(fault("7"), "expected an object with messages, found a number");
  EXPECT_EQ(faulty_param("[7]"), "messages[0]");
  EXPECT_EQ(read(R"([{"role":"user","content":"a\ud83d"}])").messages[0].content, "a\uFFFD");
}

TEST(ChatJson, ShowsToolsAsPythonSpellsThem) {
  const ChatRequest request = read(
      R"({"messages":[{"role":"user","content":"Q"}],"tools":[{"type":"function","function":{"name":"f","x":1E2,"é":[ ]}},)"
      R"({"name":"g"}]})");
  ASSERT_EQ(request.tools.size(), 2u);
  EXPECT_EQ(request.tools[0].name, "f");
  EXPECT_EQ(request.tools[0].json, R"({"type": "function", "function": {"name": "f", "x": 100.0, "é": []}})");
  EXPECT_EQ(request.tools[1].name, "g");
}

TEST(ChatJson, TakesEmptyToolsAsNone) {
  const std::string head = R"({"messages":[{"role":"user","content":"Q"}])";
  EXPECT_EQ(rendered(head + R"(,"tools":[]})"), rendered(head + "}"));
  EXPECT_EQ(rendered(head + R"(,"tools":null})"), rendered(head + "}"));
  EXPECT_EQ(faulty_param(head + R"(,"tools":{}})"), "tools");
  EXPECT_EQ(faulty_param(head + R"(,"tools":["f"]})"), "tools[0]");
  EXPECT_EQ(faulty_param(head + R"(,"tools":[{"type":"function"}]})"), "tools[0].name");
  EXPECT_EQ(faulty_param(head + R"(,"tools":[{"function":{"name":7}}]})"), "tools[0].function.name");
}

TEST(ChatJson, RefusesDeepNestingWhereverItStands) {
  const std::string deep = std::string(600, '[') + std::string(600, ']');
  EXPECT_NE(
      fault(R"({"messages":[{"role":"user","content":"Q"}],"tools":[)" + deep + "]}").find("nested deeper"),
      std::string::npos);
  EXPECT_NE(fault(R"([{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{\"a\":)" +
                  deep + R"(}"}}]}])")
                .find("nested deeper"),
            std::string::npos);
}

/// A second on any machine; minutes when something is quadratic.
TEST(ChatJson, ReadsLargeBodiesInLinearTime) {
  std::string many = "[";
  std::string parts = R"([{"role":"user","content":[)";
  std::string keys = R"([{"role":"user","content":"Q",)";
  for (int i = 0; i < 200'000; ++i) {
    many += std::string(kUser) + ",";
    parts += R"({"type":"text","text":"ab"},)";
    keys += "\"content\":\"" + std::to_string(i) + "\",";
  }
  EXPECT_EQ(read(many + std::string(kUser) + "]").messages.size(), 200'001u);
  EXPECT_EQ(read(parts + R"({"text":""}]}])").messages[0].content.size(), 400'000u);
  EXPECT_EQ(read(keys + R"("x":0}])").messages[0].content, "199999");
  EXPECT_EQ(read(R"([{"role":"user","content":")" + std::string(20'000'000, 'x') + "\"}]")
                .messages[0]
                .content.size(),
            20'000'000u);
}

}  // namespace
}  // namespace lirio
