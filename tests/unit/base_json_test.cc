// base/json: what the reader accepts, what its errors name, and what the string writer escapes.
#include "base/json.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/utf8.h"
#include "support/paths.h"

namespace lirio::json {
namespace {

using ::lirio::testing::TemporaryDirectory;

/// The first line of the Error that `action` throws; a failure when it throws none.
std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_FALSE(error.hint().empty()) << error.what();
    EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no Error was thrown";
  return "";
}

std::string escaped(std::string_view text) {
  std::string out;
  append_string(out, text);
  return out;
}

TEST(JsonDocument, NamesItsSourceWhenTheTextIsNotJson) {
  for (const char* text : {"", "   ", "{", "{\"a\":}", "[1,]", "nul", "{\"a\":1} 2", "\"\xFF\"", "\"\n\""}) {
    const std::string what = error_of([&] { Document(text, "config.json"); });
    EXPECT_EQ(what.rfind("config.json: not valid JSON", 0), 0u) << text << " gave: " << what;
  }
}

TEST(JsonDocument, RefusesBottomlessNesting) {
  const std::string text(100'000, '[');
  EXPECT_NE(error_of([&] { Document(text, "deep.json"); }).find("deep.json"), std::string::npos);
}

TEST(JsonDocument, ReadsATextThatEndsWithItsBuffer) {
  const std::string text = R"({"a": [1, 2.5, "three", null, true]})";
  const std::string_view view(text.data(), text.size());
  const Document document(view, "memory");
  EXPECT_EQ(get_array(document.root_object(), "a", "memory")->size(), 5u);
}

TEST(JsonDocument, KeepsTheOrderOfKeys) {
  const Document document(R"({"z":1,"a":2,"m":3,"b":4})", "memory");
  std::string keys;
  for (const auto member : document.root_object())
    keys += member.key;
  EXPECT_EQ(keys, "zamb");
}

TEST(JsonDocument, WantsAnObjectAtTheTop) {
  for (const char* text : {"[1]", "1", "\"text\"", "null"}) {
    const Document document(text, "tokenizer.json");
    const std::string what = error_of([&] { document.root_object(); });
    EXPECT_EQ(what, "tokenizer.json: expected a JSON object at the top");
  }
}

TEST(JsonDocument, ReadsAFileAndNamesItsPath) {
  const TemporaryDirectory directory;
  const std::filesystem::path path = directory.path() / "model.json";
  std::ofstream(path) << R"({"layers": 8})";
  const Document document = Document::from_file(path);
  EXPECT_EQ(document.source(), path.string());
  EXPECT_EQ(get_int(document.root_object(), "layers", document.source()), 8);

  std::ofstream(path) << R"({"layers": )";
  EXPECT_NE(error_of([&] { Document::from_file(path); }).find(path.string()), std::string::npos);
  std::ofstream(path, std::ios::trunc);
  EXPECT_NE(error_of([&] { Document::from_file(path); }).find(path.string()), std::string::npos);
  EXPECT_NE(error_of([&] { Document::from_file(directory.path() / "absent.json"); }).find("absent.json"),
            std::string::npos);
}

/// One member of each kind, under the name of its kind.
constexpr const char* kEachKind =
    R"({"int":-7,"large":18446744073709551615,"double":2.5,"bool":true,"string":"text","object":{"a":1},)"
    R"("array":[1,2],"null":null})";

TEST(JsonGetters, ReadTheirOwnKind) {
  const Document document(kEachKind, "memory");
  const Object object = document.root_object();
  EXPECT_EQ(get_int(object, "int", "memory"), -7);
  EXPECT_EQ(get_double(object, "double", "memory"), 2.5);
  EXPECT_EQ(get_double(object, "int", "memory"), -7.0);
  EXPECT_EQ(get_bool(object, "bool", "memory"), true);
  EXPECT_EQ(get_string(object, "string", "memory"), "text");
  EXPECT_EQ(get_int(*get_object(object, "object", "memory"), "a", "memory"), 1);
  EXPECT_EQ(get_array(object, "array", "memory")->size(), 2u);
}

TEST(JsonGetters, GiveNothingForAbsentAndNullMembers) {
  const Document document(kEachKind, "memory");
  const Object object = document.root_object();
  for (const char* key : {"absent", "null"}) {
    EXPECT_FALSE(find(object, key).has_value());
    EXPECT_FALSE(get_int(object, key, "memory").has_value());
    EXPECT_FALSE(get_double(object, key, "memory").has_value());
    EXPECT_FALSE(get_bool(object, key, "memory").has_value());
    EXPECT_FALSE(get_string(object, key, "memory").has_value());
    EXPECT_FALSE(get_object(object, key, "memory").has_value());
    EXPECT_FALSE(get_array(object, key, "memory").has_value());
  }
}

TEST(JsonGetters, NameSourceKeyExpectedAndFoundForEveryOtherKind) {
  struct Getter {
    const char* expected;
    const char* accepts;  ///< the members of kEachKind that it reads
    std::function<void(Object, const char*)> get;
  };
  const Getter getters[] = {
      {"an integer", "int", [](Object o, const char* key) { get_int(o, key, "config.json"); }},
      {"a number", "int large double", [](Object o, const char* key) { get_double(o, key, "config.json"); }},
      {"a boolean", "bool", [](Object o, const char* key) { get_bool(o, key, "config.json"); }},
      {"a string", "string", [](Object o, const char* key) { get_string(o, key, "config.json"); }},
      {"an object", "object", [](Object o, const char* key) { get_object(o, key, "config.json"); }},
      {"an array", "array", [](Object o, const char* key) { get_array(o, key, "config.json"); }},
  };
  const std::pair<const char*, const char*> kinds[] = {
      {"int", "an integer"},  {"double", "a number"},  {"bool", "a boolean"},
      {"string", "a string"}, {"object", "an object"}, {"array", "an array"},
  };
  const Document document(kEachKind, "config.json");
  for (const Getter& getter : getters) {
    for (const auto& [key, found] : kinds) {
      if (std::string_view(getter.accepts).find(key) != std::string_view::npos) continue;
      const std::string what = error_of([&] { getter.get(document.root_object(), key); });
      EXPECT_EQ(what, fmt::format("config.json: field '{}' is {}, expected {}", key, found, getter.expected));
    }
  }
}

TEST(JsonGetters, RefuseIntegersThatDoNotFit) {
  const Document document(kEachKind, "config.json");
  const std::string what = error_of([&] { get_int(document.root_object(), "large", "config.json"); });
  EXPECT_EQ(what.rfind("config.json: field 'large'", 0), 0u) << what;
}

TEST(JsonString, EscapesWhatJsonMustAndNothingElse) {
  EXPECT_EQ(escaped(""), R"("")");
  EXPECT_EQ(escaped("plain / text"), R"("plain / text")");
  EXPECT_EQ(escaped("\"\\\b\f\n\r\t"), R"("\"\\\b\f\n\r\t")");
  EXPECT_EQ(escaped(std::string_view("\0\x01\x1F\x7F", 4)), "\"\\u0000\\u0001\\u001f\x7F\"");
  EXPECT_EQ(escaped("caf\xC3\xA9 \xF0\x9F\x99\x82 \xE2\x80\xA8"),
            "\"caf\xC3\xA9 \xF0\x9F\x99\x82 \xE2\x80\xA8\"");
}

TEST(JsonString, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(escaped("a\xFF"
                    "b"),
            "\"a\xEF\xBF\xBD"
            "b\"");
  EXPECT_EQ(escaped("\xC0\xAF"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
  EXPECT_EQ(escaped("end \xE6\xBC"), "\"end \xEF\xBF\xBD\"");
}

TEST(JsonString, IsReadBackAsItWas) {
  std::string text;
  for (char32_t code_point = 0; code_point < 0x3000; ++code_point) {
    if (code_point < 0x400 || code_point % 7 == 0) append_utf8(text, code_point);
  }
  append_utf8(text, U'\U0001F642');
  const std::string json = R"({"text":)" + escaped(text) + "}";
  const Document document(json, "memory");
  EXPECT_EQ(get_string(document.root_object(), "text", "memory"), text);
}

TEST(JsonString, IsAppendedToWhatIsThere) {
  std::string out = "[1,";
  append_string(out, "two");
  EXPECT_EQ(out, R"([1,"two")");
}

}  // namespace
}  // namespace lirio::json
