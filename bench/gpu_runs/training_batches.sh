#!/bin/bash
# What training.sh left: profiles of ViT-B/32 mixed and of FP32 steps, the second grid of studies/training-intensity.toml (batches 1 to 512 until memory
# ends, our own stopping cut to one second), two GPUs where there are two (studies/training-scaling.toml, and averages that are not hidden). Ordered by
# worth; every step is cut off by its time and keeps what ended: 305 s at most on one GPU, 165 s more on two. MINUTES=N leaves out what would begin later
# than that; NO_PROFILES=1: they are there; STORE: a Store to go on with.
# Steps are checked on the CPU, so the tree needs libtorch's plug-in for it, as training.sh says; profiles with counters want the right to read them.
out="$OUT/train"; mkdir -p "$out"
exec > "$out/batches.log" 2>&1
begin=$(date +%s)
seconds() { echo $(($(date +%s) - begin)); }
at() { echo "== $(seconds) s: $*"; }
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,power.limit,power.draw,temperature.gpu --format=csv
gpus=$(nvidia-smi --list-gpus | wc -l)
nproc; date -u
tree=/tmp/train-tree; installed=$(dirname "$(dirname "$(readlink -f "$(command -v deepgap)")")")
if [ ! -d $tree ]; then
  mkdir -p $tree; cp -r "$installed/." $tree/ 2>/dev/null
  (cd $tree && for f in "$HERE"/*.tar.xz; do [ -e "$f" ] && tar -xJf "$f"; done)
fi
export PATH=$tree/bin:$PATH
deepgap --version
export DEEPGAP_CACHE=/tmp/train-cache; mkdir -p $DEEPGAP_CACHE
store="$out/batches.db"
[ -n "$STORE" ] && [ ! -e "$store" ] && cp "$STORE" "$store"
common=(--task train --libtorch "$TORCH" -e libtorch_cuda --cache $DEEPGAP_CACHE --store "$store" --resume --axis channels_last=on --axis inputs=device -r 1 --quiet)
step() {
  local most=$1; shift
  if [ -n "$MINUTES" ] && [ "$(seconds)" -gt $((60 * MINUTES)) ]; then at "left out: $*"; return; fi
  at "$*"
  timeout -s INT -k 8 "$most" deepgap run "${common[@]}" "$@" 2>&1 | tail -n 60
  echo "exit ${PIPESTATUS[0]}"
}
one=(-d cuda:0 --study training-intensity)
epochs=(--axis samples=256 --warmup 4 -n 4 -b 64)
# The profiles that are missing: their Points are the study's first grid.
if [ -z "$NO_PROFILES" ]; then
  step 50 "${one[@]}" "${epochs[@]}" -m vit_b_32 -p mixed --axis cuda_graph=on --profile
  step 50 "${one[@]}" "${epochs[@]}" -m resnet50 -p fp32 --axis cuda_graph=on --profile
  step 40 "${one[@]}" "${epochs[@]}" -m mobilenet_v3_large,vit_b_32 -p fp32 --axis cuda_graph=on --profile
fi
# Two GPUs: weak scaling against batch 64 of one, strong against 128 of one; averages hidden and not.
if [ "$gpus" -gt 1 ]; then
  two=(--study training-scaling --warmup 10 -n 100)
  step 55 "${two[@]}" -d cuda:0+cuda:1 --processes 2 -m resnet50 -p mixed,tf32 -b 64
  step 40 "${two[@]}" -d cuda:0 -m resnet50 -p mixed,tf32 -b 64,128
  step 25 "${two[@]}" -d cuda:0+cuda:1 --processes 2 -m resnet50 -p mixed -b 64 --axis overlap=off
  step 25 "${two[@]}" -d cuda:0+cuda:1 --processes 2 -m vit_b_32 -p mixed -b 64
  step 20 "${two[@]}" -d cuda:0 -m vit_b_32 -p mixed -b 64,128
fi
# Batches until memory ends: that batch is a Record out_of_memory, and the run goes on.
grid=(--check off --axis cuda_graph=on -b '1..512*2' --duration 1s --warmup 3)
step 45 "${one[@]}" "${grid[@]}" -m resnet50 -p mixed,tf32
step 40 "${one[@]}" "${grid[@]}" -m vit_b_32 -p mixed,tf32
step 40 "${one[@]}" "${grid[@]}" -m mobilenet_v3_large -p mixed,tf32
step 40 "${one[@]}" "${grid[@]}" -m resnet50,vit_b_32 -p fp32,bf16
at export
timeout -k 5 10 deepgap export "$store" -o "$out/batches.csv"
timeout -k 5 10 deepgap export "$store" --profile -o "$out/profiles.json"
timeout -k 5 10 deepgap export "$store" --format db --compact --anonymous -o "$out/batches-compact.db"
python3 - "$out/batches.csv" <<'END'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
for way in sorted({(r["model"], r["precision"], r["device"], r["options"]) for r in rows}):
    of = sorted((r for r in rows if (r["model"], r["precision"], r["device"], r["options"]) == way), key=lambda r: int(r["batch"]))
    print(*way[:3], "; ".join(f"{r['batch']}: {float(r['throughput']):.0f}/s {r['verdict']}" if r["throughput"] else f"{r['batch']}: {r['outcome']}" for r in of))
END
nvidia-smi --query-gpu=clocks.sm,clocks.mem,power.draw,temperature.gpu --format=csv
at end; ls -l "$out"
