// Guarded: an output buffer that starts poisoned, with guard elements before and after it. The poison is NaN
// as float and double, so whatever reads an element that nobody wrote shows it; the guards are checked when
// the buffer goes away. Single-threaded, but several threads may write different elements.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace lirio::testing {

template <typename T>
class Guarded {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % sizeof(uint32_t) == 0);

 public:
  explicit Guarded(int64_t count) : values_(static_cast<size_t>(count) + 2 * kGuards) { poison(); }
  Guarded(Guarded&&) noexcept = default;
  Guarded& operator=(Guarded&&) = delete;
  ~Guarded() {
    if (values_.empty()) return;  // moved from
    EXPECT_TRUE(guards_untouched()) << "written outside a buffer of " << size();
  }

  int64_t size() const { return static_cast<int64_t>(values_.size()) - 2 * kGuards; }
  T* data() { return values_.data() + kGuards; }
  const T* data() const { return values_.data() + kGuards; }
  std::span<T> span() { return {data(), static_cast<size_t>(size())}; }
  std::span<const T> span() const { return {data(), static_cast<size_t>(size())}; }
  T& operator[](int64_t i) { return values_.at(static_cast<size_t>(i) + kGuards); }
  const T& operator[](int64_t i) const { return values_.at(static_cast<size_t>(i) + kGuards); }

  void poison() {
    for (T& value : values_)
      std::memcpy(&value, poison_bytes().data(), sizeof(T));
  }

  bool untouched(int64_t i) const { return is_poison((*this)[i]); }

  /// True when no element of [begin, end) was written.
  bool untouched(int64_t begin, int64_t end) const {
    return std::all_of(data() + begin, data() + end, is_poison);
  }

  bool guards_untouched() const {
    return std::all_of(values_.begin(), values_.begin() + kGuards, is_poison) &&
           std::all_of(values_.end() - kGuards, values_.end(), is_poison);
  }

 private:
  static constexpr int kGuards = 64;

  static const std::vector<uint32_t>& poison_bytes() {
    static const std::vector<uint32_t> words(sizeof(T) / sizeof(uint32_t), 0xfffadeadu);
    return words;
  }
  static bool is_poison(const T& value) { return std::memcmp(&value, poison_bytes().data(), sizeof(T)) == 0; }

  std::vector<T> values_;
};

/// True when both have the same bits; names the first difference otherwise.
template <typename T>
::testing::AssertionResult same_elements(std::span<const T> a, std::span<const T> b) {
  if (a.size() != b.size()) return ::testing::AssertionFailure() << a.size() << " elements and " << b.size();
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(&a[i], &b[i], sizeof(T)) != 0) {
      return ::testing::AssertionFailure() << "element " << i << ": " << a[i] << " and " << b[i];
    }
  }
  return ::testing::AssertionSuccess();
}

template <typename T>
::testing::AssertionResult same_elements(const Guarded<T>& a, const Guarded<T>& b) {
  return same_elements(a.span(), b.span());
}

}  // namespace lirio::testing
