// Bookkeeping of sequence state: what is shared, copied, kept and let go, and that memory stays within its
// limit.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <stdexcept>

#include "model/state.h"

namespace lirio {
namespace {

/// Storage without memory that counts and checks its calls.
class CountingStorage : public StateStorage {
 public:
  int64_t block_bytes(BlockKind kind) const override { return 1 + 10 * static_cast<int64_t>(kind); }
  void allocate(BlockKind kind, BlockId id) override {
    if (fail_at == ++allocations) throw std::runtime_error("device out of memory");
    EXPECT_TRUE(live.insert({kind, id}).second);
    bytes += block_bytes(kind);
  }
  void release(BlockKind kind, BlockId id) override {
    EXPECT_EQ(live.erase({kind, id}), 1u);
    bytes -= block_bytes(kind);
  }
  void copy(BlockKind kind, BlockId from, BlockId to) override {
    EXPECT_TRUE(live.contains({kind, from}) && live.contains({kind, to}));
    ++copies;
  }

  std::set<std::pair<BlockKind, BlockId>> live;
  int64_t bytes = 0;
  int copies = 0, allocations = 0, fail_at = -1;
};

void append(SequenceState& state, int64_t rows) {
  ASSERT_TRUE(state.begin_append(rows));
  state.commit();
}

class State : public ::testing::Test {
 protected:
  CountingStorage storage_;
  StatePool pool_{storage_, 1'000'000};
};

TEST_F(State, KeepsAllPagesButOnlyTheLastMatricesAndLogs) {
  SequenceState state(pool_);
  append(state, 1000);
  EXPECT_EQ(pool_.blocks_in_use(BlockKind::kKvPage), 16);
  EXPECT_EQ(pool_.blocks_in_use(BlockKind::kGdnMatrix), 1);  // 1000 = 15 * 64 + 40: out of reach of token 960
  EXPECT_EQ(pool_.blocks_in_use(BlockKind::kGdnLog), 1);
  append(state, 24 + 5);  // 1029 = 16 * 64 + 5
  EXPECT_EQ(pool_.blocks_in_use(BlockKind::kGdnMatrix), 2);
  EXPECT_EQ(pool_.blocks_in_use(BlockKind::kGdnLog), 2);
  EXPECT_EQ(pool_.bytes_in_use(), storage_.bytes);
  EXPECT_EQ(state.bytes(), storage_.bytes);
}

TEST_F(State, EndsWithNothingHeld) {
  {
    SequenceState state(pool_);
    append(state, 130);
    SequenceState fork = state.fork();
    append(fork, 3);
    SequenceState moved = std::move(fork);
    state = std::move(moved);
  }
  EXPECT_EQ(pool_.bytes_in_use(), 0);
  EXPECT_TRUE(storage_.live.empty());
}

TEST_F(State, AForkSharesEverythingUntilOneWrites) {
  SequenceState state(pool_);
  append(state, 100);
  const int64_t alone = pool_.bytes_in_use();
  const SequenceState checkpoint = state.fork();
  EXPECT_EQ(pool_.bytes_in_use(), alone);
  append(state, 1);  // the writer stands at the tip: it goes on in place
  EXPECT_EQ(storage_.copies, 0);
  SequenceState restored = checkpoint.fork();
  append(restored, 1);  // page and log are written past token 100 already; the conv block of 100 is a new one
  EXPECT_EQ(storage_.copies, 2);
}

TEST_F(State, TwoForksNeverWriteTheSameBlock) {
  SequenceState state(pool_);
  append(state, 101);
  SequenceState a = state.fork(), b = state.fork();
  ASSERT_TRUE(a.begin_append(1) && b.begin_append(1) && state.begin_append(1));
  const auto tip = [](const SequenceState& s) { return s.view().kv_pages.at(1); };
  EXPECT_NE(tip(a), tip(b));
  EXPECT_NE(tip(a), tip(state));
  EXPECT_NE(tip(b), tip(state));
  a.commit();
  b.cancel();
  state.commit();
  EXPECT_EQ(b.length(), 101);
}

TEST_F(State, RewritingATruncatedTipLeavesTheCheckpointAlone) {
  SequenceState state(pool_);
  append(state, 70);
  const SequenceState checkpoint = state.fork();
  state.truncate(66);
  append(state, 2);
  EXPECT_NE(state.view().kv_pages.at(1), checkpoint.view().kv_pages.at(1));
  EXPECT_NE(state.view().gdn_logs.at(1), checkpoint.view().gdn_logs.at(1));
  EXPECT_EQ(state.view().gdn_matrices.at(1),
            checkpoint.view().gdn_matrices.at(1));  // matrices are never rewritten
}

TEST_F(State, TruncatesOverABoundaryWithinReach) {
  SequenceState state(pool_);
  append(state, 60);
  append(state, 10);
  EXPECT_EQ(state.shortest_reachable(), 70 - kReach);
  state.truncate(70 - kReach);
  EXPECT_EQ(state.length(), 54);
  EXPECT_EQ(pool_.blocks_in_use(BlockKind::kGdnMatrix), 0);
  EXPECT_EQ(pool_.blocks_in_use(BlockKind::kGdnLog), 1);
  EXPECT_EQ(pool_.blocks_in_use(BlockKind::kKvPage), 1);
}

TEST(StateDeathTest, TruncatingOutOfReachIsAMistake) {
  CountingStorage storage;
  StatePool pool(storage, 1'000'000);
  SequenceState state(pool);
  append(state, 200);
  EXPECT_DEATH(state.truncate(200 - kReach - 1), "check failed");
}

TEST_F(State, ARefusedAppendChangesNothing) {
  CountingStorage storage;
  StatePool pool(storage, 300);
  SequenceState state(pool);
  append(state, 70);
  const int64_t held = pool.bytes_in_use();
  EXPECT_FALSE(state.begin_append(100'000));
  EXPECT_EQ(state.length(), 70);
  EXPECT_EQ(pool.bytes_in_use(), held);
  EXPECT_EQ(storage.bytes, held);
  append(state, 1);
}

TEST_F(State, AFailingDeviceChangesNothing) {
  SequenceState state(pool_);
  append(state, 70);
  const int64_t held = pool_.bytes_in_use();
  storage_.fail_at = storage_.allocations + 4;
  EXPECT_THROW((void)state.begin_append(500), std::runtime_error);
  EXPECT_EQ(pool_.bytes_in_use(), held);
  append(state, 500);
}

TEST_F(State, BytesForASequenceIsAnUpperBound) {
  for (int64_t step : {1, 3, 64, 100, 1000}) {
    SequenceState state(pool_);
    while (state.length() < 1000) {
      ASSERT_TRUE(state.begin_append(step));
      EXPECT_LE(pool_.bytes_in_use(), pool_.bytes_for_sequence(state.length() + step));
      state.commit();
    }
  }
}

TEST_F(State, RandomTimelinesNeverLoseOrLeakABlock) {
  std::mt19937 random(3);
  std::vector<SequenceState> states;
  states.emplace_back(pool_);
  for (int i = 0; i < 20'000; ++i) {
    SequenceState& state = states[random() % states.size()];
    switch (random() % 6) {
      case 0:
      case 1:
        append(state, 1 + random() % (random() % 8 == 0 ? 200 : 5));
        break;
      case 2:
        state.truncate(state.length() - random() % (state.length() - state.shortest_reachable() + 1));
        break;
      case 3:
        if (states.size() < 12) states.push_back(state.fork());
        break;
      case 4:
        if (states.size() > 1) {
          std::swap(state, states.back());
          states.pop_back();
        }
        break;
      case 5:
        if (state.begin_append(1 + random() % 70)) state.cancel();
        break;
    }
    if (states[0].length() > 5000) states[0] = SequenceState(pool_);
    ASSERT_EQ(pool_.bytes_in_use(), storage_.bytes);
    for (const SequenceState& s : states) {
      const StateView view = s.view();
      const int64_t chunk = s.length() / kGdnChunk;
      // What the next row needs is there.
      ASSERT_TRUE(chunk == 0 || view.gdn_matrices.at(chunk) != kNoBlock);
      ASSERT_TRUE(s.length() % kGdnChunk == 0 || view.gdn_logs.at(chunk) != kNoBlock);
      for (int64_t p = std::max<int64_t>(0, s.length() - 3); p < s.length(); ++p) {
        ASSERT_NE(view.conv_rows.at(p / kConvBlockTokens), kNoBlock);
      }
    }
  }
  states.clear();
  EXPECT_TRUE(storage_.live.empty());
}

}  // namespace
}  // namespace lirio
