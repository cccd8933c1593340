#!/bin/sh
# No class is there twice, and the test that says so can fail.
set -eu
python3 tests/class_names.py .
bad=$(mktemp -d)
trap 'rm -rf "$bad"' EXIT
mkdir -p "$bad/src/one" "$bad/src/two"
printf 'namespace deepgap {\nclass Same final : public Base {\n};\n}\n' >"$bad/src/one/same.h"
printf 'namespace deepgap {\nnamespace {\nstruct Same {};\n}\nclass Same;\nstruct Other { struct Same {}; };\n}\n' >"$bad/src/two/own.cpp"
python3 tests/class_names.py "$bad" || { echo "class_names: what is a file's own was taken for the program's"; exit 1; }
printf 'namespace deepgap {\nnamespace {\nstruct Own {};\n}\nstruct Same {\n  int x;\n};\n}\n' >"$bad/src/two/same.cpp"
if python3 tests/class_names.py "$bad" >/dev/null; then
  echo "class_names: two classes of one name were not found"
  exit 1
fi
