// State blocks in ordinary memory, all fp32 (gamma fp64), allocated one by one. Used by the reference
// backend. Layouts of a block, layer by layer:
//   KV page     keys [kv_heads, 64, 256], values of the same shape
//   GDN matrix  [Hv, 128, 128]
//   GDN log     gamma fp64 [64, Hv], k [64, Hk, 128], v' [64, Hv, 128]
//   conv rows   [4, channels]
// Not thread-safe while blocks are allocated or released.
#pragma once

#include <memory>
#include <vector>

#include "kernels/args.h"
#include "model/config.h"
#include "model/state.h"

namespace lirio {

class HostStateStorage : public StateStorage {
 public:
  explicit HostStateStorage(const Config& config);

  int64_t block_bytes(BlockKind kind) const override;
  void allocate(BlockKind kind, BlockId id) override;
  void release(BlockKind kind, BlockId id) override;
  void copy(BlockKind kind, BlockId from, BlockId to) override;

  // One layer's part of a block, the layer counted among those of its type; null for kNoBlock.
  float* kv_page(BlockId id, int layer) const { return floats(BlockKind::kKvPage, id, layer); }
  float* gdn_matrix(BlockId id, int layer) const { return floats(BlockKind::kGdnMatrix, id, layer); }
  float* conv_rows(BlockId id, int layer) const { return floats(BlockKind::kConvRows, id, layer); }
  GdnLog gdn_log(BlockId id, int layer) const;

 private:
  std::byte* layer_address(BlockKind kind, BlockId id, int layer) const;
  float* floats(BlockKind kind, BlockId id, int layer) const {
    return reinterpret_cast<float*>(layer_address(kind, id, layer));
  }

  int64_t attention_layers_, gdn_layers_, key_heads_, value_heads_;
  int64_t layer_bytes_[kBlockKinds];
  std::vector<std::unique_ptr<std::byte[]>> blocks_[kBlockKinds];
};

}  // namespace lirio
