#!/bin/bash
# NVIDIA's libraries as candidates of the tuner: their variants held against the plain kernel (cuBLASLt's products, cuDNN's convolutions) and timed beside ours; ResNets in FP16 and TF32 and BERT in
# FP16 tuned in full, checked, and timed with libraries=on and off in turns. At most about 500 s; each step alone may be cut off. Wants gpu_convolution in PATH, and a torch whose libraries are looked for.
out="$OUT/libraries"; mkdir -p "$out"
cache=/tmp/libraries-cache; mkdir -p $cache; cp -r "$HERE/cache/." $cache/ 2>/dev/null
rm -f $cache/native-cuda/tuned-*.txt
begin=$(date +%s)
at() { echo "== $(($(date +%s) - begin)) s: $*"; }
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,power.limit --format=csv | tee "$out/gpu.txt"
export DEEPGAP_LIBTORCH=${DEEPGAP_LIBTORCH:-$(python3 -c 'import os, torch; print(os.path.dirname(torch.__file__) + "/lib")')}
deepgap backends 2>&1 | grep -E "libraries:|compiler" | tee -a "$out/gpu.txt"
at right in every precision, odd shapes too
timeout -k 5 14 gpu_convolution --libraries --check-only --variant '^cublaslt' --filter ' 1x1' --network odd,bert --precision f16,bf16,f32,tf32,i8 --batch 1,5 --seconds 10 > "$out/right.txt" 2>&1
echo "rc $?"; grep -c '| right' "$out/right.txt"; grep WRONG "$out/right.txt" | head -n 8; tail -n 1 "$out/right.txt"
timeout -k 5 45 gpu_convolution --libraries --check-only --variant '^cudnn' --network odd,resnet18,resnet50,mobilenet_v2,bert --precision f16,bf16,f32,tf32 --batch 1,5 --seconds 40 > "$out/right-cudnn.txt" 2>&1
echo "rc $?"; grep -c '| right' "$out/right-cudnn.txt"; grep WRONG "$out/right-cudnn.txt" | head -n 8; tail -n 1 "$out/right-cudnn.txt"
at timed beside ours
for precision in f16 tf32; do
  timeout -k 5 60 gpu_convolution --libraries --variant '^(cudnn|cublaslt|wgmma|window|stem)' --network resnet50 --precision $precision --batch 256 --seconds 50 > "$out/$precision.txt" 2>&1
  echo "rc $?"; grep -E '^BEST|WRONG' "$out/$precision.txt" | cut -c1-110; tail -n 1 "$out/$precision.txt"
done
gpu=(--backend native --device cuda:0 --axis inputs=ready --check off --quiet --warmup 20 --cache $cache)
at tuned in full
timeout -s INT -k 5 170 deepgap run "${gpu[@]}" -m resnet50,resnet18 -p fp16,tf32 -b 32,256 -r 1 --axis native.tune=full --iterations 20 --store "$out/tuned.db" 2>&1 | tail -n 2
timeout -s INT -k 5 30 deepgap run "${gpu[@]}" -m bert_base:sequence=128 -p fp16 -b 64 -r 1 --axis native.tune=full --iterations 20 --store "$out/tuned.db" 2>&1 | tail -n 2
cp $cache/native-cuda/tuned-*.txt "$out/" 2>/dev/null
grep ' libraries' "$out"/tuned-*.txt | cut -f2 | cut -d' ' -f1,2 | sort | uniq -c | grep -E 'cu(dnn|blas)'
at in turns
timeout -s INT -k 5 150 deepgap run "${gpu[@]}" -m resnet50,resnet18 -p fp16,tf32 -b 32,256 -r 5 --axis native.tune=quick --axis native.libraries=on,off --duration 1s --store "$out/libraries.db" 2>&1 | tail -n 40
timeout -s INT -k 5 30 deepgap run "${gpu[@]}" -m bert_base:sequence=128 -p fp16 -b 64 -r 5 --axis native.tune=quick --axis native.libraries=on,off --duration 1s --store "$out/libraries.db" 2>&1 | tail -n 3
at dB
for precision in tf32 fp16 bf16; do for libraries in on off; do
  timeout -k 5 30 deepgap check resnet50 --device cuda:0 -p $precision --samples 4 --cache $cache --option tune=quick --option libraries=$libraries 2>&1 | grep -E "SQNR|deepgap:" | sed "s/^/libraries=$libraries $precision /"
done; done
timeout -k 5 10 deepgap export "$out/libraries.db" -o "$out/libraries.csv"
at end
