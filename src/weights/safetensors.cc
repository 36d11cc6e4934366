#include "weights/safetensors.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <unordered_set>

#include "base/error.h"
#include "base/float_types.h"
#include "base/json.h"
#include "weights/faults.h"

namespace lirio {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors data is used in place");

constexpr std::size_t kLengthBytes = 8;
constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit
constexpr std::size_t kMaxRank = 8;
constexpr const char* kDamagedHint = "The file may be damaged; fetch it again.";
constexpr const char* kIncompleteHint = "Probably an incomplete download: fetch the file again.";

struct DtypeInfo {
  std::string_view name;
  int bytes;
};
// In the order of Dtype.
constexpr DtypeInfo kDtypes[] = {{"BOOL", 1},    {"U8", 1},      {"I8", 1},  {"F8_E4M3", 1},
                                 {"F8_E5M2", 1}, {"F8_E8M0", 1}, {"U16", 2}, {"I16", 2},
                                 {"F16", 2},     {"BF16", 2},    {"U32", 4}, {"I32", 4},
                                 {"F32", 4},     {"U64", 8},     {"I64", 8}, {"F64", 8}};

/// A tensor as the header states it; offsets are relative to the data section.
struct Record {
  Tensor tensor;
  int64_t begin = 0;
  int64_t end = 0;
};

[[noreturn]] void fail(const std::string& source, std::string_view tensor, const std::string& fault) {
  throw Error(fmt::format("{}: tensor {}: {}", source, quote(tensor), fault), kDamagedHint);
}

/// Throws when `file` is something else that people point a loader at; the message beats "header too long".
void reject_other_formats(std::span<const std::byte> file, const std::string& source) {
  const std::string_view start(reinterpret_cast<const char*>(file.data()),
                               std::min<std::size_t>(file.size(), 16));
  if (start.starts_with("GGUF")) {
    throw Error(fmt::format("{}: this is a GGUF file, and GGUF isn't supported yet", source),
                "Get the MLX conversion: mlx-community/Qwen3.6-35B-A3B-4bit.");
  }
  if (start.starts_with("version https://")) {
    throw Error(fmt::format("{}: this is a Git LFS pointer, not the file itself", source),
                "Run `git lfs pull` in the folder, or download the file.");
  }
}

/// The JSON text, whose length is checked against the file.
std::string_view header_text(std::span<const std::byte> file, const std::string& source) {
  if (file.size() < kLengthBytes) {
    throw Error(fmt::format("{}: {} bytes are too short for a safetensors file, expected at least {}", source,
                            file.size(), kLengthBytes),
                kIncompleteHint);
  }
  reject_other_formats(file, source);
  const uint64_t length = load_unaligned<uint64_t>(file.data());
  if (length > kMaxHeaderBytes) {
    throw Error(
        fmt::format(
            "{}: not a safetensors file: its first 8 bytes give a header of {} bytes, expected at most {}",
            source, length, with_commas(kMaxHeaderBytes)),
        "Check that this is a safetensors file, or fetch it again.");
  }
  const uint64_t rest = file.size() - kLengthBytes;
  if (length > rest) {
    throw Error(
        fmt::format("{}: is {} bytes shorter than its header: expected a header of {} bytes, found {}",
                    source, with_commas(static_cast<int64_t>(length - rest)),
                    with_commas(static_cast<int64_t>(length)), with_commas(static_cast<int64_t>(rest))),
        kIncompleteHint);
  }
  return {reinterpret_cast<const char*>(file.data()) + kLengthBytes, static_cast<std::size_t>(length)};
}

const char* type_text(json::Element element) {
  switch (element.type()) {
    case simdjson::dom::element_type::ARRAY:
      return "an array";
    case simdjson::dom::element_type::OBJECT:
      return "an object";
    case simdjson::dom::element_type::INT64:
      return "an integer";
    case simdjson::dom::element_type::UINT64:
      return "an integer past the 63-bit range";
    case simdjson::dom::element_type::DOUBLE:
      return "a fraction";
    case simdjson::dom::element_type::STRING:
      return "a string";
    case simdjson::dom::element_type::BOOL:
      return "a boolean";
    case simdjson::dom::element_type::NULL_VALUE:
      return "null";
  }
  return "of another type";
}

/// The integers of the array `element`, none negative.
std::vector<int64_t> read_integers(json::Element element, std::string_view field, const std::string& source,
                                   std::string_view tensor) {
  json::Array array;
  if (element.get(array) != simdjson::SUCCESS) {
    fail(source, tensor, fmt::format("{} is {}, expected an array of integers", field, type_text(element)));
  }
  std::vector<int64_t> values;
  for (const json::Element item : array) {
    int64_t value = 0;
    if (item.get(value) != simdjson::SUCCESS) {
      fail(
          source, tensor,
          fmt::format("{}[{}] is {}, expected an integer below 2^63", field, values.size(), type_text(item)));
    }
    if (value < 0)
      fail(source, tensor, fmt::format("{}[{}] is {}, expected 0 or more", field, values.size(), value));
    if (values.size() == kMaxRank) {
      fail(source, tensor, fmt::format("{} has more than {} entries", field, kMaxRank));
    }
    values.push_back(value);
  }
  return values;
}

Dtype read_dtype(json::Element element, const std::string& source, std::string_view tensor) {
  std::string_view name;
  if (element.get(name) != simdjson::SUCCESS) {
    fail(source, tensor, fmt::format("dtype is {}, expected a string", type_text(element)));
  }
  for (std::size_t i = 0; i < std::size(kDtypes); ++i) {
    if (kDtypes[i].name == name) return static_cast<Dtype>(i);
  }
  fail(source, tensor,
       fmt::format("unknown dtype {}, expected one of BOOL, U8 to U64, I8 to I64, F16, BF16, F32, F64, "
                   "F8_E4M3, F8_E5M2, F8_E8M0",
                   quote(name)));
}

/// The record's size by dtype and shape; throws when it overflows or isn't what data_offsets span.
void check_size(const Record& record, const std::string& source) {
  const Tensor& tensor = record.tensor;
  int64_t size_bytes = dtype_bytes(tensor.dtype);
  for (const int64_t dimension : tensor.shape) {
    if (__builtin_mul_overflow(size_bytes, dimension, &size_bytes)) {
      fail(source, tensor.name, fmt::format("shape {} overflows 63 bits of bytes", shape_text(tensor.shape)));
    }
  }
  const int64_t span_bytes = record.end - record.begin;
  if (size_bytes != span_bytes) {
    fail(source, tensor.name,
         fmt::format("data_offsets [{}, {}] span {} bytes, expected {} for {} of shape {}", record.begin,
                     record.end, span_bytes, size_bytes, dtype_name(tensor.dtype), shape_text(tensor.shape)));
  }
}

Record read_record(std::string_view name, json::Element element, const std::string& source) {
  json::Object object;
  if (element.get(object) != simdjson::SUCCESS) {
    fail(source, name, fmt::format("its entry is {}, expected an object", type_text(element)));
  }
  std::optional<json::Element> dtype, shape, offsets;
  for (const auto [key, value] : object) {
    auto* const field = key == "dtype"          ? &dtype
                        : key == "shape"        ? &shape
                        : key == "data_offsets" ? &offsets
                                                : nullptr;
    if (field == nullptr) continue;
    if (field->has_value()) fail(source, name, fmt::format("field {} appears twice", key));
    *field = value;
  }
  const auto require = [&](const std::optional<json::Element>& field, const char* key) {
    if (!field)
      fail(source, name, fmt::format("field {} is absent, expected dtype, shape and data_offsets", key));
    return *field;
  };
  Record record;
  record.tensor.name = std::string(name);
  record.tensor.dtype = read_dtype(require(dtype, "dtype"), source, name);
  record.tensor.shape = read_integers(require(shape, "shape"), "shape", source, name);
  const std::vector<int64_t> range =
      read_integers(require(offsets, "data_offsets"), "data_offsets", source, name);
  if (range.size() != 2) {
    fail(source, name, fmt::format("data_offsets has {} entries, expected 2 (begin and end)", range.size()));
  }
  if (range[0] > range[1]) {
    fail(source, name, fmt::format("data_offsets [{}, {}] end before they begin", range[0], range[1]));
  }
  record.begin = range[0];
  record.end = range[1];
  check_size(record, source);
  return record;
}

std::vector<Record> read_records(std::string_view text, const std::string& source) {
  const json::Document document(text, source + ": header");
  std::vector<Record> records;
  std::unordered_set<std::string_view> names;
  for (const auto [name, value] : document.root_object()) {
    if (!names.insert(name).second) fail(source, name, "its name appears twice in the header");
    if (name != "__metadata__") {
      records.push_back(read_record(name, value, source));
    } else if (!value.is_object()) {
      fail(source, name, fmt::format("the metadata is {}, expected an object", type_text(value)));
    }
  }
  return records;
}

/// Checks that the tensors tile the data section: no overlap, no hole, no byte missing, none left over.
void check_tiling(std::span<const Record> records, int64_t data_bytes, const std::string& source) {
  int64_t end = 0;
  std::string_view previous = "the header";
  const Record* first_cut = nullptr;
  for (const Record& record : records) {
    const std::string& name = record.tensor.name;
    if (record.begin < end) {
      fail(source, name,
           fmt::format("data_offsets [{}, {}] overlap tensor {}, which ends at {}", record.begin, record.end,
                       quote(previous), end));
    }
    if (record.begin > end) {
      fail(source, name,
           fmt::format("bytes {} to {} of the data before it belong to no tensor: expected it to begin at "
                       "{}, found {}",
                       end, record.begin, end, record.begin));
    }
    if (first_cut == nullptr && record.end > data_bytes) first_cut = &record;
    end = record.end;
    previous = name;
  }
  if (first_cut != nullptr) {
    throw Error(
        fmt::format(
            "{}: is {} bytes shorter than its header says: expected {} bytes of data, found {}; the first "
            "tensor cut is {}",
            source, with_commas(end - data_bytes), with_commas(end), with_commas(data_bytes),
            quote(first_cut->tensor.name)),
        kIncompleteHint);
  }
  if (end < data_bytes) {
    throw Error(fmt::format("{}: {} bytes follow the last tensor: expected {} bytes of data, found {}",
                            source, with_commas(data_bytes - end), with_commas(end), with_commas(data_bytes)),
                kDamagedHint);
  }
}

}  // namespace

std::string_view dtype_name(Dtype dtype) {
  return kDtypes[static_cast<std::size_t>(dtype)].name;
}
int dtype_bytes(Dtype dtype) {
  return kDtypes[static_cast<std::size_t>(dtype)].bytes;
}

std::vector<Tensor> parse_safetensors_header(std::span<const std::byte> file, const std::string& source) {
  const std::string_view text = header_text(file, source);
  std::vector<Record> records = read_records(text, source);
  // An empty tensor sorts before the one that begins where it stands, and so overlaps nothing.
  std::sort(records.begin(), records.end(), [](const Record& a, const Record& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  const std::span<const std::byte> data = file.subspan(kLengthBytes + text.size());
  check_tiling(records, static_cast<int64_t>(data.size()), source);
  std::vector<Tensor> tensors;
  tensors.reserve(records.size());
  for (Record& record : records) {
    record.tensor.bytes = data.subspan(static_cast<std::size_t>(record.begin),
                                       static_cast<std::size_t>(record.end - record.begin));
    tensors.push_back(std::move(record.tensor));
  }
  return tensors;
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : file_(path), tensors_(parse_safetensors_header(file_.bytes(), path.string())) {}

}  // namespace lirio
