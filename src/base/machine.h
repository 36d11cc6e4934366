// What this machine offers to one process: CPUs it may use and memory. Read from the kernel when asked.
// Thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace lirio {

struct CpuBudget {
  int affinity;      ///< CPUs this process may run on
  double quota;      ///< CPUs' worth of time its control groups allow; `affinity` when unlimited
  int usable;        ///< threads worth starting: the smaller of the two, rounded down, at least 1
  std::string name;  ///< model name, may be empty
};
CpuBudget cpu_budget();

struct MemoryBudget {
  int64_t total_bytes;      ///< physical, or the control group's limit where that is less
  int64_t available_bytes;  ///< can be had now without swapping, page cache that may be dropped included
};
MemoryBudget memory_budget();

}  // namespace lirio
