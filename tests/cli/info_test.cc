// lirio info, and which model folder the commands use.
#include <regex>

#include "cli/lirio.h"
#include "support/paths.h"

namespace lirio::testing {
namespace {

namespace fs = std::filesystem;

TEST(Info, TellsWhatThePocketHolds) {
  const ProcessResult result = lirio({"info"});
  for (const char* text :
       {": the pocket model\n", "8 layers: 6 Gated DeltaNet, 2 full attention; hidden size 256",
        "32 experts a layer, 8 a token, of width 64",
        "vocabulary 3188 of 4096 rows used; context 8192 tokens", "temperature 1, top-k 20, top-p 0.95",
        "model-00001-of-00002.safetensors: 10 MB", "model-00002-of-00002.safetensors: 9 MB",
        "403 tensors, 19 MB", "not used: multi-token prediction head, 46 tensors, 3 MB"}) {
    EXPECT_TRUE(prints(result, text));
  }
}

TEST(Info, TellsWhatTheModelNeedsAndWhatTheMachineHas) {
  const ProcessResult result = lirio({"info"});
  EXPECT_TRUE(prints(result, "16 MB of weights, mapped from the files"));
  for (const char* pattern : {R"(\d+ MB for a conversation of 8192 tokens, \d+ MB of workspace)",
                              R"(each generated token reads \d+ MB of weights)", R"(\d+ of \d+ CPUs)",
                              R"([\d.]+ [GM]B of memory, [\d.]+ [GM]B available)"}) {
    EXPECT_TRUE(std::regex_search(result.out, std::regex(pattern))) << pattern << "\n" << result.out;
  }
}

TEST(Info, SaysHowToNameARealModelOnlyWithoutOne) {
  EXPECT_TRUE(lirio({"info"}).err.starts_with("Using the pocket model"));
  EXPECT_EQ(lirio({"info", pocket_dir().string()}).err, "");
}

TEST(Info, TakesTheFolderAsArgumentOrFlag) {
  const std::string folder = pocket_dir().string();
  // The last line but one is the memory that is free at the moment.
  const auto model_part = [](const std::string& text) { return text.substr(0, text.find("This machine")); };
  EXPECT_EQ(model_part(lirio({"info", folder}).out), model_part(lirio({"info", "--model", folder}).out));
}

TEST(Info, TakesRelativePathsAndTrailingSlashes) {
  for (const char* folder :
       {"models/pocket", "models/pocket/", "./models//pocket/", "models/../models/pocket"}) {
    const ProcessResult result = lirio({"info", folder}, ProcessOptions{.directory = source_dir()});
    EXPECT_TRUE(prints(result, std::string(folder) + ": the pocket model\n"));
  }
  EXPECT_TRUE(
      prints(lirio({"info", "."}, ProcessOptions{.directory = pocket_dir()}), ".: the pocket model\n"));
}

TEST(PocketModel, IsFoundFromAnyFolderAndThroughALink) {
  const TemporaryDirectory elsewhere;
  const fs::path link = elsewhere.path() / "lirio";
  fs::create_symlink(program(), link);
  EXPECT_TRUE(
      prints(run_process(link, {"info"}, ProcessOptions{.directory = elsewhere.path()}), "the pocket model"));
}

TEST(PocketModel, AbsentBesideTheProgramIsAUsageError) {
  const TemporaryDirectory elsewhere;
  const fs::path copy = elsewhere.path() / "lirio";
  fs::copy_file(program(), copy);
  const ProcessResult result = run_process(copy, {"run", "hi"});
  EXPECT_TRUE(fails(result, 2, "no model given"));
  EXPECT_NE(result.err.find("--model DIR"), std::string::npos) << result.err;
}

TEST(PocketModel, IsFoundInAnInstalledPlace) {
  const TemporaryDirectory prefix;
  fs::create_directories(prefix.path() / "bin");
  fs::create_directories(prefix.path() / "share" / "lirio" / "models");
  fs::copy_file(program(), prefix.path() / "bin" / "lirio");
  fs::create_directory_symlink(pocket_dir(), prefix.path() / "share" / "lirio" / "models" / "pocket");
  EXPECT_TRUE(prints(run_process(prefix.path() / "bin" / "lirio", {"info"}), "the pocket model"));
}

}  // namespace
}  // namespace lirio::testing
