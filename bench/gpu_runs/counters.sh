#!/usr/bin/env bash
# CUPTI's range profiler, call by call: which ways of counting this CUPTI offers, what kernels of known counts come out as, the message for a user
# without the right to count; then profiles with counters, native and LibTorch. About four minutes; run it as root.
mkdir -p "$OUT/counters"; cd "$OUT/counters"
exec > go.log 2>&1
nvidia-smi --query-gpu=name,driver_version --format=csv
grep -h RmProfilingAdminOnly /proc/driver/nvidia/params
step() { local limit=$1 name=$2; shift 2; echo "== $name: $*"; local begin=$SECONDS; timeout -k 5 "$limit" "$@" > "$name.out" 2> "$name.err"; echo "rc $? $((SECONDS - begin)) s"; tail -3 "$name.err"; }
# 0: ranges that are marked, replayed by us; 1: a range a kernel, replayed by us (what profile prefers); 2 and 3: replayed by CUPTI.
# Known: way 0 and way 2 on an H100; a copy reads and writes its bytes, multiply-adds are exact, products within 1 %.
for way in 0 1 2 3; do step 20 "way$way" gpu_counters 0 "$way"; done
step 20 nobody setpriv --reuid=65534 --regid=65534 --clear-groups gpu_counters 0 0
P="deepgap profile resnet50 --device cuda:0 --batch 64 --cache $OUT/counters/cache --rounds 10 --top 12"
for precision in fp16 fp32 int8; do step 60 "native-$precision" $P --precision $precision -o native-$precision.html; done
step 30 native-json $P --precision fp16 --json
step 30 native-uncounted $P --precision fp16 --no-counters
step 60 torch $P --precision fp16 --backend libtorch_cuda
# Operations by the graph against the counters for convolutions and products (1 %), and profiles beside Records.
step 60 run deepgap run resnet50 --device cuda:0 --precision fp16 --batch 64 --cache "$OUT/counters/cache" --profile --repeats 1 --store run.db
# A step of training: its bytes and operations by family, each pass from the same weights.
step 120 train deepgap run -m resnet50,mobilenet_v3_large -p tf32 -b 64 --task train --libtorch "$TORCH" -e libtorch_cuda -d cuda:0 --axis cuda_graph=on --axis samples=256 \
  --warmup 4 -n 4 -r 1 --check off --profile --cache "$OUT/counters/cache" --store run.db
step 20 export deepgap export run.db --profile --output layers.csv
step 20 export-json deepgap export run.db --profile --output profiles.json
cat way*.out nobody.out native-fp16.out torch.out
