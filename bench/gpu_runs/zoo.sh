#!/bin/bash
# Is every network right on the card: the conformance suite's networks; then the zoo but for its smallest and largest network at its own sizes, quantized to a file whose nodes are held
# against that file's own reading (asked: one quantum at most), and in each precision against the FP32 reference. Eight at a time; LIMIT seconds at
# most (560), what there was no time for is named.
out="$OUT/zoo"; mkdir -p "$out"
export DEEPGAP_CACHE=/tmp/zoo-cache LIMIT=${LIMIT:-560}; mkdir -p $DEEPGAP_CACHE /tmp/zoo-files
export out begin; begin=$(date +%s)
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
one() {  # LIMIT NAME COMMAND...: on two CPUs of its own, or what there is
  local most=$1 name=$2 left=$((LIMIT - ($(date +%s) - begin))); shift 2
  [ $left -lt 15 ] && { echo "== $name: no time left"; return; }
  local from=$(date +%s)
  taskset -c $((2 * SLOT)),$((2 * SLOT + 1)) timeout -s INT -k 5 $((most < left ? most : left)) "$@" > "$out/$name.out" 2> "$out/$name.err"
  echo "== $name: rc $? in $(($(date +%s) - from)) s"
}
conformance() { one 200 "conformance-$1" deepgap_conformance --backend native --device cuda:0 --option tune=off --gtest_brief=0 --gtest_filter="$2"; }
int8() {
  local name=${1//[:=]/-}
  one 60 "$name-quantize" deepgap quantize "$1" -o "/tmp/zoo-files/$name.onnx"
  one 150 "$name-nodes" deepgap check "/tmp/zoo-files/$name.onnx" -d cuda:0 -p int8 --nodes --samples 1 --option tune=off --json
}
precision() { one 100 "${1//[:=]/-}-$2" deepgap check "$1" -d cuda:0 -p "$2" --samples 2 --option tune=off --json; }
export -f one conformance int8 precision
models=(${MODELS:-resnet18 mobilenet_v2 vit_b_32 densenet121 inception_v3 mobilenet_v3_large efficientnet_lite0 shufflenet_v2 vgg16 mobilenet_v1 resnet34
  mobilenet_v3_small bert_base:sequence=128 resnet101 vit_b_16 ssd_mobilenet_v1 resnet50 resnet152 bert_large:sequence=128})
{
  for network in resnet18 resnet50 mobilenet_v2 efficientnet_lite0 vgg16 densenet121 inception_v3 mobilenet_v1 mobilenet_v3_small shufflenet_v2 vit_b_32; do
    echo "conformance $network 'Small/ZooNetworks.*/$network'"
  done
  echo "conformance networks 'Networks.*:Quantized.*'"
  for model in "${models[@]}"; do echo "int8 $model"; done
  for precision in fp32 fp16 tf32 bf16; do for model in "${models[@]}"; do echo "precision $model $precision"; done; done
} | xargs -d '\n' -P 8 --process-slot-var=SLOT -I{} bash -c '{}'
grep -hE '^\[  (PASSED|FAILED|SKIPPED)' "$out"/conformance-*.out
cd "$out" && python3 - <<'PY'
import glob, json
for path in sorted(glob.glob("*.out")):
    try: found = json.load(open(path))
    except (OSError, ValueError): continue
    if "nodes" in found:
        levels = [node for node in found["nodes"] if node["quanta"] is not None]
        print(f"{path[:-10]}: {len(levels)} of {len(found['nodes'])} nodes end in levels, the furthest {found['largest_quanta']} quanta; worst {found['worst_sqnr_db']:.1f} dB")
        for node in found["nodes"]:
            if (node["quanta"] or 0) > 1.01 or node["sqnr_db"] < 20: print(f"    {node['op']} {node['name']}: {node['quanta']} quanta, {node['sqnr_db']:.1f} dB")
    elif "sqnr_db" in found: print(f"{path[:-4]}: {found['sqnr_db']:.1f} dB, {'right' if found['pass'] else 'WRONG'}")
PY
tail -qn 2 "$out"/*.err | grep -iE 'error|cannot|deepgap:' | sort | uniq -c | sort -rn | head -20
tar czf "$out.tgz" -C "$OUT" zoo; rm -rf "$out"
echo "$(($(date +%s) - begin)) s in all"
