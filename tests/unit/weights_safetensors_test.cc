// weights/safetensors: what a file gives, and how each fault of a header is named.
#include "weights/safetensors.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>

#include "base/error.h"
#include "support/paths.h"
#include "support/reshard.h"

namespace lirio {
namespace {

using testing::OwnedTensor;
using testing::safetensors_file;

std::vector<Tensor> parse(std::string_view file) {
  return parse_safetensors_header({reinterpret_cast<const std::byte*>(file.data()), file.size()},
                                  "x.safetensors");
}

/// What is wrong with `file`: the message and the hint, or "" when nothing is.
std::string fault_of(std::string_view file) {
  try {
    parse(file);
  } catch (const Error& error) {
    EXPECT_NE(error.hint(), "");
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << "one line";
    EXPECT_EQ(std::string(error.what()).find("x.safetensors: "), 0u) << "names the file";
    return fmt::format("{} | {}", error.what(), error.hint());
  }
  return "";
}

/// The fault of a file whose header has the one tensor "w" with these fields, and `data_bytes` bytes of data.
std::string fault_of_entry(std::string_view fields, std::size_t data_bytes = 8) {
  return fault_of(safetensors_file(fmt::format(R"({{"w":{{{}}}}})", fields), std::string(data_bytes, 'd')));
}

#define EXPECT_SAYS(fault, part) EXPECT_NE((fault).find(part), std::string::npos) << (fault)

TEST(Safetensors, GivesEachTensorItsNameTypeShapeAndBytes) {
  const OwnedTensor tensors[] = {{"a", Dtype::kBf16, {2, 1}, "abcd"}, {"b", Dtype::kU8, {3}, "xyz"}};
  const std::string file = safetensors_file(tensors);
  const std::vector<Tensor> parsed = parse(file);
  ASSERT_EQ(parsed.size(), 2u);
  EXPECT_EQ(parsed[0].name, "a");
  EXPECT_EQ(parsed[0].dtype, Dtype::kBf16);
  EXPECT_EQ(parsed[0].shape, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(parsed[1].dtype, Dtype::kU8);
  EXPECT_EQ(std::memcmp(parsed[1].bytes.data(), "xyz", 3), 0);
  EXPECT_EQ(reinterpret_cast<const char*>(parsed[1].bytes.data()), file.data() + file.size() - 3)
      << "zero copy";
}

TEST(Safetensors, TakesEveryDtypeThatFillsBytes) {
  for (int i = 0; i <= static_cast<int>(Dtype::kF64); ++i) {
    const auto dtype = static_cast<Dtype>(i);
    const OwnedTensor tensor{"t", dtype, {1}, std::string(static_cast<std::size_t>(dtype_bytes(dtype)), 'x')};
    EXPECT_EQ(parse(safetensors_file({&tensor, 1})).at(0).dtype, dtype) << dtype_name(dtype);
  }
}

TEST(Safetensors, TakesScalarsEmptyTensorsAndNoTensors) {
  EXPECT_EQ(fault_of(safetensors_file("{}", "")), "");
  const OwnedTensor tensors[] = {{"none", Dtype::kF32, {0, 5}, ""}, {"scalar", Dtype::kF32, {}, "ffff"}};
  EXPECT_EQ(fault_of(safetensors_file(tensors)), "");
}

TEST(Safetensors, OrdersTensorsByTheirDataNotByTheHeader) {
  const std::string header = R"({"late":{"dtype":"U8","shape":[1],"data_offsets":[1,2]},)"
                             R"("early":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  EXPECT_EQ(parse(safetensors_file(header, "eL")).at(0).name, "early");
}

TEST(Safetensors, RefusesAFileShorterThanItsLengthField) {
  EXPECT_SAYS(fault_of(""), "0 bytes are too short for a safetensors file, expected at least 8");
  EXPECT_SAYS(fault_of("1234567"), "7 bytes are too short");
}

TEST(Safetensors, RefusesAFileThatEndsInItsHeader) {
  const std::string file = safetensors_file(std::string(3000, ' '), "");
  const std::string fault = fault_of(std::string_view(file).substr(0, 1008));
  EXPECT_SAYS(fault, "is 2,000 bytes shorter than its header: expected a header of 3,000 bytes, found 1,000");
  EXPECT_SAYS(fault, "incomplete download");
}

TEST(Safetensors, RefusesAHeaderOverTheFormatsLimit) {
  std::string file(64, ' ');
  const uint64_t length = 100'000'001;
  std::memcpy(file.data(), &length, sizeof length);
  EXPECT_SAYS(fault_of(file), "not a safetensors file: its first 8 bytes give a header of 100000001 bytes");
  EXPECT_SAYS(fault_of(file), "expected at most 100,000,000");
}

TEST(Safetensors, SaysWhatAKnownOtherFileIs) {
  EXPECT_SAYS(fault_of("GGUF\x03 and so on for a while"), "GGUF isn't supported yet");
  EXPECT_SAYS(fault_of("version https://git-lfs.github.com/spec/v1\noid sha256:0\n"), "Git LFS pointer");
}

TEST(Safetensors, RefusesAHeaderThatIsntAJsonObject) {
  EXPECT_SAYS(fault_of(safetensors_file("{\"a\":", "")), "x.safetensors: header: not valid JSON");
  EXPECT_SAYS(fault_of(safetensors_file("", "")), "not valid JSON");
  EXPECT_SAYS(fault_of(safetensors_file("[]", "")), "expected a JSON object");
  EXPECT_SAYS(fault_of(safetensors_file("{\"\xff\":1}", "")), "not valid JSON");
}

TEST(Safetensors, RefusesATensorNamedTwice) {
  const std::string entry = R"("w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  EXPECT_SAYS(fault_of(safetensors_file(fmt::format("{{{0},{0}}}", entry), "x")),
              R"(tensor "w": its name appears twice)");
}

TEST(Safetensors, RefusesMetadataThatIsntAnObject) {
  EXPECT_SAYS(fault_of(safetensors_file(R"({"__metadata__":3})", "")),
              "the metadata is an integer, expected an object");
}

TEST(Safetensors, NamesTheFieldThatIsMissing) {
  EXPECT_SAYS(fault_of_entry(R"("shape":[8],"data_offsets":[0,8])"), R"(tensor "w": field dtype is absent)");
  EXPECT_SAYS(fault_of_entry(R"("dtype":"U8","data_offsets":[0,8])"), R"(tensor "w": field shape is absent)");
  EXPECT_SAYS(fault_of_entry(R"("dtype":"U8","shape":[8])"), R"(tensor "w": field data_offsets is absent)");
  EXPECT_SAYS(fault_of(safetensors_file(R"({"w":[]})", "")),
              R"(tensor "w": its entry is an array, expected an object)");
}

TEST(Safetensors, NamesTheFieldThatIsOfTheWrongType) {
  EXPECT_SAYS(fault_of_entry(R"("dtype":7,"shape":[8],"data_offsets":[0,8])"),
              "dtype is an integer, expected a string");
  EXPECT_SAYS(fault_of_entry(R"("dtype":"U8","shape":8,"data_offsets":[0,8])"),
              "shape is an integer, expected an array of integers");
  EXPECT_SAYS(fault_of_entry(R"("dtype":"U8","shape":[8.0],"data_offsets":[0,8])"),
              "shape[0] is a fraction, expected an integer");
  EXPECT_SAYS(fault_of_entry(R"("dtype":"U8","shape":[8],"data_offsets":["0",8])"),
              "data_offsets[0] is a string, expected an integer");
  EXPECT_SAYS(fault_of_entry(R"("dtype":"U8","shape":[8],"data_offsets":[0,8,16])"),
              "data_offsets has 3 entries, expected 2");
  EXPECT_SAYS(fault_of_entry(R"("dtype":"U8","dtype":"I8","shape":[8],"data_offsets":[0,8])"),
              "field dtype appears twice");
}

TEST(Safetensors, NamesAnUnknownDtype) {
  EXPECT_SAYS(fault_of_entry(R"("dtype":"F4","shape":[16],"data_offsets":[0,8])"),
              R"(tensor "w": unknown dtype "F4", expected one of)");
}

TEST(Safetensors, RefusesNegativeAndOverflowingDimensions) {
  EXPECT_SAYS(fault_of_entry(R"("dtype":"U8","shape":[-8],"data_offsets":[0,8])"),
              "shape[0] is -8, expected 0 or more");
  EXPECT_SAYS(fault_of_entry(R"("dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,8])"),
              "shape[0] is an integer past the 63-bit range");
  EXPECT_SAYS(fault_of_entry(R"("dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,8])"),
              "shape [4294967296, 4294967296] overflows");
  EXPECT_SAYS(fault_of_entry(R"("dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0])"),
              "overflows");
  EXPECT_SAYS(fault_of_entry(R"("dtype":"U8","shape":[1,1,1,1,1,1,1,1,8],"data_offsets":[0,8])"),
              "more than 8 entries");
}

TEST(Safetensors, ComparesTheOffsetsWithTheShape) {
  EXPECT_SAYS(fault_of_entry(R"("dtype":"BF16","shape":[2,3],"data_offsets":[0,8])"),
              R"(tensor "w": data_offsets [0, 8] span 8 bytes, expected 12 for BF16 of shape [2, 3])");
  EXPECT_SAYS(fault_of_entry(R"("dtype":"U8","shape":[8],"data_offsets":[8,0])"),
              "[8, 0] end before they begin");
  EXPECT_SAYS(fault_of_entry(R"("dtype":"U8","shape":[8],"data_offsets":[-8,0])"), "data_offsets[0] is -8");
}

TEST(Safetensors, RefusesOverlappingTensors) {
  const std::string header = R"({"a":{"dtype":"U8","shape":[6],"data_offsets":[0,6]},)"
                             R"("b":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})";
  EXPECT_SAYS(fault_of(safetensors_file(header, "12345678")),
              R"(tensor "b": data_offsets [4, 8] overlap tensor "a", which ends at 6)");
}

TEST(Safetensors, RefusesHolesNamingTheirBytes) {
  EXPECT_SAYS(fault_of_entry(R"("dtype":"U8","shape":[5],"data_offsets":[3,8])"),
              R"(tensor "w": bytes 0 to 3 of the data before it belong to no tensor)");
}

TEST(Safetensors, SaysHowManyBytesFollowTheLastTensor) {
  EXPECT_SAYS(fault_of_entry(R"("dtype":"U8","shape":[8],"data_offsets":[0,8])", 12),
              "4 bytes follow the last tensor: expected 8 bytes of data, found 12");
}

TEST(Safetensors, SaysHowManyBytesATruncatedFileLacks) {
  const std::string fault =
      fault_of_entry(R"("dtype":"U8","shape":[30001000],"data_offsets":[0,30001000])", 1000);
  EXPECT_SAYS(
      fault,
      "is 30,000,000 bytes shorter than its header says: expected 30,001,000 bytes of data, found 1,000");
  EXPECT_SAYS(fault, R"(the first tensor cut is "w")");
  EXPECT_SAYS(fault, "incomplete download");
}

TEST(Safetensors, RefusesEveryTruncationOfARealShard) {
  const std::string file = testing::read_file(testing::pocket_dir() / "model-00001-of-00002.safetensors");
  for (const std::size_t size : {std::size_t{0}, std::size_t{7}, std::size_t{8}, std::size_t{9},
                                 std::size_t{20000}, file.size() / 2, file.size() - 1}) {
    EXPECT_NE(fault_of(std::string_view(file).substr(0, size)), "") << size;
  }
  EXPECT_EQ(fault_of(file), "");
}

TEST(Safetensors, KeepsHostileNamesOnOneShortLine) {
  const std::string header = fmt::format(R"({{"a\n\u0001{}":1}})", std::string(5000, 'n'));
  const std::string fault = fault_of(safetensors_file(header, ""));
  EXPECT_SAYS(fault, R"(tensor "a\n\u0001nnn)");
  EXPECT_LT(fault.size(), 300u);
}

TEST(Safetensors, NamesAFileThatCantBeOpened) {
  EXPECT_THROW(SafetensorsFile(testing::pocket_dir() / "absent.safetensors"), Error);
  EXPECT_THROW(SafetensorsFile{testing::pocket_dir()}, Error);
}

TEST(Safetensors, KeepsItsViewsWhenMoved) {
  SafetensorsFile file(testing::pocket_dir() / "model-00002-of-00002.safetensors");
  const std::byte* const bytes = file.tensors().at(0).bytes.data();
  const SafetensorsFile moved = std::move(file);
  EXPECT_EQ(moved.tensors().at(0).bytes.data(), bytes);
  EXPECT_EQ(moved.file_bytes(), 9432240);
}

}  // namespace
}  // namespace lirio
