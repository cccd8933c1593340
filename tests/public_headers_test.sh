#!/bin/sh
# Every public header compiles alone, with warnings as errors and nothing but the standard library beside it; and the test can fail.
set -eu
compiler=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

alone() { # ROOT HEADER
  printf '#include <deepgap/%s>\n#include <deepgap/%s>\n' "$2" "$2" >"$folder/alone.cpp"
  "$compiler" -std=c++20 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$1" "$folder/alone.cpp"
}

for header in include/deepgap/*.h; do
  alone include "$(basename "$header")" || { echo "$header does not compile alone"; exit 1; }
done

mkdir "$folder/deepgap"
printf '#pragma once\ninline std::string wrong() { return {}; }\n' >"$folder/deepgap/wrong.h"
if alone "$folder" wrong.h 2>/dev/null; then
  echo "a header that lacks an include was not found"
  exit 1
fi
echo "$(ls include/deepgap | wc -l) public headers compile alone"
