#!/bin/sh
# What `deepgap backends` and `deepgap devices` say where some plug-ins are broken: each is a row with its reason, and the others are listed.
# Usage: backends_command.sh PROGRAM NULL_PLUGIN BAD_PLUGIN...
set -eu
program=$1
good=$2
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for library in "$good" "$@"; do ln -s "$(realpath "$library")" "$folder"; done
ln -s "$(realpath "$good")" "$folder/deepgap_other.so"
echo "this is text, no library, and long enough to be taken for the header of one, which it is not" > "$folder/deepgap_text.so"
export DEEPGAP_PLUGINS="$folder"

status=0
"$program" backends > "$folder/listing" || { echo "backends ended with $?"; exit 1; }
"$program" backends null > "$folder/one" || { echo "backends null ended with $?"; exit 1; }
"$program" backends --json > "$folder/json" || { echo "backends --json ended with $?"; exit 1; }
"$program" devices > "$folder/devices" || { echo "devices ended with $?"; exit 1; }

expect() {
  grep -qE -- "$2" "$folder/$1" || { echo "'$2' is not in the output of $1:"; cat "$folder/$1"; status=1; }
}
expect listing '^null 1 \(reads graph\)'
expect one '^    concurrency=1 +queries served at once'
expect listing '^  bad_abi +.*ABI [0-9]+, this program has [0-9]+'
expect listing "^  bad_tag +.*built as 'another compiler'"
expect listing '^  throws +its library is not here'
expect listing '^  crashes +its plug-in: killed by SIGSEGV.*: the last words of a plug-in'
expect listing '^  text +.*invalid ELF header'
expect listing "^  other +.*it calls itself 'null'; name its file deepgap_null.so"
expect listing '^  tensorrt +not a plug-in yet'
expect json '"available": true'
expect json '"reason": "its library is not here"'
expect devices '^cpu .*cores allowed'
expect devices 'backends: .*null'

# A program beside which no plug-in lies says of each engine that is not built by default how to have it.
mkdir "$folder/bin"
cp "$program" "$folder/bin/deepgap"
env -u DEEPGAP_PLUGINS "$folder/bin/deepgap" backends > "$folder/alone" || { echo "backends alone ended with $?"; exit 1; }
for name in kserve libtorch libtorch_cuda null openai openvino tensorflow xla; do expect alone "^  $name +not built; "; done
exit $status
