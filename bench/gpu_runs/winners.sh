#!/bin/bash
# The card's own winners (`tune=full`) of the networks that are brought along, then the same Points with `tune=off`, once by what is brought along already
# and once by what was just found, in turns: what `off` costs, and what the card's own winners are worth. 330 s at most; each step may be cut off.
out="$OUT/winners"; mkdir -p "$out"
begin=$(date +%s)
at() { echo "== $(($(date +%s) - begin)) s: $*"; }
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,power.limit,temperature.gpu --format=csv | tee "$out/gpu.txt"
found=/tmp/winners-found none=/tmp/winners-none; mkdir -p $found $none
gpu=(--backend native --device cuda:0 --axis inputs=ready --warmup 20 -r 1 --check off --quiet)
step() { local most=$1; shift; at "$*"; timeout -s INT -k 5 "$most" deepgap run "${gpu[@]}" "$@" 2>&1 | tail -n 4; }
tune=(--axis native.tune=full --axis native.libraries=off --iterations 20 --cache $found --store "$out/tuned.db")
step 90 "${tune[@]}" -m resnet50 -p int8,fp16,bf16,tf32 -b 1,32,256
step 60 "${tune[@]}" -m resnet18 -p int8,fp16,bf16,tf32 -b 1,32,256
step 35 "${tune[@]}" -m vit_b_16,bert_base:sequence=128 -p fp16,fp8 -b 64
cp $found/native-cuda/tuned-*.txt "$out/"; wc -l "$out"/tuned-*.txt
off=(--axis native.tune=off --duration 1s -m resnet50,resnet18 -p int8,fp16 -b 1,32,256)
for round in 1 2; do
  step 45 "${off[@]}" --cache $found --store "$out/found.db"
  step 45 "${off[@]}" --cache $none --store "$out/brought.db"
done
for which in found brought tuned; do timeout -k 5 10 deepgap export "$out/$which.db" -o "$out/$which.csv"; done
at end
