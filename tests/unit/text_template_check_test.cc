#include "text/template_check.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "support/paths.h"

namespace lirio {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, std::string_view text) {
  std::ofstream(path) << text;
}

std::string read(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The folder of the model's own templates, or empty.
fs::path shared_model() {
  const char* shared = std::getenv("LIRIO_SHARED_DIR");
  const fs::path folder = shared == nullptr ? fs::path() : fs::path(shared) / "model";
  return fs::exists(folder / "chat_template_qwen36.jinja") ? folder : fs::path();
}

TEST(TemplateCheck, KnowsTheOfficialTemplatesWithAndWithoutAFinalNewline) {
  const fs::path folder = shared_model();
  if (folder.empty()) GTEST_SKIP() << "LIRIO_SHARED_DIR has no chat templates";
  const std::string newest = read(folder / "chat_template_qwen36.jinja");
  EXPECT_EQ(identify_template(newest), KnownTemplate::kQwen36);
  EXPECT_EQ(identify_template(newest + "\n"), KnownTemplate::kQwen36);
  EXPECT_EQ(identify_template(newest + "\n\n"), std::nullopt);
  EXPECT_EQ(identify_template(read(folder / "chat_template_qwen35.jinja")), KnownTemplate::kQwen35);

  testing::TemporaryDirectory model;
  std::string config = "{\"chat_template\": ";
  json::append_string(config, newest);
  write(model.path() / "tokenizer_config.json", config + "}");
  EXPECT_EQ(template_warning(model.path()), std::nullopt);
  write(model.path() / "chat_template.jinja", newest + "{# patched #}");
  EXPECT_TRUE(template_warning(model.path()).has_value()) << "the file of its own comes first";
}

TEST(TemplateCheck, WarnsOfAnyOther) {
  testing::TemporaryDirectory model;
  const auto warned_of = [&] {
    const std::string warning = template_warning(model.path()).value_or("");
    EXPECT_EQ(warning.find('\n'), std::string::npos);
    for (const char* name : {"chat_template.jinja", "tokenizer_config.json", "chat_template.json"}) {
      if (warning.starts_with((model.path() / name).string() + ": this chat template (SHA-256 ")) return name;
    }
    return "nothing";
  };
  EXPECT_STREQ(warned_of(), "nothing");
  write(model.path() / "chat_template.json", R"({"chat_template": "x"})");
  EXPECT_STREQ(warned_of(), "chat_template.json");
  write(model.path() / "tokenizer_config.json", R"({"chat_template": null})");
  EXPECT_STREQ(warned_of(), "chat_template.json");
  write(model.path() / "tokenizer_config.json", R"({"chat_template": [{"name": "other", "template": "x"}]})");
  EXPECT_STREQ(warned_of(), "chat_template.json");
  write(model.path() / "tokenizer_config.json",
        R"({"chat_template": [7, {"name": "other"}, {"name": "default", "template": "x"}]})");
  EXPECT_STREQ(warned_of(), "tokenizer_config.json");
  write(model.path() / "chat_template.jinja", "");
  EXPECT_STREQ(warned_of(), "chat_template.jinja");
}

TEST(TemplateCheck, HasNothingToSayOfThePocketModel) {
  EXPECT_EQ(template_warning(testing::pocket_dir()), std::nullopt);
}

TEST(TemplateCheck, NamesAFileThatIsNoJson) {
  testing::TemporaryDirectory model;
  write(model.path() / "tokenizer_config.json", "{");
  EXPECT_THROW(template_warning(model.path()), Error);
}

}  // namespace
}  // namespace lirio
