// The state of a sequence: one mutable timeline of tokens that can be appended to, truncated within reach,
// and forked (checkpoint and restore). It holds, by reference to blocks that forks share:
//   KV pages      keys and values of 64 positions for the attention layers, which advance together
//   GDN matrices  the recurrent state S of every Gated DeltaNet layer at a multiple of 64 tokens
//   GDN logs      the tokens since that multiple: k, corrected value v', cumulative decay
//   conv blocks   the last rows before the convolution, 4 rows a block
// StatePool counts and bounds the memory; a backend's StateStorage provides it in the layout and dtypes of
// its choice. Not thread-safe: the inference thread owns a pool and its sequences.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/shapes.h"

namespace lirio {

enum class BlockKind : uint8_t { kKvPage, kGdnMatrix, kGdnLog, kConvRows };
inline constexpr int kBlockKinds = 4;

using BlockId = int32_t;
/// In a table: nothing is stored. As a matrix: S is zero (the start of a sequence).
inline constexpr BlockId kNoBlock = -1;

/// Tokens that a block of each kind covers. A matrix stands at the start of the 64 tokens it is indexed by.
inline constexpr int tokens_per_block(BlockKind kind) {
  return kind == BlockKind::kKvPage     ? kKvPageTokens
         : kind == BlockKind::kConvRows ? kConvBlockTokens
                                        : kGdnChunk;
}

/// The memory behind blocks, owned by a backend. Ids are dense and reused.
class StateStorage {
 public:
  virtual ~StateStorage() = default;
  virtual int64_t block_bytes(BlockKind kind) const = 0;
  /// Makes block `id` usable. Contents are undefined. May throw Error when the device has no memory.
  virtual void allocate(BlockKind kind, BlockId id) = 0;
  /// Block `id` is no longer used. It may be allocated again.
  virtual void release(BlockKind kind, BlockId id) = 0;
  /// Copies a whole block, after all steps issued so far and before all later ones.
  virtual void copy(BlockKind kind, BlockId from, BlockId to) = 0;
};

/// Consecutive blocks: entry i is block number `first` + i of the timeline, kNoBlock where nothing is kept.
struct BlockTable {
  int64_t first = 0;
  std::span<const BlockId> ids;

  /// The block with that number, or kNoBlock.
  BlockId at(int64_t number) const {
    const int64_t i = number - first;
    return i >= 0 && i < static_cast<int64_t>(ids.size()) ? ids[static_cast<size_t>(i)] : kNoBlock;
  }
};

/// What a step needs to know of a sequence's state. Valid until the sequence is changed.
struct StateView {
  int64_t length = 0;  ///< tokens before the step
  /// A step reads what lies before `length` and writes every row of its own that falls into a block of the
  /// table.
  BlockTable kv_pages;
  BlockTable gdn_matrices;  ///< number c: S at token 64 c
  BlockTable gdn_logs;      ///< number c: tokens 64 c to 64 c + 63
  BlockTable conv_rows;
};

class StatePool;

class SequenceState {
 public:
  explicit SequenceState(StatePool& pool) : pool_(&pool) {}
  ~SequenceState();
  SequenceState(SequenceState&& other) noexcept;
  SequenceState& operator=(SequenceState&& other) noexcept;

  int64_t length() const { return length_; }
  /// truncate() accepts any length from here to length(): at least the last kReach tokens that were appended
  /// here.
  int64_t shortest_reachable() const { return shortest_reachable_; }

  /// Makes room for `rows` more tokens. False, and nothing has changed, when the pool's limit doesn't allow
  /// it. Throws what the storage throws; then too nothing has changed. Ends with commit(), or with cancel()
  /// when the step failed.
  [[nodiscard]] bool begin_append(int64_t rows);
  /// For the step between begin_append() and commit().
  StateView view() const;
  /// The step has written the rows: length grows, and what is out of reach is let go.
  void commit();
  void cancel();

  /// Forgets the tokens from `length` on. Going on from there gives the bits it would have given the first
  /// time.
  void truncate(int64_t length);

  /// An independent sequence with the same tokens; blocks are shared until one of the two writes into them.
  /// A checkpoint is a fork that is kept; restoring is a fork of the checkpoint.
  SequenceState fork() const;

  /// Bytes of the blocks this sequence refers to, shared ones included.
  int64_t bytes() const;

 private:
  struct Blocks {
    int64_t first = 0;
    std::vector<BlockId> ids;
  };

  Blocks& blocks(BlockKind kind) { return blocks_[static_cast<size_t>(kind)]; }
  const Blocks& blocks(BlockKind kind) const { return blocks_[static_cast<size_t>(kind)]; }
  bool extend(BlockKind kind, int64_t begin, int64_t end, int64_t keep_from);
  bool add_matrices(int64_t end, int64_t keep_from);
  void drop_outside(BlockKind kind, int64_t first_number, int64_t end_number);
  void trim();
  void release_all();

  StatePool* pool_;
  int64_t length_ = 0;
  int64_t pending_rows_ = 0;
  int64_t shortest_reachable_ = 0;
  Blocks blocks_[kBlockKinds];
};

class StatePool {
 public:
  /// Never holds more than `limit_bytes` of blocks. `storage` outlives the pool, the pool its sequences.
  StatePool(StateStorage& storage, int64_t limit_bytes);
  ~StatePool();
  StatePool(const StatePool&) = delete;

  int64_t bytes_in_use() const { return bytes_in_use_; }
  int64_t limit_bytes() const { return limit_bytes_; }
  int64_t blocks_in_use(BlockKind kind) const;
  const StateStorage& storage() const { return storage_; }

  /// Bytes that a sequence of `length` tokens refers to at most, within reach of its end.
  int64_t bytes_for_sequence(int64_t length) const;

 private:
  friend class SequenceState;
  struct Block {
    int32_t references = 0;
    int32_t written = 0;  ///< tokens of it that some sequence has written or is about to
  };
  struct Kind {
    std::vector<Block> blocks;
    std::vector<BlockId> free;
  };

  Block& block(BlockKind kind, BlockId id) {
    return kinds_[static_cast<size_t>(kind)].blocks[static_cast<size_t>(id)];
  }
  /// kNoBlock when the limit doesn't allow it.
  BlockId allocate(BlockKind kind);
  void retain(BlockKind kind, BlockId id);
  void release(BlockKind kind, BlockId id);
  /// A block that the caller may write from token `used` on: the same one, or a copy where others depend on
  /// it.
  BlockId writable(BlockKind kind, BlockId id, int used);

  StateStorage& storage_;
  int64_t limit_bytes_;
  int64_t bytes_in_use_ = 0;
  Kind kinds_[kBlockKinds];
};

}  // namespace lirio
