#!/bin/sh
# The layering holds, and its test can fail.
set -eu
python3 tests/layering.py .
bad=$(mktemp -d)
trap 'rm -rf "$bad"' EXIT
mkdir -p "$bad/src/base" "$bad/src/store"
echo '#include "store/store.h"' >"$bad/src/base/wrong.h"
: >"$bad/src/store/store.h"
must_fail() {
  if python3 tests/layering.py "$bad" >/dev/null; then
    echo "layering: $1 was not found"
    exit 1
  fi
}
must_fail "an upward include"
mv "$bad/src/base/wrong.h" "$bad/src/base/wrong.cu"
must_fail "an upward include of a CUDA file"
rm "$bad/src/base/wrong.cu"
mkdir -p "$bad/bench/one" "$bad/bench/other"
echo '#include "store/store.h"' >"$bad/bench/one/main.cpp"
python3 tests/layering.py "$bad" >/dev/null  # a bench may see any module
: >"$bad/bench/other/inner.h"
echo '#include "../other/inner.h"' >"$bad/bench/one/main.cpp"
must_fail "a bench that includes another one's file"
rm -r "$bad/bench/one"
mkdir -p "$bad/tools"
echo '#include "bench/other/inner.h"' >"$bad/src/store/wrong.cpp"
must_fail "a module that includes a bench"
rm "$bad/src/store/wrong.cpp"
python3 tests/layering.py "$bad" >/dev/null
mkdir -p "$bad/docs"
sed 's/^\(| `src\/store\/` |.*| \)base, record |$/\1base, record, plan |/' docs/design.md >"$bad/docs/design.md"
must_fail "a page that says something else"
grep -v '^| `src/fleet/`' docs/design.md >"$bad/docs/design.md"
must_fail "a page that leaves out a module"
cp docs/design.md "$bad/docs/design.md"
python3 tests/layering.py "$bad" >/dev/null
