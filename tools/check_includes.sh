#!/usr/bin/env bash
# Checks that includes in src/ follow the layers (docs/architecture.md) and that each third-party library is included in
# its one place. Prints every violation as file:line. Usage: tools/check_includes.sh [REPO_DIR]
set -euo pipefail
cd "${1:-$(dirname "${BASH_SOURCE[0]}")/..}"

# FOLDER: what its files may include, as folders or single headers.
layers='
base:    base
text:    base text
weights: base weights
model:   base weights model
kernels: base kernels model/shapes.h
backend: base weights model kernels backend
engine:  base weights model text engine backend/backend.h backend/compare.h
server:  base text engine server
cli:     base text weights model backend engine server cli
'

# LIBRARY'S HEADER (a pattern): the only files that may include it, as a pattern on paths below src/.
libraries='
simdjson.*        base/json.(h|cc)
openssl/.*        base/sha256.cc
utf8proc.*        text/unicode.(h|cc)
CLI/.*            cli/.*
pcre2.*           (only-tests)
(gtest|gmock)/.*  (only-tests)
'

find_includes() {
  find src -type f \( -name '*.h' -o -name '*.cc' -o -name '*.inl' -o -name '*.cu' -o -name '*.cuh' -o -name '*.mm' \
    -o -name '*.metal' \) -print0 | sort -z |
    xargs -0 -r grep -HnE '^[[:space:]]*#[[:space:]]*(include|import)' || true
}

check() {
  awk -v layers="$layers" -v libraries="$libraries" '
    BEGIN {
      count = split(layers, lines, "\n")
      for (i = 1; i <= count; ++i) {
        fields = split(lines[i], field, " ")
        if (fields == 0) continue
        folder = substr(field[1], 1, length(field[1]) - 1)
        known[folder] = 1
        for (j = 2; j <= fields; ++j) allowed[folder, field[j]] = 1
      }
      library_count = 0
      count = split(libraries, lines, "\n")
      for (i = 1; i <= count; ++i) {
        if (split(lines[i], field, " ") != 2) continue
        header[++library_count] = "^(" field[1] ")$"
        home[library_count] = "^(" field[2] ")$"
      }
    }
    function report(text) {
      print "src/" path ":" number ": " text
      ++bad
    }
    {
      split($0, part, ":")
      path = substr(part[1], 5)
      number = part[2]
      folder = path
      sub(/\/.*/, "", folder)
      quoted = match($0, /"[^"]+"/)
      if (!quoted && !match($0, /<[^>]+>/)) {
        report("an include whose name is neither in \"\" nor in <>")
        next
      }
      name = substr($0, RSTART + 1, RLENGTH - 2)
      for (i = 1; i <= library_count; ++i) {
        if (name ~ header[i] && path !~ home[i]) report("<" name "> may be included only in " home[i])
      }
      target = name
      sub(/\/.*/, "", target)
      if (!(folder in known)) {
        report("the folder src/" folder " is not in the table of layers")
      } else if (!quoted) {
        if (target in known && index(name, "/") > 0) report("<" name "> is ours: include it in quotes")
      } else if (name ~ /(^|\/)\.\.?(\/|$)/ || index(name, "/") == 0) {
        report("\"" name "\" is relative: name it from src/")
      } else if (!((folder, target) in allowed) && !((folder, name) in allowed)) {
        report(folder " may not include \"" name "\"")
      }
    }
    END {
      if (bad > 0) {
        print bad (bad == 1 ? " include is" : " includes are") " against the table in tools/check_includes.sh"
        exit 1
      }
      if (NR == 0) {
        print "No includes were found in src/: the check saw nothing."
        exit 1
      }
      print NR " includes follow the layers"
    }'
}

find_includes | check
