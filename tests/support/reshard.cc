#include "support/reshard.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>

#include "base/json.h"
#include "support/paths.h"
#include "weights/checkpoint.h"

namespace lirio::testing {

std::vector<OwnedTensor> load_tensors(const std::filesystem::path& directory) {
  std::vector<OwnedTensor> tensors;
  const Checkpoint checkpoint = Checkpoint::open(directory);
  for (const Checkpoint::File& file : checkpoint.files()) {
    const SafetensorsFile shard(file.path);
    for (const Tensor& tensor : shard.tensors()) {
      const auto* const data = reinterpret_cast<const char*>(tensor.bytes.data());
      tensors.push_back({tensor.name, tensor.dtype, tensor.shape, std::string(data, tensor.bytes.size())});
    }
  }
  std::sort(tensors.begin(), tensors.end(),
            [](const OwnedTensor& a, const OwnedTensor& b) { return a.name < b.name; });
  return tensors;
}

OwnedTensor& tensor_named(std::vector<OwnedTensor>& tensors, std::string_view name) {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const OwnedTensor& tensor) { return tensor.name == name; });
  if (found == tensors.end()) throw std::runtime_error("no tensor " + std::string(name));
  return *found;
}

std::string safetensors_file(std::string_view header, std::string_view data) {
  const uint64_t length = header.size();
  std::string file(sizeof length, '\0');
  std::memcpy(file.data(), &length, sizeof length);
  file += header;
  file += data;
  return file;
}

std::string safetensors_file(std::span<const OwnedTensor> tensors, int header_remainder) {
  std::string header = R"({"__metadata__":{"format":"mlx"})";
  std::string data;
  for (const OwnedTensor& tensor : tensors) {
    header += ',';
    json::append_string(header, tensor.name);
    std::string shape;
    for (const int64_t dimension : tensor.shape) {
      if (!shape.empty()) shape += ',';
      shape += std::to_string(dimension);
    }
    header += fmt::format(R"(:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                          dtype_name(tensor.dtype), shape, data.size(), data.size() + tensor.bytes.size());
    data += tensor.bytes;
  }
  header += '}';
  while (static_cast<int>(header.size() % 8) != header_remainder)
    header += ' ';
  return safetensors_file(header, data);
}

void write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw std::runtime_error("can't write " + path.string());
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("can't read " + path.string());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_checkpoint(const std::filesystem::path& directory, std::vector<OwnedTensor> tensors,
                      const Layout& layout) {
  for (const char* name :
       {"config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json"}) {
    write_file(directory / name, read_file(pocket_dir() / name));
  }
  if (layout.shuffle_seed != 0) {
    std::mt19937 random(layout.shuffle_seed);
    std::shuffle(tensors.begin(), tensors.end(), random);
  }
  std::string weight_map;
  const std::span<const OwnedTensor> all(tensors);
  const auto shards = static_cast<std::size_t>(layout.shards);
  for (std::size_t shard = 0; shard < shards; ++shard) {
    const std::size_t begin = all.size() * shard / shards, end = all.size() * (shard + 1) / shards;
    const std::string name = shards == 1 ? "model.safetensors"
                                         : fmt::format("model-{:05}-of-{:05}.safetensors", shard + 1, shards);
    write_file(directory / name, safetensors_file(all.subspan(begin, end - begin), layout.header_remainder));
    for (const OwnedTensor& tensor : all.subspan(begin, end - begin)) {
      if (!weight_map.empty()) weight_map += ",";
      json::append_string(weight_map, tensor.name);
      weight_map += fmt::format(":\"{}\"", name);
    }
  }
  if (shards > 1) {
    write_file(directory / "model.safetensors.index.json",
               fmt::format(R"({{"weight_map":{{{}}}}})", weight_map));
  }
}

}  // namespace lirio::testing
