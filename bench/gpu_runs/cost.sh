#!/bin/bash
# studies/v100-p100.toml on one H100: naive, mixed, mixed with a graph by LibTorch; deepgap's own engine on the GPU and on the host's CPU.
# Every Record is in one Store as soon as it is measured, so that a step cut off by its time loses nothing that ended.
out="$OUT/close"
mkdir -p "$out"
cp -r "$HERE/cache" /tmp/close-cache 2>/dev/null || mkdir -p /tmp/close-cache
store="$out/cost.db"
begin=$(date +%s)
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,power.limit,temperature.gpu --format=csv | tee "$out/gpu.txt"
deepgap --version
step() {  # SECONDS, flags ...
  local most=$1
  shift
  echo "== $(($(date +%s) - begin)) s: $*"
  timeout -s INT -k 8 "$most" deepgap run -m resnet50 --store "$store" --resume --cache /tmp/close-cache --study v100-p100 -r 1 --quiet "$@" 2>&1 | tail -n 60
  echo "exit ${PIPESTATUS[0]}"
}
torch=(--libtorch "$TORCH" --backend libtorch_cuda --device cuda:0 --duration 1s --warmup 2)
step 48 "${torch[@]}" -p mixed --axis cuda_graph=off -b '2..8192*2'
step 42 "${torch[@]}" -p mixed --axis cuda_graph=on -b '2..8192*2'
step 52 "${torch[@]}" -p fp32 --axis cuda_graph=off -b '2..8192*2'
step 30 --backend native --device cuda:0 --duration 500ms --warmup 2 -p fp32,fp16 --axis tune=off -b 2,32,128,256,512
step 25 --backend native --device cpu --duration 500ms --warmup 1 -p fp32 -b '2..128*4'
echo "== $(($(date +%s) - begin)) s in all"
ls -l "$out"
