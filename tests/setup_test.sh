#!/bin/sh
# deepgap_build of tools/setup: a folder that joins sources goes on with one at a time where that fails, whoever configured it; another does not
# try twice. ninja and cmake are played.
set -eu
setup=$PWD/tools/setup
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/tools" "$folder/build" "$folder/bin"
cp "$setup" "$folder/tools/setup"
cache=$folder/build/CMakeCache.txt
calls=$folder/calls

printf '#!/bin/sh\necho "ninja $*" >>"%s"\n! grep -q "^DEEPGAP_JOINED:BOOL=ON" "%s"\n' "$calls" "$cache" >"$folder/bin/ninja"
printf '#!/bin/sh\necho "cmake $*" >>"%s"\necho DEEPGAP_JOINED:BOOL=OFF >"%s"\n' "$calls" "$cache" >"$folder/bin/cmake"
chmod +x "$folder/bin/ninja" "$folder/bin/cmake"

build() {
  : >"$calls"
  (unset DEEPGAP_JOINED; PATH=$folder/bin:$PATH bash -c '. "$0/tools/setup"; deepgap_build target' "$folder") >"$folder/told"
}

echo DEEPGAP_JOINED:BOOL=ON >"$cache"
build
printf '%s\n' 'ninja -C build target' 'cmake -S . -B build -DDEEPGAP_JOINED=OFF' 'ninja -C build target' | diff - "$calls"
grep -q 'going on with one at a time' "$folder/told"

echo DEEPGAP_JOINED:BOOL=OFF >"$cache"
build
echo 'ninja -C build target' | diff - "$calls"

# How much is compiled is shown, and what the compiler says is kept in the log.
printf '#!/bin/sh\nprintf "%%s\\n" "[ 50%%] Re-running CMake..." "[  5%%] a.cpp" "[ 12%%] b.cpp" "[ 55%%] c.cpp" "[100%%] d.cpp"\n' >"$folder/bin/ninja"
build
grep -q 'compiling: 10 %' "$folder/told"
grep -q 'compiling: 100 %' "$folder/told"
[ "$(grep -c 'compiling: 50 %' "$folder/told")" = 1 ]
! grep -q 'compiling: 20 %' "$folder/told"
grep -q 'c.cpp' "$folder/build/setup.log"

# A failure of the compiler ends the set-up with one line that names the log.
printf '#!/bin/sh\necho "[ 40%%] a.cpp: error"\nexit 1\n' >"$folder/bin/ninja"
if (unset DEEPGAP_JOINED; PATH=$folder/bin:$PATH bash -c '. "$0/tools/setup"; deepgap_build target' "$folder") >"$folder/told" 2>&1; then exit 1; fi
grep -q 'set-up stopped: building deepgap failed; see' "$folder/told"
