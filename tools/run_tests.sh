#!/usr/bin/env bash
# Runs the test tiers of a build folder and counts. The last line is "N passed, N failed, N skipped".
# Exits 1 when a test failed, or when a tier that was built has no tests. Usage: tools/run_tests.sh BUILD_DIR [TIER...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

all_tiers=(unit kernels model cli oracles)
build=${1:?usage: tools/run_tests.sh BUILD_DIR [TIER...]}
shift
if (($# > 0)); then tiers=("$@"); else tiers=("${all_tiers[@]}"); fi
reports=$build/test-reports
passed=0 failed=0 skipped=0

# Prints the number in attribute $1 of the report's <testsuite> element; ctest writes each on its own line.
attribute() {
  grep -o -m 1 "[[:space:]]$1=\"[0-9]*\"" "$2" 2>/dev/null | grep -o '[0-9]*' || echo 0
}

# A build of a few targets (the sanitizers') has only some executables; a removed tier may have left one behind.
exists() {
  if [[ $1 == oracles ]]; then
    [[ -x $build/lirio ]]
    return
  fi
  [[ -x $build/tests/lirio_${1}_tests ]] && compgen -G "tests/$1/*.cc" >/dev/null
}

show_failures() {
  # The log holds a line for each test; those that passed tell nothing.
  grep -vE '^ *([0-9]+/[0-9]+ Test +#.* Passed|Start +[0-9]+:)' "$1" || true
}

# ctest lists what it skipped as "  12 - Name (Skipped)".
show_skipped() {
  sed -nE 's/^[[:space:]]+[0-9]+ - (.*) \((Skipped|Disabled)\)$/  skipped: \1/p' "$1" | head -n 10
}

run_tier() {
  local tier=$1 log=$reports/$1.log report=$reports/$1.xml started=$SECONDS status=0
  local tests=0 tier_failed=0 tier_skipped=0 tier_passed=0
  rm -f "$report"
  # At most one test per core: the model tier's have threads of their own.
  ctest --test-dir "$build" -L "^$tier\$" --parallel "$(nproc)" --timeout 600 --output-on-failure \
    --no-tests=ignore --output-junit "$PWD/$report" >"$log" 2>&1 || status=$?
  tests=$(attribute tests "$report")
  tier_failed=$(attribute failures "$report")
  tier_skipped=$(($(attribute skipped "$report") + $(attribute disabled "$report")))
  # ctest also fails for what is no test's failure: a crash while listing the tests, a broken build folder.
  if ((status != 0 && tier_failed == 0)); then tier_failed=1; fi
  if ((tests == 0 && tier_failed == 0)); then
    echo "No tests were found in $build/tests/lirio_${tier}_tests." >>"$log"
    tier_failed=1
  fi
  tier_passed=$((tests - tier_failed - tier_skipped))
  if ((tier_passed < 0)); then tier_passed=0; fi
  if ((tier_failed > 0)); then show_failures "$log"; fi
  printf '%-8s %8d %8d %8d %7d s\n' "$tier" "$tier_passed" "$tier_failed" "$tier_skipped" $((SECONDS - started))
  if ((tier_skipped > 0)); then show_skipped "$log"; fi
  passed=$((passed + tier_passed)) failed=$((failed + tier_failed)) skipped=$((skipped + tier_skipped))
}

main() {
  local tier ran=0
  mkdir -p "$reports"
  printf '%-8s %8s %8s %8s %9s\n' tier passed failed skipped time
  for tier in "${tiers[@]}"; do
    exists "$tier" || continue
    run_tier "$tier"
    ran=$((ran + 1))
  done
  if ((ran == 0)); then
    echo "None of these tiers is built in $build: ${tiers[*]}" >&2
    failed=1
  fi
  echo "$passed passed, $failed failed, $skipped skipped"
  ((failed == 0))
}

main
