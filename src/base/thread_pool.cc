#include "base/thread_pool.h"

#include <algorithm>

#include "base/check.h"

namespace lirio {

ThreadPool::ThreadPool(int threads) {
  CHECK(threads >= 1);
  for (int i = 1; i < threads; ++i)
    workers_.emplace_back([this] { work(); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  start_.notify_all();
  for (std::thread& worker : workers_)
    worker.join();
}

void ThreadPool::run(int64_t items, int64_t grain, const std::function<void(int64_t, int64_t)>& body) {
  CHECK(grain >= 1);
  if (items <= grain || workers_.empty()) {
    if (items > 0) body(0, items);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    body_ = &body;
    items_ = items;
    grain_ = grain;
    next_.store(0, std::memory_order_relaxed);
    busy_ = static_cast<int>(workers_.size());
    ++generation_;
  }
  start_.notify_all();
  take_stretches();
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return busy_ == 0; });
}

void ThreadPool::work() {
  uint64_t seen = 0;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      start_.wait(lock, [&] { return stopping_ || generation_ != seen; });
      if (stopping_) return;
      seen = generation_;
    }
    take_stretches();
    const std::lock_guard lock(mutex_);
    if (--busy_ == 0) done_.notify_one();
  }
}

void ThreadPool::take_stretches() {
  for (;;) {
    const int64_t begin = next_.fetch_add(grain_, std::memory_order_relaxed);
    if (begin >= items_) return;
    (*body_)(begin, std::min(begin + grain_, items_));
  }
}

}  // namespace lirio
