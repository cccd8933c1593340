#!/bin/bash
# Windows of ten seconds of what docs/results/lab-notes/h200-native.md has targets for: the native engine tuned in full, samples on the GPU; LibTorch beside for memory.
out="$OUT/floors"; mkdir -p "$out"
cache=/tmp/gpu-cache; mkdir -p $cache
begin=$(date +%s)
at() { echo "== $(($(date +%s) - begin)) s: $*"; }
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,power.limit,power.draw,temperature.gpu --format=csv | tee "$out/gpu.txt"
step() { local most=$1; shift; at "$*"; timeout -s INT -k 8 "$most" deepgap run --device cuda:0 --axis inputs=ready --duration 10s --warmup 20 -r 1 --check off --cache $cache --store "$out/floors.db" --resume --quiet "$@" 2>&1 | tail -n 5; }
native=(--backend native --axis native.tune=full)
step 60 "${native[@]}" -m resnet50 -p int8 -b 256,1
step 40 "${native[@]}" -m resnet50 -p fp16 -b 256
step 70 "${native[@]}" -m vit_b_16,bert_base:sequence=128 -p fp16 -b 64
step 70 "${native[@]}" -m resnet18,resnet101,mobilenet_v2 -p fp16 -b 256
step 70 "${native[@]}" -m vit_b_16,bert_base:sequence=128 -p fp8 -b 64
step 40 --libtorch "$TORCH" --backend libtorch_cuda --axis cuda_graph=on --axis channels_last=on -m resnet50 -p fp16,fp32 -b 256
timeout -k 5 10 deepgap export "$out/floors.db" -o "$out/floors.csv"
at end
