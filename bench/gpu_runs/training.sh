#!/bin/bash
# Training steps by LibTorch on one GPU: checks against the CPU, the study's epochs at batch 64, then batches, then a plain PyTorch loop.
out="$OUT/train"; mkdir -p "$out"
exec > "$out/go.log" 2>&1
begin=$(date +%s)
at() { echo "== $(($(date +%s) - begin)) s: $*"; }
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,power.limit,power.draw,temperature.gpu --format=csv
nproc; date -u
# The installed tree; FILE.tar.xz beside this script (bin, lib of a build) goes over it: the CPU plug-in of LibTorch (deepgap_libtorch.so,
# libtorch/engine_cpu.so, libtorch/libtorch.so), without which the steps are not checked, and what was built since.
tree=/tmp/train-tree; installed=$(dirname "$(dirname "$(readlink -f "$(command -v deepgap)")")")
mkdir -p $tree; cp -r "$installed/." $tree/ 2>/dev/null
(cd $tree && for f in "$HERE"/*.tar.xz; do [ -e "$f" ] && tar -xJf "$f"; done)
export PATH=$tree/bin:$PATH
deepgap --version; deepgap backends 2>&1 | head -40
export DEEPGAP_CACHE=/tmp/train-cache; mkdir -p $DEEPGAP_CACHE
store="$out/training.db"
common=(--task train --libtorch "$TORCH" -e libtorch_cuda -d cuda:0 --cache $DEEPGAP_CACHE --store "$store" --resume --axis channels_last=on --axis inputs=device)
step() { local most=$1; shift; at "$*"; timeout -s INT -k 8 "$most" deepgap run "${common[@]}" "$@" 2>&1 | tail -n 70; echo "exit ${PIPESTATUS[0]}"; }
step 40 -m digits_cnn -p fp32,tf32,bf16,fp16,mixed -b 64 --axis cuda_graph=off,on --optimizer momentum,adamw --duration 200ms --warmup 3 -r 1 --study smoke
step 70 -m resnet50,mobilenet_v3_large,vit_b_32 -p fp32,tf32,mixed -b 64 --axis cuda_graph=off,on --axis samples=256 --warmup 4 -n 4 -r 1 --study training-intensity
at export
timeout -k 5 10 deepgap export "$store" --format csv -o "$out/records.csv"
nvidia-smi --query-gpu=clocks.sm,clocks.mem,power.draw,temperature.gpu --format=csv
at end; ls -l "$out"
