#!/usr/bin/env bash
# What is missing of the explanations: counters with first-level caches beside known work, profiles of inference by native and LibTorch, of training
# steps in FP32 and of ViT-B/32 in mixed; then steps at other batches and the host's CPU, for `deepgap predict`. In order of worth, 180 s at most
# (LIMIT); run it as root. `deepgap`, `gpu_counters` in PATH, $TORCH and $HERE as README.md says.
out="$OUT/profiles"; mkdir -p "$out"; cd "$out"
exec > go.log 2>&1
cache=/tmp/profiles-cache; mkdir -p $cache; cp -r "$HERE/cache/." $cache/ 2>/dev/null
limit=${LIMIT:-180}
# Each step has its own limit, or what is left of the whole; what ended stays when the next is cut off.
step() {
  local most=$1 name=$2 left=$((limit - SECONDS)); shift 2
  [ $left -lt 8 ] && { echo "== $name: no time left"; return; }
  echo "== $SECONDS s, $name: $*"; local begin=$SECONDS
  timeout -s INT -k 4 $((most < left ? most : left)) "$@" > "$name.out" 2> "$name.err"; echo "rc $? $((SECONDS - begin)) s"; tail -2 "$name.err"
}
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,power.limit --format=csv
grep -h RmProfilingAdminOnly /proc/driver/nvidia/params
# Known: a copy asks first-level caches for twice its bytes, reads of 16 KiB a block, 64 times over, for 64 times 16 KiB a block.
step 15 known gpu_counters 0 1
sed -n '/known:/p;/-- l1/,/ms$/p' known.out
P="deepgap profile --device cuda:0 --cache $cache --rounds 10"
step 30 resnet50-fp16-native $P resnet50 -p fp16 -b 256 --json -o resnet50-fp16-native.html
step 25 bert-fp16-native $P bert_base:sequence=128 -p fp16 -b 64 --json -o bert-fp16-native.html
step 25 bert-fp16-libtorch env DEEPGAP_LIBTORCH="$TORCH" $P bert_base:sequence=128 -p fp16 -b 64 -e libtorch_cuda --json -o bert-fp16-libtorch.html
step 40 resnet50-int8-native $P resnet50 -p int8 -b 256 --json -o resnet50-int8-native.html
# As docs/results/lab-notes/training.md has them: batch 64, a CUDA graph; what it lacks of profiles is FP32 and ViT-B/32 in mixed.
T="deepgap run --task train --libtorch $TORCH -e libtorch_cuda -d cuda:0 -b 64 --axis cuda_graph=on --axis samples=256 --warmup 4 -n 4 -r 1 --axis channels_last=on
  --axis inputs=device --study training-intensity --check off --profile --resume --cache $cache --store profiles.db"
step 35 train-vit-mixed $T -m vit_b_32 -p mixed
step 60 train-fp32 $T -m resnet50,mobilenet_v3_large,vit_b_32 -p fp32
# For `deepgap predict`: more networks and batches of training, without profiles; a second CPU with its ceilings.
step 40 train-batches deepgap run --task train --libtorch "$TORCH" -e libtorch_cuda -d cuda:0 -m resnet18,resnet50,vit_b_32,densenet121 -p tf32,mixed -b 16,128 --axis cuda_graph=on \
  --axis samples=256 --warmup 4 -n 4 -r 1 --axis channels_last=on --axis inputs=device --check off --study predict --resume --cache $cache --store batches.db
step 15 host-ceilings deepgap ceilings --json --cache $cache
step 40 host deepgap run -m resnet50,mobilenet_v2,vit_b_16 -p fp32,bf16 -b 1,16 --duration 500ms --warmup 3 -r 1 --check off --profile --study predict --cache $cache --store host.db
step 5 layers deepgap export profiles.db --profile --output layers.csv
step 5 profiles deepgap export profiles.db --profile --output profiles.json
python3 - *.out profiles.json <<'PY'
import json, sys
def show(name, counted):
    if counted["missing"]: return print(f"{name}: counters not available: {counted['missing']}")
    for one in counted["known"]: print(f"{name}: {one['what']}: {one['counted']:.6g} of {one['expected']:.6g}, {'right' if one['right'] else 'WRONG'}")
    for note in counted["notes"]: print(f"{name}: note: {note}")
    for row in counted["families"] + [counted["network"]]:
        levels = "  ".join(f"{one['level']} {one['bytes'] / 2**20:.0f} MiB, {one['intensity_with_tensor_cores'] or 0:.2f} FLOP/byte, {100 * (one['of_bandwidth'] or 0):.0f} %"
                           for one in row["levels"])
        print(f"{name}: {row['name']:<24} {row['ms']:9.3f} ms {100 * row['share']:5.1f} %  of roof {100 * (row['of_roof'] or 0):3.0f} % {row['bound'] or '-':<8} {levels}")
for path in sys.argv[1:]:
    try: found = json.load(open(path))
    except (OSError, ValueError): continue
    for one in found if isinstance(found, list) else [found]:
        counted = one.get("device_counters") if isinstance(one, dict) else None
        if counted: show(path if isinstance(found, dict) else f"{one['model']} {one['precision']}", counted)
PY
echo "== end $SECONDS s"; ls -l
