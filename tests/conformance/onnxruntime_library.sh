#!/bin/sh
# What `deepgap backends` and `deepgap run` say where the library named for ONNX Runtime cannot be used: one line, and never a crash.
# Usage: onnxruntime_library.sh PROGRAM PLUGIN OLD_LIBRARY LIBRARY_WITHOUT_THE_SYMBOL LIBRARY_WITHOUT_A_TABLE
set -eu
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
ln -s "$(realpath "$2")" "$folder"
echo "this is text, no library, and long enough to be taken for the header of one, which it is not" > "$folder/text.so"
export DEEPGAP_PLUGINS="$folder"
status=0

expect() {  # LIBRARY PATTERN
  DEEPGAP_ONNXRUNTIME=$1 "$program" backends > "$folder/listing" 2>&1 || { echo "backends ended with $?"; status=1; }
  grep -qE -- "^  onnxruntime +.*$2" "$folder/listing" || { echo "'$2' is not said of $1:"; cat "$folder/listing"; status=1; }
}
expect "$3" 'is ONNX Runtime 1\.2\.3, needed is 1\.[0-9]+ or newer$'
expect "$4" 'is not ONNX Runtime: .*undefined symbol: OrtGetApiBase$'
expect "$5" 'is not ONNX Runtime: it has no interface table$'
expect "$folder/text.so" 'ONNX Runtime does not load: .*invalid ELF header$'
expect "$folder/nowhere" 'no libonnxruntime.so at DEEPGAP_ONNXRUNTIME=.*nowhere$'

code=0
DEEPGAP_ONNXRUNTIME=$3 "$program" run --model resnet18 --backend onnxruntime --store "$folder/store.db" > "$folder/run" 2>&1 || code=$?
[ $code -eq 1 ] || { echo "run ended with $code, not 1"; cat "$folder/run"; status=1; }
grep -q 'needed is 1\.' "$folder/run" || { echo "run does not say why:"; cat "$folder/run"; status=1; }
exit $status
