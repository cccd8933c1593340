#!/bin/bash
# The grid of studies/deep-gap-h200.toml on one GPU, a part at a time (PARTS, some of: native torch host), kept in one Store: three ResNets at eleven
# batch sizes, by the native engine in five precisions with the winners that are there (tune=off), by LibTorch in four as a CUDA graph, and on the
# host's CPU. Called again with the same $OUT (or STORE) it goes on where it was cut off. About ten minutes for native, seven for torch, one for host.
out="$OUT/grid"; mkdir -p "$out"
cache=/tmp/gpu-cache; mkdir -p $cache; cp -r "$HERE/cache/." $cache/ 2>/dev/null
store=${STORE:-$out/grid.db}
begin=$(date +%s)
at() { echo "== $(($(date +%s) - begin)) s: $*"; }
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,power.limit,power.draw,temperature.gpu --format=csv | tee "$out/gpu.txt"
step() { local most=$1; shift; at "$*"; timeout -s INT -k 8 "$most" deepgap run --study deep-gap-grid --scenario batch --warmup 20 -r 1 --cache $cache --store "$store" --resume --quiet "$@" 2>&1 | tail -n 3; }
gpu=(--device cuda:0 --iterations 100 --min-duration 1s -b '1..256*2,384,512' --axis inputs=ready)
for part in ${PARTS:-native torch host}; do
  case $part in
    native) for p in ${PRECISIONS:-int8 fp16 fp32 tf32 bf16}; do step ${MOST:-200} "${gpu[@]}" --backend native --axis native.tune=off -m ${MODELS:-resnet50,resnet18,resnet101} -p $p; done ;;
    torch) for p in ${PRECISIONS:-fp16 tf32 fp32 bf16}; do step ${MOST:-200} "${gpu[@]}" --libtorch "$TORCH" --backend libtorch_cuda --axis cuda_graph=on --axis channels_last=on -m ${MODELS:-resnet50,resnet18,resnet101} -p $p; done ;;
    host) step 90 --device cpu --backend native -m resnet18,resnet50,resnet101 -p fp32 -b 1,8,32 --iterations 20 --min-duration 1s ;;
  esac
done
timeout -k 5 20 deepgap export "$store" --by point --format csv -o "$out/points.csv"
cp $cache/native-cuda/tuned-*.txt "$out/" 2>/dev/null
at end; ls -l "$out"
