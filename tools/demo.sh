#!/usr/bin/env bash
# The first look: builds lirio and asks the pocket model a question. Called by `make demo`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools/setup.sh demo
tools/build.sh release lirio
question="What is 47 + 85?"
echo
echo "\$ build/release/lirio run --temperature 0 \"$question\""
exec build/release/lirio run --temperature 0 "$question"
