#include "text/tool_schema.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "text/loose_json.h"

namespace lirio {
namespace {

/// What `raw` becomes when its parameter has the schema `schema`; `definitions` are more members of the root.
std::string converted(const std::string& schema, std::string_view raw, const std::string& definitions = "") {
  ToolSet tools;
  tools.add_text("f", R"({"properties":{"p":)" + schema + "}" + definitions + "}");
  return to_json_argument(raw, tools.find("f")->type_of("p"));
}

std::string of_type(const std::string& type, std::string_view raw) {
  return converted(R"({"type":")" + type + R"("})", raw);
}

TEST(ToolSchema, KeepsTextAsItIs) {
  for (const char* type : {"string", "str", "text", "varchar", "char", "enum", "String"}) {
    EXPECT_EQ(of_type(type, " 5\n"), R"(" 5\n")") << type;
    EXPECT_EQ(of_type(type, "null"), R"("null")") << type;
    EXPECT_EQ(of_type(type, "{\"a\": \"\\n\"}"), R"("{\"a\": \"\\n\"}")") << type;
  }
}

TEST(ToolSchema, TakesTextWhereNothingIsKnown) {
  for (const char* schema :
       {"{}", "true", "null", "5", "[]", R"({"type":7})", R"({"type":[]})", R"({"description":"x"})",
        R"({"$ref":"#/nowhere"})", R"({"$ref":"other.json"})", R"({"anyOf":5})"}) {
    EXPECT_EQ(converted(schema, "5"), R"("5")") << schema;
    EXPECT_EQ(converted(schema, "null"), R"("null")") << schema;
  }
}

TEST(ToolSchema, ReadsIntegersOfAnySize) {
  for (const char* type : {"integer", "int", "int64", "uint8", "long", "short", "unsigned"}) {
    EXPECT_EQ(of_type(type, " 42\n"), "42") << type;
  }
  EXPECT_EQ(of_type("integer", "-123456789012345678901234567890"), "-123456789012345678901234567890");
  EXPECT_EQ(of_type("integer", "+5"), "5");
  EXPECT_EQ(of_type("integer", "007"), "7");
  EXPECT_EQ(of_type("integer", "-00"), "-0");
  EXPECT_EQ(of_type("integer", "5.00"), "5");
  for (const char* raw :
       {"5.5", "1e3", "0x10", "1_000", "five", "", "-", "+", ".", "--1", "1 2", "2026-01-15"}) {
    EXPECT_EQ(of_type("integer", raw), "\"" + std::string(raw) + "\"");
  }
}

TEST(ToolSchema, KeepsTheSpellingOfNumbers) {
  for (const char* raw : {"0.10", "1E400", "-0.0", "5", "1e-7", "3.141592653589793238462643383279"}) {
    EXPECT_EQ(of_type("number", raw), raw);
    EXPECT_EQ(of_type("float", raw), raw);
  }
  EXPECT_EQ(of_type("number", ".5"), "0.5");
  EXPECT_EQ(of_type("number", "-5."), "-5.0");
  EXPECT_EQ(of_type("number", "+01.5e+3"), "1.5e+3");
  for (const char* raw : {"NaN", "inf", "-Infinity", "1e", "1e+", "1.2.3", "e5", "1,5"}) {
    EXPECT_EQ(of_type("number", raw), "\"" + std::string(raw) + "\"");
  }
}

TEST(ToolSchema, ReadsBooleansInAnyCaseAndNothingElse) {
  for (const char* type : {"boolean", "bool", "binary"}) {
    EXPECT_EQ(of_type(type, "true"), "true");
    EXPECT_EQ(of_type(type, " False "), "false");
    EXPECT_EQ(of_type(type, "yes"), R"("yes")");
    EXPECT_EQ(of_type(type, "1"), R"("1")");
  }
}

TEST(ToolSchema, ReadsContainersOfTheirKind) {
  EXPECT_EQ(of_type("object", "{\"b\": 1,\n \"a\": [1.0, {}]}"), R"({"b":1,"a":[1.0,{}]})");
  EXPECT_EQ(of_type("dict", "{'a': True}"), R"({"a":true})");
  EXPECT_EQ(of_type("array", "(1, 'x',)"), R"([1,"x"])");
  EXPECT_EQ(of_type("list[str]", "[]"), "[]");
  EXPECT_EQ(of_type("object", R"("{\"a\": 1}")"), R"({"a":1})");
  EXPECT_EQ(of_type("object", "[1]"), R"("[1]")");
  EXPECT_EQ(of_type("array", "{}"), R"("{}")");
  EXPECT_EQ(of_type("array", "a, b"), R"("a, b")");
  EXPECT_EQ(of_type("object", "{\"a\": 1"), R"("{\"a\": 1")");
}

TEST(ToolSchema, TakesAnyValueForAnUnknownType) {
  EXPECT_EQ(of_type("any", "[1, None]"), "[1,null]");
  EXPECT_EQ(of_type("any", "'x'"), R"("x")");
  EXPECT_EQ(of_type("date", "2026-01-15"), R"("2026-01-15")");
  EXPECT_EQ(of_type("any", "None"), "null");
}

TEST(ToolSchema, GivesNullWhereItIsAdmittedOrNotText) {
  EXPECT_EQ(of_type("integer", "null"), "null");
  EXPECT_EQ(of_type("object", "None"), "null");
  EXPECT_EQ(of_type("null", "null"), R"(null)");
  EXPECT_EQ(converted(R"({"type":["string","null"]})", "NULL"), "null");
  EXPECT_EQ(converted(R"({"type":["string","null"]})", " null"), R"(" null")");
  EXPECT_EQ(converted(R"({"type":"string","nullable":true})", "null"), "null");
  EXPECT_EQ(converted(R"({"type":["integer","string"]})", "null"), R"("null")");
  EXPECT_EQ(converted(R"({"enum":["a",null]})", "null"), "null");
}

TEST(ToolSchema, TriesTheTypesOfAUnionInTheirOrder) {
  EXPECT_EQ(converted(R"({"anyOf":[{"type":"integer"},{"type":"null"}]})", "5"), "5");
  EXPECT_EQ(converted(R"({"oneOf":[{"type":"boolean"},{"type":"integer"},{"type":"string"}]})", "5"), "5");
  EXPECT_EQ(converted(R"({"anyOf":[{"type":"string"},{"type":"integer"}]})", "5"), R"("5")");
  EXPECT_EQ(converted(R"({"anyOf":[{"type":"string"},{"type":"null"}]})", "{\"a\":1}"), R"("{\"a\":1}")");
  EXPECT_EQ(converted(R"({"type":["array","object"]})", "{\"a\":1}"), R"({"a":1})");
  EXPECT_EQ(converted(R"({"anyOf":[{"enum":[1,2]},{"enum":["auto"]}]})", "2"), "2");
  EXPECT_EQ(converted(R"({"enum":["auto",1]})", "1"), "1");
  EXPECT_EQ(converted(R"({"enum":["auto",1]})", "auto"), R"("auto")");
}

TEST(ToolSchema, InfersATypeFromOtherKeywords) {
  EXPECT_EQ(converted(R"({"properties":{"a":{}}})", "{}"), "{}");
  EXPECT_EQ(converted(R"({"items":{"type":"string"}})", "[\"a\"]"), R"(["a"])");
  EXPECT_EQ(converted(R"({"minimum":1})", "2.50"), "2.50");
  EXPECT_EQ(converted(R"({"const":true})", "true"), "true");
}

TEST(ToolSchema, FollowsReferencesWithinTheSchema) {
  const std::string definitions = R"(,"$defs":{"Loc":{"type":"object"},"a/b":{"type":"integer"},)"
                                  R"("Loop":{"anyOf":[{"$ref":"#/$defs/Loop"},{"$ref":"#/$defs/Loop"}]}})";
  EXPECT_EQ(converted(R"({"$ref":"#/$defs/Loc"})", "{}", definitions), "{}");
  EXPECT_EQ(converted(R"({"$ref":"#/$defs/a~1b"})", "1", definitions), "1");
  EXPECT_EQ(converted(R"({"allOf":[{"$ref":"#/$defs/Loc"}],"default":null})", "{}", definitions), "{}");
  EXPECT_EQ(converted(R"({"$ref":"#/$defs/Loop"})", "1", definitions), R"("1")");
  EXPECT_EQ(converted(R"({"$ref":"#"})", "{}", definitions), "{}");
}

TEST(ToolSchema, FindsPropertiesBehindReferencesAndAlternatives) {
  ToolSet tools;
  tools.add_text("f", R"({"$ref":"#/$defs/F","$defs":{"F":{"allOf":[{"properties":{"a":{"type":"integer"}},)"
                      R"("required":["a",5]},{"properties":{"b":{"type":"array"}}}]}}})");
  const ToolSchema& schema = *tools.find("f");
  EXPECT_EQ(to_json_argument("1", schema.type_of("a")), "1");
  EXPECT_EQ(to_json_argument("[]", schema.type_of("b")), "[]");
  EXPECT_TRUE(schema.declares("b"));
  EXPECT_FALSE(schema.declares("c"));
  EXPECT_EQ(schema.required(), std::vector<std::string>{"a"});
}

TEST(ToolSchema, PassesOverWhatIsNotASchema) {
  for (const char* text :
       {"", "{", "null", "[]", "5", R"({"properties":[]})", R"({"properties":{"a":5},"required":{}})"}) {
    ToolSet tools;
    tools.add_text("f", text);
    ASSERT_NE(tools.find("f"), nullptr);
    EXPECT_EQ(to_json_argument("5", tools.find("f")->type_of("a")), R"("5")") << text;
  }
}

TEST(ToolSchema, BoundsTheWorkOnSchemasThatReferToThemselves) {
  std::string parts;
  for (int i = 0; i < 50; ++i)
    parts += R"({"$ref":"#"},)";
  ToolSet tools;
  tools.add_text("f",
                 R"({"anyOf":[)" + parts + R"({}],"properties":{"a":{"$ref":"#"},"b":{"type":"integer"}}})");
  EXPECT_EQ(to_json_argument("1", tools.find("f")->type_of("b")), "1");
}

TEST(ToolSet, KeepsTheFirstOfTwoToolsWithOneName) {
  ToolSet tools;
  EXPECT_TRUE(tools.empty());
  tools.add_text("f", R"({"properties":{"a":{"type":"integer"}}})");
  tools.add_text("f", "{}");
  EXPECT_EQ(to_json_argument("1", tools.find("f")->type_of("a")), "1");
  EXPECT_EQ(tools.find("F"), nullptr);
}

std::string read(std::string_view text) {
  const auto value = read_loose_json(text);
  return value ? value->json : "nothing";
}

TEST(LooseJson, ReadsEveryEscapeOfJsonAndPython) {
  EXPECT_EQ(read(R"("\"\\\/\b\f\n\r\t\u00e9\ud83d\ude42")"), R"("\"\\/\b\f\n\r\té🙂")");
  EXPECT_EQ(read(R"('it\'s "x" \x41\U0001F642\a')"), "\"it's \\\"x\\\" A🙂\\u0007\"");
  EXPECT_EQ(read(R"("\d+\.\u12")"), R"("\\d+\\.\\u12")");
  EXPECT_EQ(read(R"("\ud83d \ud83d\u0041 \ude42\U00110000")"), "\"\uFFFD \uFFFDA \uFFFD\uFFFD\"");
  EXPECT_EQ(read("\"a\nb\tc\""), R"("a\nb\tc")");
}

TEST(LooseJson, RefusesWhatIsNoValue) {
  for (const char* text : {"",      " ",   "{",    "}",     "[1",   "[1 2]", "{\"a\"}",    "{\"a\":}",
                           "{a:1}", "{,}", "[,]",  "\"a",   "'a\"", "\"\\",  "tru",        "nulll",
                           "NaN",   "1 1", "[1]]", "{1:2}", "b'x'", "{'a'}", "\"a\" \"b\""}) {
    EXPECT_EQ(read(text), "nothing") << text;
  }
}

TEST(LooseJson, BoundsItsDepth) {
  EXPECT_EQ(read(std::string(200, '[') + std::string(200, ']')),
            std::string(200, '[') + std::string(200, ']'));
  EXPECT_EQ(read(std::string(1'000'000, '[')), "nothing");
}

TEST(LooseJson, GivesTheMembersOfAnObject) {
  const auto members = read_loose_object(R"({"a": "x", 'a': [1,], "b": {}})");
  ASSERT_TRUE(members.has_value());
  ASSERT_EQ(members->size(), 3u);
  EXPECT_EQ(members->at(0).value.text, "x");
  EXPECT_EQ(members->at(1).key, "a");
  EXPECT_EQ(members->at(1).value.json, "[1]");
  EXPECT_FALSE(read_loose_object("[]").has_value());
  EXPECT_FALSE(read_loose_object("{} x").has_value());
}

}  // namespace
}  // namespace lirio
