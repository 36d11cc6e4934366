#include "text/python_json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "support/paths.h"

namespace lirio {
namespace {

using Value = PythonJson::Value;

/// What Python makes of `text`, or "refused".
std::string respelled(std::string text) {
  const Result<PythonJson> document = PythonJson::parse(std::move(text));
  return document ? document->root().dump() : "refused";
}

std::string refusal(std::string text) {
  const Result<PythonJson> document = PythonJson::parse(std::move(text));
  return document ? "accepted" : document.error().message;
}

std::string nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

TEST(PythonJson, SpellsAndRefusesAsPythonDoes) {
  const auto document = json::Document::from_file(testing::golden_dir() / "python_json_vectors.json");
  const auto vectors = json::get_array(document.root_object(), "vectors", document.source());
  int compared = 0;
  for (const json::Element element : *vectors) {
    const json::Array vector = element.get_array();
    const std::string text(vector.at(0).get_string().value());
    if (text.starts_with("\xEF\xBB\xBF")) continue;  // skipped rather than refused, see below
    const json::Element expected = vector.at(1);
    EXPECT_EQ(respelled(text), expected.is_null() ? "refused" : std::string(expected.get_string().value()))
        << text;
    ++compared;
  }
  EXPECT_GE(compared, 600);
}

TEST(PythonJson, ReadsALoneSurrogateAsAReplacementCharacter) {
  EXPECT_EQ(respelled(R"("\ud83d")"), "\"\uFFFD\"");
  EXPECT_EQ(respelled(R"("a\ude00b")"), "\"a\uFFFDb\"");
  EXPECT_EQ(respelled(R"("\ud83d\ud83d\ude00")"), "\"\uFFFD\U0001F600\"");
  EXPECT_EQ(respelled(R"("\ud83d\u0041")"), "\"\uFFFDA\"");
  EXPECT_EQ(respelled(R"("\ud83d\n")"), "\"\uFFFD\\n\"");
  EXPECT_EQ(respelled(R"({"\ud83d":1})"), "{\"\uFFFD\": 1}");
}

TEST(PythonJson, SkipsAByteOrderMark) {
  EXPECT_EQ(respelled("\xEF\xBB\xBF[1]"), "[1]");
}

TEST(PythonJson, RefusesWhatIsNotUtf8) {
  EXPECT_EQ(refusal("[\"a\xC4\xE3\"]"), "not valid JSON at byte 3: expected UTF-8, found byte 0xC4");
  EXPECT_EQ(refusal("\xFF"), "not valid JSON at byte 0: expected a value, found byte 0xFF");
  EXPECT_EQ(refusal("\"\xED\xA0\x80\""), "not valid JSON at byte 1: expected UTF-8, found byte 0xED");
}

TEST(PythonJson, SaysWhereTheTextStopsBeingJson) {
  EXPECT_EQ(refusal(""), "not valid JSON at byte 0: expected a value, found the end");
  EXPECT_EQ(refusal("{"), "not valid JSON at byte 1: expected a key in double quotes, found the end");
  EXPECT_EQ(refusal("{\"a\":1 \"b\""), "not valid JSON at byte 7: expected ',' or '}', found '\"'");
  EXPECT_EQ(refusal("[1] è"),
            "not valid JSON at byte 4: expected nothing more after the JSON value, found 'è'");
  EXPECT_EQ(refusal("\"a\nb\""),
            "not valid JSON at byte 2: control characters in a string must be escaped, found byte 0x0A");
}

TEST(PythonJson, NestsUpToItsLimitAndRefusesMore) {
  const auto depth = static_cast<std::size_t>(PythonJson::kMaxDepth);
  EXPECT_EQ(respelled(nested(depth)), nested(depth));
  EXPECT_EQ(refusal(nested(depth + 1)), "JSON nested deeper than 512 levels at byte 512");
  EXPECT_EQ(refusal(std::string(10'000'000, '[')), "JSON nested deeper than 512 levels at byte 512");
  std::string objects;
  for (std::size_t i = 0; i < 100'000; ++i)
    objects += "{\"a\":";
  EXPECT_EQ(refusal(objects), "JSON nested deeper than 512 levels at byte 2560");
}

TEST(PythonJson, KeepsIntegersOfAnySize) {
  const std::string digits(100'000, '7');
  EXPECT_EQ(respelled("[-" + digits + "]"), "[-" + digits + "]");
}

TEST(PythonJson, TakesTheLastOfEqualKeysInTheFirstPlace) {
  const Result<PythonJson> document = PythonJson::parse(R"({"b":1,"a":2,"\u0062":[3],"c":4,"a":{"d":5}})");
  ASSERT_TRUE(document.ok());
  std::string keys;
  for (const PythonJson::Member& member : document->root().members())
    keys += member.key;
  EXPECT_EQ(keys, "bac");
  EXPECT_EQ(document->root().find("b")->dump(), "[3]");
  EXPECT_EQ(document->root().find("a")->dump(), "{\"d\": 5}");
  EXPECT_FALSE(document->root().find("d").has_value());
}

TEST(PythonJson, GivesReadersValuesOfTheirKind) {
  const Result<PythonJson> document =
      PythonJson::parse(R"({"s":"a\n","n":null,"t":true,"i":1,"f":1.5,"l":[1,[2],3]})");
  ASSERT_TRUE(document.ok());
  const Value root = document->root();
  EXPECT_EQ(root.find("s")->string(), "a\n");
  EXPECT_TRUE(root.find("n")->is_null());
  EXPECT_FALSE(root.find_present("n").has_value());
  EXPECT_EQ(root.find("t")->as_bool(), true);
  EXPECT_EQ(root.find("i")->as_bool(), std::nullopt);
  EXPECT_EQ(root.find("f")->kind(), PythonJson::Kind::kFloat);
  const std::vector<Value> list = root.find("l")->elements();
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[1].dump(), "[2]");
  EXPECT_EQ(list[2].dump(), "3");
  // Asked for another kind, a value is empty rather than wrong.
  EXPECT_EQ(root.string(), "");
  EXPECT_TRUE(root.elements().empty());
  EXPECT_TRUE(root.find("l")->members().empty());
  EXPECT_FALSE(root.find("l")->find("s").has_value());
}

TEST(PythonJson, SpellsFloatsThatAreNoJson) {
  const auto spelled = [](double value) {
    std::string out;
    append_python_float(out, value);
    return out;
  };
  EXPECT_EQ(spelled(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(spelled(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(spelled(std::nan("")), "nan");
  EXPECT_EQ(spelled(-0.0), "-0.0");
}

/// Megabytes of what could make a reader slow take linear time. Far below the limit on any machine, far above
/// it when quadratic.
TEST(PythonJson, ReadsLargeTextsInLinearTime) {
  constexpr std::size_t kCount = 400'000;
  std::string keys = "{";
  std::string same_keys = "{";
  std::string numbers = "[";
  std::string escapes = "\"";
  for (std::size_t i = 0; i < kCount; ++i) {
    keys += "\"key" + std::to_string(i) + "\":1,";
    same_keys += "\"k\":[{}],";
    numbers += "1e5,";
    escapes += "\\ud83d";
  }
  EXPECT_EQ(respelled(keys + "\"\":0}").size(), keys.size() + kCount * 2 + 6);
  EXPECT_EQ(respelled(same_keys + "\"k\":0}"), "{\"k\": 0}");
  EXPECT_EQ(respelled(numbers + "0]").size(), kCount * 10 + 3);
  EXPECT_EQ(respelled(escapes + "\"").size(), kCount * 3 + 2);
  EXPECT_EQ(respelled("0." + std::string(4'000'000, '0') + "1"), "0.0");
}

}  // namespace
}  // namespace lirio
