#!/usr/bin/env bash
# Ceilings of the GPU against known figures; kernels of native and LibTorch; ncu on the same kernels, read by deepgap.
mkdir -p "$OUT/explain"; cd "$OUT/explain"
exec > go.log 2>&1
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,power.draw,power.limit --format=csv
C="--cache $OUT/explain/cache"
step() { local limit=$1 name=$2; shift 2; echo "== $name: $*"; local begin=$SECONDS; timeout -k 5 "$limit" "$@" > "$name.out" 2> "$name.err"; echo "rc $? $((SECONDS - begin)) s"; tail -3 "$name.err"; }
# Known: HBM copy about 3.0 TB/s, FP32 about 60, FP16 up to 990 TFLOP/s, 50 GB/s over PCIe 5.
step 40 ceilings deepgap ceilings --device cuda:0 $C
step 10 ceilings-json deepgap ceilings --device cuda:0 $C --json
P="deepgap profile resnet50 --device cuda:0 --precision fp16 --batch 64 $C --rounds 10 --top 15"
step 30 native $P -o native.html --trace native.trace.json
step 30 native-json $P --json
step 30 native-unwatched $P --no-kernels
step 40 torch $P --backend libtorch_cuda -o torch.html --trace torch.trace.json
step 40 torch-json $P --backend libtorch_cuda --json
# Sums over kernels against the plain run: native.out's "sum of layers" + gaps + copies against "whole" within 3 %; "other" at most 2 %.
cat > product.py <<'PY'
import torch
a = torch.randn(4096, 4096, device="cuda", dtype=torch.float16)
b = torch.empty(64 << 20, device="cuda"); c = torch.empty_like(b)
c.copy_(b); a @ a; torch.cuda.synchronize()
PY
cmd=$(deepgap import ncu --chip h100 2> chip.err); echo "$cmd"; tail -1 chip.err
step 60 ncu ${cmd%% PROGRAM*} python3 product.py
step 10 import deepgap import ncu ncu.out --top 5
cat ceilings.out native.out torch.out import.out
