#include <gtest/gtest.h>
#include <sched.h>

#include "base/machine.h"

namespace lirio {
namespace {

TEST(Machine, UsesNoMoreThreadsThanAffinityAndQuotaAllow) {
  const CpuBudget cpus = cpu_budget();
  EXPECT_GE(cpus.usable, 1);
  EXPECT_LE(cpus.usable, cpus.affinity);
  EXPECT_LE(cpus.quota, cpus.affinity);
  EXPECT_LE(cpus.usable, std::max(1.0, cpus.quota));
}

TEST(Machine, FollowsTheAffinityOfTheThread) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &before)) continue;
    CPU_SET(cpu, &one);
    break;
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(cpu_budget().usable, 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}

TEST(Machine, KnowsItsMemory) {
  const MemoryBudget memory = memory_budget();
  EXPECT_GT(memory.total_bytes, 0);
  EXPECT_GT(memory.available_bytes, 0);
  EXPECT_LE(memory.available_bytes, memory.total_bytes);
}

}  // namespace
}  // namespace lirio
