#!/usr/bin/env bash
# Runs an oracle, or says why it can't. Usage: tests/oracles/run.sh ORACLE.mjs LIRIO SOURCE_DIR
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
if ! command -v node >/dev/null; then
  echo "skipped: node is not installed; run tools/setup_oracles.sh"
  exit 77
fi
exec node "$@"
