#!/usr/bin/env bash
# Checks that no source file is over 800 lines. Usage: tools/check_sizes.sh [REPO_DIR]
set -euo pipefail
cd "${1:-$(dirname "${BASH_SOURCE[0]}")/..}"

limit=800
# PATH: why it may be longer. An exception that is no longer needed fails too.
exceptions='
'

sources() {
  find src tools tests bench -type f \( -name '*.h' -o -name '*.cc' -o -name '*.inl' -o -name '*.cu' -o -name '*.cuh' \
    -o -name '*.mm' -o -name '*.metal' -o -name '*.py' -o -name '*.sh' -o -name '*.js' -o -name '*.ts' \
    -o -name '*.cmake' -o -name CMakeLists.txt \) -not -path '*/node_modules/*' -print 2>/dev/null | sort
}

excepted() { grep -q "^$1: ." <<<"$exceptions"; }

main() {
  local path lines files=0 bad=0
  while IFS= read -r path; do
    files=$((files + 1))
    lines=$(wc -l <"$path")
    if ((lines > limit)) && ! excepted "$path"; then
      echo "$path: $lines lines, over $limit: split it"
      bad=$((bad + 1))
    fi
  done < <(sources)
  while IFS=: read -r path _; do
    [[ -n $path ]] || continue
    if [[ ! -f $path ]] || (($(wc -l <"$path") <= limit)); then
      echo "$path: an exception that is no longer needed"
      bad=$((bad + 1))
    fi
  done <<<"$exceptions"
  if ((files == 0)); then
    echo "No source files were found: the check saw nothing."
    bad=1
  fi
  if ((bad > 0)); then exit 1; fi
  echo "$files files are within $limit lines"
}

main
