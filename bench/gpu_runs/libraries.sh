#!/bin/bash
# cuBLASLt as a candidate of the tuner: its variants held against the plain kernel and timed beside ours for the products of BERT, ViT and ResNet-50; BERT in FP16 checked and timed with
# libraries=on and off, each tuned in full. At most about 90 s; each step alone may be cut off. Wants gpu_convolution in PATH.
out="$OUT/libraries"; mkdir -p "$out"
cache=/tmp/libraries-cache; mkdir -p $cache; cp -r "$HERE/cache/." $cache/ 2>/dev/null
rm -f $cache/native-cuda/tuned-*.txt
begin=$(date +%s)
at() { echo "== $(($(date +%s) - begin)) s: $*"; }
nvidia-smi --query-gpu=name,driver_version,clocks.sm,power.limit --format=csv | tee "$out/gpu.txt"
deepgap backends 2>&1 | grep -E "libraries|compiler" | tee -a "$out/gpu.txt"
at right in every precision, odd shapes too
timeout -k 5 14 gpu_convolution --libraries --check-only --variant '^cublaslt' --filter ' 1x1' --network odd,bert --precision f16,bf16,f32,tf32,i8 --batch 1,5 --seconds 10 > "$out/right.txt" 2>&1
echo "rc $?"; grep -c '| right' "$out/right.txt"; grep WRONG "$out/right.txt" | head -n 8; tail -n 1 "$out/right.txt"
at timed beside ours
timeout -k 5 22 gpu_convolution --libraries --variant '^(cublaslt|wgmma)' --filter ' 1x1( |$)' --network bert,vit,resnet50 --precision f16 --batch 64 --seconds 18 > "$out/f16.txt" 2>&1
echo "rc $?"; grep -E '^BEST|WRONG' "$out/f16.txt"; tail -n 1 "$out/f16.txt"
timeout -k 5 14 gpu_convolution --libraries --most 8 --filter ' 1x1( |$)' --network bert,vit --precision f32,tf32,i8 --batch 16 --seconds 10 > "$out/others.txt" 2>&1
echo "rc $?"; grep -E '^BEST|WRONG' "$out/others.txt"; tail -n 1 "$out/others.txt"
gpu=(--backend native --device cuda:0)
at dB of BERT
for libraries in on off; do
  timeout -k 5 20 deepgap check bert_base:sequence=128 "${gpu[@]}" -p fp16 --samples 2 --cache $cache --option tune=full --option libraries=$libraries 2>&1 | grep -E "SQNR|agreement|deepgap:" | sed "s/^/libraries=$libraries /"
done
at BERT, with and without
timeout -s INT -k 5 30 deepgap run -m bert_base:sequence=128 "${gpu[@]}" -p fp16 --batch 64 --axis inputs=ready --axis native.tune=full --axis native.libraries=on,off --duration 2s --warmup 20 -r 1 \
  --check off --cache $cache --store "$out/libraries.db" --quiet 2>&1 | tail -n 12
cp $cache/native-cuda/tuned-*.txt "$out/" 2>/dev/null
grep ' libraries' "$out"/tuned-*.txt | cut -f2,3 | sort | uniq -c | head -n 20
timeout -k 5 10 deepgap export "$out/libraries.db" -o "$out/libraries.csv"
at end
