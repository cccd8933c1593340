#!/bin/bash
# studies/v100-p100.toml: naive, mixed, mixed with a graph by LibTorch in batches of 2 to 8192 until memory ends, on one GPU and, where there are two,
# on two; deepgap's own engine on the GPU and on the host's CPU beside them. The Points are the study's (its threads are this host's), the windows one
# second instead of four and once instead of three times. 165 s at most on one GPU, 60 s more on two. Every Record is in one Store as soon as it is
# measured, so that a step cut off by its time loses nothing that ended; STORE: a Store to go on with. PRICES: a price file (docs/decide.md), else
# the studies' own, which know no newer card.
out="$OUT/cost"
mkdir -p "$out"
[ -d "$HERE/cache" ] && [ ! -d /tmp/cost-cache ] && cp -r "$HERE/cache" /tmp/cost-cache
mkdir -p /tmp/cost-cache
store="$out/cost.db"
[ -n "$STORE" ] && [ ! -e "$store" ] && cp "$STORE" "$store"
begin=$(date +%s)
at() { echo "== $(($(date +%s) - begin)) s: $*"; }
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,power.limit,temperature.gpu --format=csv | tee "$out/gpu.txt"
gpus=$(nvidia-smi --list-gpus | wc -l)
deepgap --version
step() {  # SECONDS, flags ...
  local most=$1
  shift
  at "$*"
  timeout -s INT -k 8 "$most" deepgap run -m resnet50 --store "$store" --resume --cache /tmp/cost-cache --study v100-p100 -r 1 --quiet "$@" 2>&1 | tail -n 40
  echo "exit ${PIPESTATUS[0]}"
}
torch=(--libtorch "$TORCH" --backend libtorch_cuda --duration 1s --warmup 2)
step 40 "${torch[@]}" --device cuda:0 -p mixed --axis cuda_graph=on -b '2..8192*2'
step 40 "${torch[@]}" --device cuda:0 -p mixed --axis cuda_graph=off -b '2..8192*2'
step 45 "${torch[@]}" --device cuda:0 -p fp32 --axis cuda_graph=off -b '2..8192*2'
if [ "$gpus" -gt 1 ]; then
  step 30 "${torch[@]}" --device cuda:0+cuda:1 -p mixed --axis cuda_graph=on -b '2..8192*2'
  step 30 "${torch[@]}" --device cuda:0+cuda:1 -p fp32 --axis cuda_graph=off -b '2..8192*2'
fi
step 25 --backend native --device cuda:0 --duration 500ms --warmup 2 -p fp16,fp32 -b 2,32,128,512
step 15 --backend native --device cpu --duration 500ms --warmup 1 -p fp32 -b '2..32*4'
# What the study asks for, and whether it is there.
at what came out
prices="${PRICES:-studies}"
timeout -k 5 10 deepgap export "$store" --by point --prices "$prices" -o "$out/points.csv"
timeout -k 5 10 deepgap report "$store" --prices "$prices" -o "$out/report.html"
timeout -k 5 10 deepgap report "$store" --prices "$prices" --format md -o "$out/report.md"
timeout -k 5 10 deepgap recommend "$store" --prices "$prices" | tee "$out/recommend.txt"
python3 - "$out/points.csv" <<'END'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
ways = sorted({(r["backend"], r["device"], r["precision"], r["options"]) for r in rows})
asked = ("throughput", "latency_p50_ms", "gpu_utilization", "device_memory_mib", "device_memory_reserved_mib", "energy_j_per_item", "cost_per_1000_items")
for way in ways:
    of = [r for r in rows if (r["backend"], r["device"], r["precision"], r["options"]) == way]
    ok = [r for r in of if r["outcome"] == "ok"]
    ended = ", ".join(sorted({f"{r['outcome']} at batch {r['batch']}" for r in of if r["outcome"] != "ok"})) or "all fit"
    print(*way, "batches", min(int(r["batch"]) for r in of), "to", max(int(r["batch"]) for r in of), ended)
    print("   ", ", ".join(f"{column} {sum(bool(r.get(column)) for r in ok)} of {len(ok)}" for column in asked))
END
at end
ls -l "$out"
