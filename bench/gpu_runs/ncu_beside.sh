#!/usr/bin/env bash
# Profiles that end as they began (`whole_after_ms` beside `whole_ms`), native and LibTorch, and bytes of DRAM of the same batch by Nsight Compute.
# 100 s at most; run it as root. `deepgap` in PATH, $TORCH and $HERE as README.md says.
out="$OUT/ncu"; mkdir -p "$out"
here=$PWD/bench/gpu_runs; cd "$out" || exit 1
export DEEPGAP_CACHE=/tmp/ncu-cache DEEPGAP_LIBTORCH="$TORCH"; mkdir -p $DEEPGAP_CACHE
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,power.limit --format=csv,noheader | tee gpu.txt
profile() {  # NAME, flags ...
  local name=$1; shift
  timeout -s INT -k 5 40 deepgap profile "$@" --device cuda:0 --json > "$name.json" 2> "$name.err"
  python3 -c "
import json
d = json.load(open('$name.json')); before, after = d['whole_ms'], d['whole_after_ms']
print(f'$name: {before:.4f} ms before, {after:.4f} after, {after / before:.3f}')"
}
profile native-fp16 resnet50 -p fp16 -b 64 --rounds 100
profile native-int8 resnet50 -p int8 -b 64 --rounds 100
profile libtorch-fp16 resnet50 -p fp16 -b 64 --rounds 50 -e libtorch_cuda
profile native-bert bert_base:sequence=128 -p fp16 -b 16 --rounds 50
timeout -k 5 60 ncu --target-processes all --cache-control none --clock-control none --csv --metrics gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum \
  deepgap run -m resnet50 -e native -d cuda:0 -p fp16 -b 64 --warmup 1 -n 3 -r 1 --check off --quiet --axis native.tune=off --timeout 120s --store ncu.db > ncu.csv 2> ncu.err
python3 "$here/ncu_beside.py" native-fp16.json ncu.csv
tar czf "$OUT/ncu.tgz" -C "$OUT" ncu; rm -rf "$out"
