#include "backend/ref/host_state_storage.h"

#include <cstring>

#include "base/check.h"

namespace lirio {
namespace {

constexpr int64_t kFloat = sizeof(float);

}  // namespace

HostStateStorage::HostStateStorage(const Config& config)
    : attention_layers_(config.count_layers(LayerType::kFullAttention)),
      gdn_layers_(config.count_layers(LayerType::kLinearAttention)),
      key_heads_(config.linear_num_key_heads),
      value_heads_(config.linear_num_value_heads) {
  const auto bytes = [&](BlockKind kind) -> int64_t& { return layer_bytes_[static_cast<size_t>(kind)]; };
  bytes(BlockKind::kKvPage) = 2 * kKvPageTokens * config.key_value_width() * kFloat;
  bytes(BlockKind::kGdnMatrix) = value_heads_ * kGdnHeadDim * kGdnHeadDim * kFloat;
  bytes(BlockKind::kGdnLog) = kGdnChunk * (value_heads_ * int64_t{sizeof(double)} +
                                           (key_heads_ + value_heads_) * kGdnHeadDim * kFloat);
  bytes(BlockKind::kConvRows) = kConvBlockTokens * config.conv_channels() * kFloat;
}

int64_t HostStateStorage::block_bytes(BlockKind kind) const {
  const int64_t layers = kind == BlockKind::kKvPage ? attention_layers_ : gdn_layers_;
  return layers * layer_bytes_[static_cast<size_t>(kind)];
}

void HostStateStorage::allocate(BlockKind kind, BlockId id) {
  auto& blocks = blocks_[static_cast<size_t>(kind)];
  const auto index = static_cast<size_t>(id);
  if (blocks.size() <= index) blocks.resize(index + 1);
  CHECK(blocks[index] == nullptr);
  blocks[index] = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(block_bytes(kind)));
}

void HostStateStorage::release(BlockKind kind, BlockId id) {
  blocks_[static_cast<size_t>(kind)][static_cast<size_t>(id)].reset();
}

void HostStateStorage::copy(BlockKind kind, BlockId from, BlockId to) {
  const auto& blocks = blocks_[static_cast<size_t>(kind)];
  std::memcpy(blocks[static_cast<size_t>(to)].get(), blocks[static_cast<size_t>(from)].get(),
              static_cast<size_t>(block_bytes(kind)));
}

std::byte* HostStateStorage::layer_address(BlockKind kind, BlockId id, int layer) const {
  if (id == kNoBlock) return nullptr;
  std::byte* block = blocks_[static_cast<size_t>(kind)][static_cast<size_t>(id)].get();
  CHECK(block != nullptr);
  return block + layer * layer_bytes_[static_cast<size_t>(kind)];
}

GdnLog HostStateStorage::gdn_log(BlockId id, int layer) const {
  std::byte* base = layer_address(BlockKind::kGdnLog, id, layer);
  GdnLog log;
  log.gamma = reinterpret_cast<double*>(base);
  log.k = reinterpret_cast<float*>(base + kGdnChunk * value_heads_ * int64_t{sizeof(double)});
  log.v = log.k + kGdnChunk * key_heads_ * kGdnHeadDim;
  return log;
}

}  // namespace lirio
