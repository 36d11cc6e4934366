#include "base/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

namespace lirio {
namespace {

constexpr const char* kCgroupRoot = "/sys/fs/cgroup";

std::optional<std::string> first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

/// The value of "name: value" or "name  value" in a /proc file.
std::optional<std::string> proc_field(const char* path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const size_t start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? std::string() : line.substr(start);
  }
  return std::nullopt;
}

/// The folders of this process's control groups (version 2, and version 1's `controller`), innermost first.
std::vector<std::filesystem::path> cgroup_folders(std::string_view controller) {
  std::vector<std::filesystem::path> folders;
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::filesystem::path root = kCgroupRoot;
    if (!controllers.empty()) {
      if (("," + controllers + ",").find("," + std::string(controller) + ",") == std::string::npos) continue;
      root /= controllers;
    }
    // Inside a container the path may be the host's: folders that aren't there are skipped by the readers.
    std::filesystem::path path = std::filesystem::path(line.substr(second + 1)).relative_path();
    for (; !path.empty(); path = path.parent_path())
      folders.push_back(root / path);
    folders.push_back(root);
  }
  return folders;
}

double cpu_quota() {
  double quota = std::numeric_limits<double>::infinity();
  for (const auto& folder : cgroup_folders("cpu")) {
    double limit = 0, period = 0;
    if (const auto line = first_line(folder / "cpu.max")) {
      std::istringstream(*line) >> limit >> period;  // "max 100000" leaves both at 0
    } else if (const auto quota_us = first_line(folder / "cpu.cfs_quota_us")) {
      std::istringstream(*quota_us) >> limit;
      std::istringstream(first_line(folder / "cpu.cfs_period_us").value_or("0")) >> period;
    }
    if (limit > 0 && period > 0) quota = std::min(quota, limit / period);
  }
  return quota;
}

int64_t kibibytes(const char* path, std::string_view name) {
  int64_t value = 0;
  std::istringstream(proc_field(path, name).value_or("0")) >> value;
  return value * 1024;
}

int64_t number_in(const std::filesystem::path& path, int64_t otherwise) {
  const auto line = first_line(path);
  int64_t value = otherwise;
  if (line && !(std::istringstream(*line) >> value)) value = otherwise;  // "max"
  return value;
}

}  // namespace

CpuBudget cpu_budget() {
  cpu_set_t set;
  CPU_ZERO(&set);
  CpuBudget budget{};
  budget.affinity = ::sched_getaffinity(0, sizeof(set), &set) == 0
                        ? CPU_COUNT(&set)
                        : static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  budget.quota = std::min<double>(budget.affinity, cpu_quota());
  budget.usable = std::max(1, static_cast<int>(budget.quota));
  budget.name = proc_field("/proc/cpuinfo", "model name").value_or("");
  return budget;
}

MemoryBudget memory_budget() {
  constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();
  MemoryBudget budget{kibibytes("/proc/meminfo", "MemTotal:"), kibibytes("/proc/meminfo", "MemAvailable:")};
  for (const auto& folder : cgroup_folders("memory")) {
    const int64_t limit = std::min(number_in(folder / "memory.max", kUnlimited),
                                   number_in(folder / "memory.limit_in_bytes", kUnlimited));
    if (limit >= budget.total_bytes) continue;
    const int64_t used =
        std::max(number_in(folder / "memory.current", 0), number_in(folder / "memory.usage_in_bytes", 0));
    budget.total_bytes = limit;
    budget.available_bytes = std::min(budget.available_bytes, std::max<int64_t>(0, limit - used));
  }
  return budget;
}

}  // namespace lirio
