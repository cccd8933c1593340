#!/bin/sh
# Every study that comes with deepgap can be read and planned on this machine; what is refused here is no matter.
# Usage: studies_test.sh PROGRAM FOLDER
set -u
status=0
for study in "$2"/*.toml; do
  "$1" run "$study" --dry-run > /dev/null 2> "${TMPDIR:-/tmp}/studies.$$" || code=$?
  if [ "${code:-0}" -gt 1 ] && ! grep -q "was built without" "${TMPDIR:-/tmp}/studies.$$"; then
    echo "$study: exit code $code: $(cat "${TMPDIR:-/tmp}/studies.$$")"
    status=1
  fi
  code=0
done
rm -f "${TMPDIR:-/tmp}/studies.$$"
exit $status
