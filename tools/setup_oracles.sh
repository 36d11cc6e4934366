#!/usr/bin/env bash
# Installs what the oracles tier compares lirio with: node, npm and the packages of tests/oracles/package-lock.json. Does
# nothing when all is there. Never fails: without them, or without a network, the tier's tests are skipped and say so.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

give_up() {
  echo "The oracles tier will be skipped: $1"
  exit 0
}

# npm may come from elsewhere than Debian, and Debian's would be in its way.
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
  tools/setup.sh oracles || give_up "node and npm can't be installed"
fi

folder=tests/oracles
# npm writes its own copy of the lock last.
if [[ ! $folder/node_modules/.package-lock.json -nt $folder/package-lock.json ]]; then
  echo "Installing the npm packages of $folder"
  log=$(mktemp)
  if ! (cd $folder && npm ci --ignore-scripts) >"$log" 2>&1; then
    tail -n 5 "$log"
    rm -f "$log"
    give_up "npm can't install its packages"
  fi
  rm -f "$log"
fi
