#include "model/state.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace lirio {
namespace {

constexpr BlockKind kAllKinds[] = {BlockKind::kKvPage, BlockKind::kGdnMatrix, BlockKind::kGdnLog,
                                   BlockKind::kConvRows};

int64_t blocks_for(BlockKind kind, int64_t tokens) {
  const int size = tokens_per_block(kind);
  return (tokens + size - 1) / size;
}

/// The first chunk whose matrix and log a sequence of that length keeps: its own, and the one before while a
/// truncation within reach can still lead there.
int64_t first_kept_chunk(int64_t length) {
  const int64_t chunk = length / kGdnChunk;
  return chunk > 0 && length % kGdnChunk < kReach ? chunk - 1 : chunk;
}

/// The first conv block: going on from `kReach` tokens back needs the kConvWidth - 1 rows before.
int64_t first_kept_conv_block(int64_t length) {
  return std::max<int64_t>(0, length - kReach - (kConvWidth - 1)) / kConvBlockTokens;
}

}  // namespace

// ----------------------------------------------------------------------------------------------------
// StatePool

StatePool::StatePool(StateStorage& storage, int64_t limit_bytes)
    : storage_(storage), limit_bytes_(limit_bytes) {}

StatePool::~StatePool() {
  CHECK(bytes_in_use_ == 0);
}

int64_t StatePool::blocks_in_use(BlockKind kind) const {
  const Kind& pool = kinds_[static_cast<size_t>(kind)];
  return static_cast<int64_t>(pool.blocks.size() - pool.free.size());
}

int64_t StatePool::bytes_for_sequence(int64_t length) const {
  const auto bytes = [&](BlockKind kind) { return storage_.block_bytes(kind); };
  // While a step crosses a boundary, the chunk it started in lives beside the last two.
  const int64_t conv_blocks = 2 * (blocks_for(BlockKind::kConvRows, kReach + kConvWidth - 1) + 1);
  return blocks_for(BlockKind::kKvPage, length) * bytes(BlockKind::kKvPage) +
         3 * (bytes(BlockKind::kGdnMatrix) + bytes(BlockKind::kGdnLog)) +
         conv_blocks * bytes(BlockKind::kConvRows);
}

BlockId StatePool::allocate(BlockKind kind) {
  const int64_t bytes = storage_.block_bytes(kind);
  if (bytes > limit_bytes_ - bytes_in_use_) return kNoBlock;
  Kind& pool = kinds_[static_cast<size_t>(kind)];
  if (pool.free.empty()) {
    pool.free.push_back(static_cast<BlockId>(pool.blocks.size()));
    pool.blocks.emplace_back();
  }
  const BlockId id = pool.free.back();
  storage_.allocate(kind, id);  // may throw: nothing has changed yet but a longer free list
  pool.free.pop_back();
  block(kind, id) = {1, 0};
  bytes_in_use_ += bytes;
  return id;
}

void StatePool::retain(BlockKind kind, BlockId id) {
  if (id != kNoBlock) ++block(kind, id).references;
}

void StatePool::release(BlockKind kind, BlockId id) {
  if (id == kNoBlock) return;
  CHECK(block(kind, id).references > 0);
  if (--block(kind, id).references > 0) return;
  storage_.release(kind, id);
  kinds_[static_cast<size_t>(kind)].free.push_back(id);
  bytes_in_use_ -= storage_.block_bytes(kind);
}

BlockId StatePool::writable(BlockKind kind, BlockId id, int used) {
  // What lies past `used` belongs to nobody if this sequence is alone, or if it stands where the block's last
  // writer stopped: the others refer to tokens before that.
  if (block(kind, id).references == 1 || block(kind, id).written == used) return id;
  const BlockId copy = allocate(kind);
  if (copy == kNoBlock) return kNoBlock;
  storage_.copy(kind, id, copy);
  release(kind, id);
  return copy;
}

// ------------------------------------------------------------------------------------------------
// SequenceState

SequenceState::~SequenceState() {
  release_all();
}

SequenceState::SequenceState(SequenceState&& other) noexcept
    : pool_(other.pool_),
      length_(std::exchange(other.length_, 0)),
      pending_rows_(std::exchange(other.pending_rows_, 0)),
      shortest_reachable_(std::exchange(other.shortest_reachable_, 0)) {
  for (BlockKind kind : kAllKinds)
    blocks(kind) = std::exchange(other.blocks(kind), {});
}

SequenceState& SequenceState::operator=(SequenceState&& other) noexcept {
  if (this == &other) return *this;
  release_all();
  pool_ = other.pool_;
  length_ = std::exchange(other.length_, 0);
  pending_rows_ = std::exchange(other.pending_rows_, 0);
  shortest_reachable_ = std::exchange(other.shortest_reachable_, 0);
  for (BlockKind kind : kAllKinds)
    blocks(kind) = std::exchange(other.blocks(kind), {});
  return *this;
}

void SequenceState::release_all() {
  for (BlockKind kind : kAllKinds) {
    for (BlockId id : blocks(kind).ids)
      pool_->release(kind, id);
    blocks(kind) = {};
  }
}

bool SequenceState::begin_append(int64_t rows) {
  CHECK(rows > 0 && pending_rows_ == 0);
  const int64_t end = length_ + rows;
  pending_rows_ = rows;
  try {
    if (extend(BlockKind::kKvPage, length_, end, 0) &&
        extend(BlockKind::kGdnLog, length_, end, first_kept_chunk(end)) &&
        extend(BlockKind::kConvRows, length_, end, first_kept_conv_block(end)) &&
        add_matrices(end, first_kept_chunk(end))) {
      return true;
    }
  } catch (...) {
    cancel();
    throw;
  }
  cancel();
  return false;
}

/// Makes the blocks for tokens [begin, end) writable: the one `begin` lies in, which exists if `begin` isn't
/// its first token, and those from number `keep_from` on.
bool SequenceState::extend(BlockKind kind, int64_t begin, int64_t end, int64_t keep_from) {
  const int size = tokens_per_block(kind);
  Blocks& table = blocks(kind);
  const auto mark_written = [&](int64_t number, BlockId id) {
    pool_->block(kind, id).written = static_cast<int32_t>(std::min<int64_t>(size, end - number * size));
  };
  if (begin % size != 0) {
    const int64_t number = begin / size;
    BlockId& tip = table.ids[static_cast<size_t>(number - table.first)];
    const BlockId id = pool_->writable(kind, tip, static_cast<int>(begin % size));
    if (id == kNoBlock) return false;
    tip = id;
    mark_written(number, id);
  }
  for (int64_t number = blocks_for(kind, begin); number < blocks_for(kind, end); ++number) {
    if (table.ids.empty()) table.first = number;
    if (number < keep_from) {
      table.ids.push_back(kNoBlock);
      continue;
    }
    const BlockId id = pool_->allocate(kind);
    if (id == kNoBlock) return false;
    table.ids.push_back(id);
    mark_written(number, id);
  }
  return true;
}

bool SequenceState::add_matrices(int64_t end, int64_t keep_from) {
  Blocks& table = blocks(BlockKind::kGdnMatrix);
  for (int64_t number = length_ / kGdnChunk + 1; number <= end / kGdnChunk; ++number) {
    if (table.ids.empty()) table.first = number;
    const BlockId id = number < keep_from ? kNoBlock : pool_->allocate(BlockKind::kGdnMatrix);
    if (number >= keep_from && id == kNoBlock) return false;
    table.ids.push_back(id);
  }
  return true;
}

StateView SequenceState::view() const {
  const auto table = [&](BlockKind kind) { return BlockTable{blocks(kind).first, blocks(kind).ids}; };
  return {length_, table(BlockKind::kKvPage), table(BlockKind::kGdnMatrix), table(BlockKind::kGdnLog),
          table(BlockKind::kConvRows)};
}

void SequenceState::commit() {
  CHECK(pending_rows_ > 0);
  length_ += std::exchange(pending_rows_, 0);
  shortest_reachable_ = std::max(shortest_reachable_, length_ - kReach);
  trim();
}

void SequenceState::cancel() {
  pending_rows_ = 0;
  trim();
}

void SequenceState::truncate(int64_t length) {
  CHECK(pending_rows_ == 0 && length >= shortest_reachable_ && length <= length_);
  length_ = length;
  trim();
}

void SequenceState::trim() {
  drop_outside(BlockKind::kKvPage, 0, blocks_for(BlockKind::kKvPage, length_));
  drop_outside(BlockKind::kGdnLog, first_kept_chunk(length_), blocks_for(BlockKind::kGdnLog, length_));
  drop_outside(BlockKind::kConvRows, first_kept_conv_block(length_),
               blocks_for(BlockKind::kConvRows, length_));
  drop_outside(BlockKind::kGdnMatrix, first_kept_chunk(length_), length_ / kGdnChunk + 1);
}

void SequenceState::drop_outside(BlockKind kind, int64_t first_number, int64_t end_number) {
  Blocks& table = blocks(kind);
  while (!table.ids.empty() && table.first + static_cast<int64_t>(table.ids.size()) > end_number) {
    pool_->release(kind, table.ids.back());
    table.ids.pop_back();
  }
  const int64_t surplus =
      std::clamp<int64_t>(first_number - table.first, 0, static_cast<int64_t>(table.ids.size()));
  for (int64_t i = 0; i < surplus; ++i)
    pool_->release(kind, table.ids[static_cast<size_t>(i)]);
  table.ids.erase(table.ids.begin(), table.ids.begin() + surplus);
  table.first += surplus;
}

SequenceState SequenceState::fork() const {
  CHECK(pending_rows_ == 0);
  SequenceState copy(*pool_);
  copy.length_ = length_;
  copy.shortest_reachable_ = shortest_reachable_;
  for (BlockKind kind : kAllKinds) {
    for (BlockId id : blocks(kind).ids)
      pool_->retain(kind, id);
    copy.blocks(kind) = blocks(kind);
  }
  return copy;
}

int64_t SequenceState::bytes() const {
  int64_t total = 0;
  for (BlockKind kind : kAllKinds) {
    for (BlockId id : blocks(kind).ids)
      total += id == kNoBlock ? 0 : pool_->storage().block_bytes(kind);
  }
  return total;
}

}  // namespace lirio
