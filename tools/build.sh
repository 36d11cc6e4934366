#!/usr/bin/env bash
# Configures a preset when needed, then builds targets of it, quietly. Usage: tools/build.sh [-t] PRESET [TARGET...]
#   -t  configure with the tests (and what they need installed); a folder that has them keeps them
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

interactive() { [[ -t 1 && -z ${CI:-} ]]; }

# One compiler for each core, but no more than memory holds: the largest files need about 1.5 GB each.
jobs() {
  local cores kib limit by_memory
  cores=$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)
  kib=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo 2>/dev/null || true)
  limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || true)
  if [[ $limit =~ ^[0-9]+$ ]] && ((limit / 1024 < ${kib:-0})); then kib=$((limit / 1024)); fi
  by_memory=$((${kib:-1500000} / 1500000))
  if ((by_memory < cores)); then cores=$by_memory; fi
  echo $((cores > 0 ? cores : 1))
}

# An entry of the build folder's CMakeCache.txt; nothing where there is none.
cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt" 2>/dev/null || true; }

# ON or OFF. A folder that has the tests keeps them, as long as what they need is still installed.
wanted_tests() {
  if [[ $with_tests == yes ]] || { [[ $(cached LIRIO_TESTS) == ON ]] && tools/setup.sh test --check; }; then
    echo ON
  else
    echo OFF
  fi
}

configure() {
  local home tests log=$build/configure.log
  home=$(cached CMAKE_HOME_DIRECTORY)
  if [[ -n $home && $home != "$PWD" ]]; then
    echo "$build belongs to $home; starting it anew."
    rm -rf "$build"
  fi
  tests=$(wanted_tests)
  # Ninja runs CMake itself when a CMakeLists.txt changes.
  if [[ -f $build/build.ninja && $build/build.ninja -nt CMakePresets.json && $(cached LIRIO_TESTS) == "$tests" ]]; then
    return
  fi
  mkdir -p "$build"
  if ! cmake --preset "$preset" -DLIRIO_TESTS="$tests" >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$build/build.ninja" # so that the next run configures again
    exit 1
  fi
}

# Ninja's output without a terminal: a line for each tenth of the steps, and everything that is not a step.
condense() {
  local line tenth last=0
  while IFS= read -r line; do
    if [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]]; then
      tenth=$((10 * BASH_REMATCH[1] / BASH_REMATCH[2]))
      if ((tenth > last)); then echo "  ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]} steps"; fi
      last=$tenth
    elif [[ $line != "-- "* && $line != "ninja: no work to do." ]]; then
      printf '%s\n' "$line"
    fi
  done
}

main() {
  with_tests=no
  if [[ ${1:-} == -t ]]; then
    with_tests=yes
    shift
  fi
  preset=${1:?usage: tools/build.sh [-t] PRESET [TARGET...]}
  shift
  build=build/$preset
  configure
  local command=(cmake --build "$build" --parallel "$(jobs)" --target "${@:-all}")
  echo "Building $build (${*:-all})"
  if interactive; then "${command[@]}"; else "${command[@]}" 2>&1 | condense; fi
}

main "$@"
