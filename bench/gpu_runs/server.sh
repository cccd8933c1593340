#!/bin/bash
# The Server scenario on one GPU: ResNet-50 in INT8, inputs copied by each query, p99 within 15 ms. Fixed rates, then a peak search.
out="$OUT/gpu"; mkdir -p "$out"
cache=/tmp/gpu-cache; mkdir -p $cache; cp -r "$HERE/cache/." $cache/ 2>/dev/null
begin=$(date +%s)
at() { echo "== $(($(date +%s) - begin)) s: $*"; }
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.max.sm,power.limit,power.draw,temperature.gpu,pcie.link.gen.current,pcie.link.width.current --format=csv | tee "$out/gpu.txt"
nproc; deepgap --version
common=(-m resnet50 -p int8 --backend ${ENGINE:-native} --device ${DEVICE:-cuda:0} --cache $cache --check off --quiet)
[ -z "$ENGINE" ] && common+=(--axis native.tune=off)
at quantize and first load
timeout -k 5 45 deepgap run "${common[@]}" --batch 256 --axis inputs=host,ready --warmup 10 --iterations 60 --store $out/first.db 2>&1 | tail -n 12
server=(--store $out/server.db --scenario server --batch 1 --max-batch 256 --bound p99=15ms --warmup 20000 --duration 2s)
at fixed rates, 3 streams
timeout -k 5 40 deepgap run "${common[@]}" "${server[@]}" --streams 3 --rate 20000,40000,50000,60000 2>&1 | tail -n 14
at 50000 with 2 and 4 streams
timeout -k 5 22 deepgap run "${common[@]}" "${server[@]}" --streams 2,4 --rate 50000 2>&1 | tail -n 14
at peak
timeout -s INT -k 8 45 deepgap run "${common[@]}" "${server[@]}" --streams 3 --duration 3s --find-peak --peak-from 32000 --peak-ratio 5% 2>&1 | tail -n 60
at export
timeout -k 5 10 deepgap export $out/server.db -o $out/server.csv
ls -l $out
at end
