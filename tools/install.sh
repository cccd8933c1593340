#!/bin/sh
# Installs deepgap from a release archive beside this script, after its checksum is verified. Needs neither root nor a compiler.
#   sh install.sh [--prefix DIR] [--from DIR|URL]      [default: ~/.local, the folder of this script]
#   sh install.sh --uninstall [--prefix DIR]
# The files go to PREFIX/opt/deepgap, with a link PREFIX/bin/deepgap.
set -eu
prefix=$HOME/.local from=$(dirname "$0") uninstall=
stop() { echo "install.sh: $*" >&2; exit 2; }
while [ $# -gt 0 ]; do
  case "$1" in
    --prefix | --from)
      [ $# -ge 2 ] || stop "$1 needs a value"
      if [ "$1" = --prefix ]; then prefix=$2; else from=$2; fi
      shift 2 ;;
    --uninstall) uninstall=1; shift ;;
    *) stop "unknown flag '$1'; known: --prefix, --from, --uninstall" ;;
  esac
done
case "$prefix" in /*) ;; *) prefix=$PWD/$prefix ;; esac
home=$prefix/opt/deepgap link=$prefix/bin/deepgap

is_ours() { [ "$(readlink "$link" 2>/dev/null)" = "$home/bin/deepgap" ]; }
if [ -n "$uninstall" ]; then
  [ -x "$home/bin/deepgap" ] || stop "deepgap is not installed in $prefix"
  rm -rf "$home"
  ! is_ours || rm -f "$link"
  echo "removed $home"
  exit 0
fi

need="deepgap needs Linux on x86-64 with glibc 2.36 or newer"
[ "$(uname -s)" = Linux ] || stop "$need; this system is $(uname -s)"
[ "$(uname -m)" = x86_64 ] || stop "$need; this machine is $(uname -m)"
version=$(getconf GNU_LIBC_VERSION 2>/dev/null) || stop "$need; this system's C library is not glibc (such as Alpine's musl)"
version=${version#glibc }
major=${version%%.*} minor=${version#*.}
minor=${minor%%.*}
[ "$major" -gt 2 ] || [ "$minor" -ge 36 ] || stop "$need; this system has glibc $version"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fetch() {
  case "$from" in
    http://* | https://*)
      if command -v curl >/dev/null; then curl -fsSL -o "$work/$1" "$from/$1"; else wget -q -O "$work/$1" "$from/$1"; fi ;;
    *) cp "$from/$1" "$work/$1" ;;
  esac 2>/dev/null || stop "cannot read $from/$1; give the folder or URL of a release with --from"
}
fetch SHA256SUMS
archive=$(awk '$2 ~ /^deepgap-.*-linux-x86_64\.tar\.gz$/ {print $2}' "$work/SHA256SUMS")
data=$(awk '$2 ~ /^deepgap-.*-linux-x86_64-data\.tar\.gz$/ {print $2}' "$work/SHA256SUMS")
[ -n "$archive" ] || stop "$from/SHA256SUMS names no archive of deepgap for x86-64"
for file in $archive $data; do
  fetch "$file"
  (cd "$work" && grep "  $file\$" SHA256SUMS | sha256sum -c --status) || stop "$file does not have the checksum of SHA256SUMS; download it again"
done

mkdir -p "$prefix/opt" "$prefix/bin" 2>/dev/null && [ -w "$prefix/opt" ] && [ -w "$prefix/bin" ] || stop "cannot write to $prefix; choose another folder with --prefix"
[ ! -e "$link" ] || is_ours || stop "$link exists and is not of this script; move it away, or choose another folder with --prefix"
# Unpacked beside its place and then renamed, so that an installation that is cut off leaves the old one.
mkdir "$work/tree"
for file in $archive $data; do tar -xzf "$work/$file" -C "$work/tree"; done
rm -rf "$home.new"
cp -R "$work/tree/$(basename "$archive" .tar.gz)" "$home.new" || { rm -rf "$home.new"; stop "cannot write to $prefix/opt; is the disk full?"; }
rm -rf "$home"
mv "$home.new" "$home"
ln -sfn "$home/bin/deepgap" "$link"
echo "installed $("$link" --version) in $home"
case ":$PATH:" in *":$prefix/bin:"*) ;; *) echo "add it to your PATH: export PATH=$prefix/bin:\$PATH" ;; esac
echo "to remove it: sh install.sh --uninstall --prefix $prefix"
