#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <vector>

#include "base/thread_pool.h"

namespace lirio {
namespace {

TEST(ThreadPool, VisitsEveryItemOnce) {
  for (int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int64_t items : {0, 1, 7, 64, 1000}) {
      for (int64_t grain : {1, 3, 64, 5000}) {
        std::vector<std::atomic<int>> visits(static_cast<size_t>(items));
        pool.run(items, grain, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            ++visits[static_cast<size_t>(i)];
        });
        for (const auto& count : visits)
          EXPECT_EQ(count, 1);
      }
    }
  }
}

TEST(ThreadPool, WhatOneLoopWroteTheNextOneReads) {
  ThreadPool pool(4);
  std::vector<int64_t> values(4096, 0);
  for (int round = 0; round < 200; ++round) {
    pool.run(4096, 16, [&](int64_t begin, int64_t end) {
      // Each loop moves the values by one place, so it reads what other threads wrote in the loop before.
      for (int64_t i = begin; i < end; ++i) {
        if (round % 2 == 0) {
          values[static_cast<size_t>(i)] += 1;
        } else {
          values[static_cast<size_t>(4095 - i)] += 1;
        }
      }
    });
  }
  EXPECT_EQ(std::accumulate(values.begin(), values.end(), int64_t{0}), 200 * 4096);
}

}  // namespace
}  // namespace lirio
