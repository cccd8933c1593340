#!/bin/sh
# The layering holds, and its test can fail.
set -eu
python3 tests/layering.py .
bad=$(mktemp -d)
trap 'rm -rf "$bad"' EXIT
mkdir -p "$bad/src/base" "$bad/src/store"
echo '#include "store/store.h"' >"$bad/src/base/wrong.h"
: >"$bad/src/store/store.h"
if python3 tests/layering.py "$bad" >/dev/null; then
  echo "layering: an upward include was not found"
  exit 1
fi
