#!/usr/bin/env bash
# Runs each fuzzer of a build folder for a few seconds, from its seeds. A crash, leak or hang fails it,
# and the input stays in BUILD_DIR/fuzz-artifacts. The last line is "N passed, N failed, N skipped".
# Usage: tools/fuzz_smoke.sh BUILD_DIR SECONDS
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=${1:?usage: tools/fuzz_smoke.sh BUILD_DIR SECONDS}
seconds=${2:?usage: tools/fuzz_smoke.sh BUILD_DIR SECONDS}
artifacts=$build/fuzz-artifacts
passed=0 failed=0

# Stack traces name functions through binutils' addr2line where llvm-symbolizer isn't installed.
export ASAN_OPTIONS=allow_addr2line=1:${ASAN_OPTIONS:-}
export UBSAN_OPTIONS=print_stacktrace=1:allow_addr2line=1:${UBSAN_OPTIONS:-}

run_one() {
  local name=$1 log=$artifacts/$1.log corpus=$build/fuzz-corpus/$1 arguments=()
  local seeds=tests/fuzz/corpus/$name dictionary=tests/fuzz/$name.dict
  mkdir -p "$corpus"
  # libFuzzer adds what it finds to the first folder: that one is the build's, never the seeds.
  arguments+=("$corpus")
  if [[ -d $seeds ]]; then arguments+=("$seeds"); fi
  if [[ -f $dictionary ]]; then arguments+=("-dict=$dictionary"); fi
  if "$build/tests/fuzz/$name" "${arguments[@]}" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
    -artifact_prefix="$artifacts/$name-" -print_final_stats=1 >"$log" 2>&1; then
    echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs, no finding"
    passed=$((passed + 1))
  else
    tail -n 60 "$log"
    echo "$name: failed; the log and the input are in $artifacts"
    failed=$((failed + 1))
  fi
}

main() {
  local source name
  mkdir -p "$artifacts"
  for source in tests/fuzz/fuzz_*.cc; do
    name=$(basename "$source" .cc)
    if [[ -x $build/tests/fuzz/$name ]]; then
      run_one "$name"
    else
      echo "$name: not built"
      failed=$((failed + 1))
    fi
  done
  echo "$passed passed, $failed failed, 0 skipped"
  ((failed == 0))
}

main
