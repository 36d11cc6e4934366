// ThreadPool: persistent workers that share out one loop at a time. The thread that calls run() works too.
// run() is called by one thread at a time; it returns when every item is done.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace lirio {

class ThreadPool {
 public:
  /// `threads` >= 1 counts the caller.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  /// Calls body(begin, end) for stretches of [0, items), each at most `grain` long, in any order and on any
  /// thread. `body` must not throw.
  void run(int64_t items, int64_t grain, const std::function<void(int64_t, int64_t)>& body);

 private:
  void work();
  void take_stretches();

  std::mutex mutex_;
  std::condition_variable start_, done_;
  uint64_t generation_ = 0;
  int busy_ = 0;
  bool stopping_ = false;

  const std::function<void(int64_t, int64_t)>* body_ = nullptr;
  int64_t items_ = 0;
  int64_t grain_ = 1;
  std::atomic<int64_t> next_{0};

  std::vector<std::thread> workers_;
};

}  // namespace lirio
