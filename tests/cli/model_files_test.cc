// Model folders that can't be used: each names the file and what differs, in two lines. The loaders' own
// tests (tests/unit/weights_*, model_config_*) know every fault; these see that faults reach the user whole.
#include <fstream>
#include <functional>

#include "cli/lirio.h"
#include "support/paths.h"
#include "support/reshard.h"

namespace lirio::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFirstShard = "model-00001-of-00002.safetensors";
constexpr const char* kSecondShard = "model-00002-of-00002.safetensors";

/// The pocket in a folder of its own: links to its files, each of which a test can replace.
class PocketCopy {
 public:
  PocketCopy() {
    for (const auto& entry : fs::directory_iterator(pocket_dir())) {
      fs::create_symlink(entry.path(), path() / entry.path().filename());
    }
  }

  const fs::path& path() const { return directory_.path(); }

  void remove(const char* name) const { fs::remove(path() / name); }

  void replace(const char* name, const std::string& bytes) const {
    remove(name);
    write_file(path() / name, bytes);
  }

  /// Replaces the only occurrence of `from` in a file.
  void edit(const char* name, const std::string& from, const std::string& to) const {
    std::string text = read_file(path() / name);
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    ASSERT_EQ(text.find(from, at + 1), std::string::npos) << from;
    replace(name, text.replace(at, from.size(), to));
  }

  void cut(const char* name, size_t bytes) const { replace(name, read_file(path() / name).substr(0, bytes)); }

 private:
  TemporaryDirectory directory_;
};

/// Both commands that load a model must fail alike, with every one of `texts` in the first line.
void expect_failure(const fs::path& folder, const std::vector<std::string>& texts) {
  for (const Arguments& arguments :
       {Arguments{"info", folder.string()}, {"run", "--model", folder.string(), "hi"}}) {
    const ProcessResult result = lirio(arguments);
    for (const std::string& text : texts) {
      EXPECT_TRUE(fails(result, 1, text)) << arguments[0];
    }
  }
}

TEST(ModelFiles, LinkedElsewhereStillWork) {
  const PocketCopy copy;
  EXPECT_EQ(lirio(greedy({"--model", copy.path().string(), kSum})).out, kSumAnswer);
}

TEST(ModelFiles, MissingFolderIsNamed) {
  expect_failure("no/such/folder", {"no/such/folder: no such file or folder"});
}

TEST(ModelFiles, FileInsteadOfAFolderIsNamed) {
  const fs::path file = pocket_dir() / "config.json";
  expect_failure(file, {file.string() + ": this is a file, expected a folder"});
}

TEST(ModelFiles, FolderWithoutAModelIsNamed) {
  const TemporaryDirectory empty;
  expect_failure(empty.path(), {empty.path().string() + ": holds no config.json"});
}

TEST(ModelFiles, TruncatedShardTellsHowManyBytesAreMissing) {
  const PocketCopy copy;
  copy.cut(kSecondShard, 5'000'000);
  expect_failure(copy.path(), {kSecondShard, "is 4,432,240 bytes shorter"});
}

TEST(ModelFiles, ShardCutInItsHeaderIsNamed) {
  const PocketCopy copy;
  copy.cut(kFirstShard, 1000);
  expect_failure(copy.path(), {kFirstShard, "shorter than its header"});
}

TEST(ModelFiles, EmptyShardIsNamed) {
  const PocketCopy copy;
  copy.replace(kSecondShard, "");
  expect_failure(copy.path(), {kSecondShard});
}

TEST(ModelFiles, MissingShardsAreAllListed) {
  const PocketCopy copy;
  copy.remove(kFirstShard);
  expect_failure(copy.path(), {std::string("1 of 2 weight files are missing: ") + kFirstShard});
  copy.remove(kSecondShard);
  expect_failure(copy.path(),
                 {std::string("2 of 2 weight files are missing: ") + kFirstShard + ", " + kSecondShard});
}

TEST(ModelFiles, AnotherModelIsToldByTheFieldsThatDiffer) {
  const PocketCopy copy;
  copy.edit("config.json", R"("num_experts": 32)", R"("num_experts": 64)");
  expect_failure(copy.path(), {"config.json", "num_experts is 64, expected 32"});
  const PocketCopy wide;
  wide.edit("config.json", R"("hidden_size": 256)", R"("hidden_size": 2560)");
  expect_failure(wide.path(), {"config.json", "hidden_size is 2560, expected 2048"});
  const PocketCopy llama;
  llama.replace("config.json", R"({"model_type": "llama", "hidden_size": 4096})");
  expect_failure(llama.path(), {"config.json", R"(model_type is "llama", expected "qwen3_5_moe")"});
}

TEST(ModelFiles, ConfigOfTheFullModelBesideThePocketsWeightsIsToldByTheFiles) {
  const PocketCopy copy;
  std::string config = read_file(copy.path() / "config.json");
  const std::pair<const char*, const char*> kFields[] = {
      {R"("hidden_size": 256)", R"("hidden_size": 2048)"},
      {R"("num_experts": 32)", R"("num_experts": 256)"},
      {R"("linear_num_key_heads": 4)", R"("linear_num_key_heads": 16)"},
      {R"("linear_num_value_heads": 8)", R"("linear_num_value_heads": 32)"},
      {R"("moe_intermediate_size": 64)", R"("moe_intermediate_size": 512)"},
      {R"("shared_expert_intermediate_size": 64)", R"("shared_expert_intermediate_size": 512)"}};
  for (const auto& [from, to] : kFields)
    config.replace(config.find(from), std::string(from).size(), to);
  copy.replace("config.json", config);
  expect_failure(copy.path(), {"these weights don't fit the model", "expected", "found"});
}

TEST(ModelFiles, TokenizerWithoutAControlTokenIsNamed) {
  const PocketCopy copy;
  copy.edit("tokenizer.json", R"("content": "</think>")", R"("content": "</thoughts>")");
  expect_failure(copy.path(), {"tokenizer.json", "added token </think> is absent"});
}

TEST(ModelFiles, TokenizerWithIdsBeyondTheVocabularyIsNamed) {
  const PocketCopy copy;
  copy.edit("config.json", R"("vocab_size": 4096)", R"("vocab_size": 4096)");
  const std::string text = read_file(copy.path() / "tokenizer.json");
  const size_t added = text.find("\"added_tokens\"");
  const size_t list = text.find('[', added);
  ASSERT_NE(list, std::string::npos);
  std::string longer = text;
  longer.insert(list + 1, R"({"id": 5000, "content": "<|beyond|>", "special": true},)");
  copy.replace("tokenizer.json", longer);
  expect_failure(copy.path(), {"tokenizer.json", "its ids reach 5000, expected at most 4095"});
}

TEST(ModelFiles, UnreadableJsonIsNamed) {
  for (const char* name :
       {"config.json", "generation_config.json", "tokenizer.json", "model.safetensors.index.json"}) {
    for (const char* text : {"{\"a\":", "not json", "[]", ""}) {
      const PocketCopy copy;
      copy.replace(name, text);
      EXPECT_TRUE(fails(lirio({"info", copy.path().string()}), 1, name)) << name << " with '" << text << "'";
    }
  }
}

TEST(ModelFiles, MissingTokenizerIsNamed) {
  const PocketCopy copy;
  copy.remove("tokenizer.json");
  expect_failure(copy.path(), {"tokenizer.json"});
}

TEST(ModelFiles, MissingIndexIsExplained) {
  const PocketCopy copy;
  copy.remove("model.safetensors.index.json");
  expect_failure(copy.path(), {kFirstShard, "model.safetensors.index.json"});
}

}  // namespace
}  // namespace lirio::testing
