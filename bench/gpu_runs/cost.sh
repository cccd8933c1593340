#!/bin/bash
# studies/v100-p100.toml by its own numbers: naive, mixed, mixed with a graph by LibTorch in batches of 2 to 8192 until memory ends, on one GPU and, where
# there are two, on two; deepgap's own engine in FP16 on the GPU beside them. Some 15 minutes on two GPUs: LIMIT (seconds) ends it earlier, a next call
# goes on where the machine or STORE (a Store to go on with) still has what was measured. Every Record is in one Store as soon as it is measured, so that
# a step cut off by its time loses nothing that ended. PRICES: a price file (docs/how-to/choose-hardware.md), else the studies' own, which know no newer card.
out="$OUT/cost"
mkdir -p "$out" /tmp/cost
cache=/tmp/cost/cache
[ -d "$HERE/cache" ] && [ ! -d $cache ] && cp -r "$HERE/cache" $cache
store=/tmp/cost/cost.db
[ -n "$STORE" ] && [ ! -e "$store" ] && cp "$STORE" "$store"
limit=${LIMIT:-3600}
at() { echo "== $SECONDS s: $*"; }
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,power.limit,temperature.gpu --format=csv | tee "$out/gpu.txt"
gpus=$(nvidia-smi --list-gpus | wc -l)
deepgap --version
step() {  # flags ...
  local left=$((limit - 15 - SECONDS))
  [ $left -lt 10 ] && { at "no time left: $*"; return; }
  at "$*"
  timeout -s INT -k 8 $left deepgap run -m resnet50 --store "$store" --resume --cache $cache --study v100-p100 --warmup 5 --duration 2s -r 3 --quiet "$@" 2>&1 | tail -n ${LINES_KEPT:-30}
  echo "exit ${PIPESTATUS[0]}"
}
devices=cuda:0; [ "$gpus" -gt 1 ] && devices=cuda:0,cuda:0+cuda:1
torch=(--libtorch "$TORCH" --backend libtorch_cuda --device "$devices" -b '2..8192*2')
step "${torch[@]}" -p mixed --axis cuda_graph=on
step "${torch[@]}" -p mixed,fp32 --axis cuda_graph=off
step --backend native --device cuda:0 -p fp16 -b '2..8192*2'
# What the study asks for, and whether it is there.
at what came out
prices="${PRICES:-studies}"
timeout -k 5 10 deepgap export "$store" --by point --prices "$prices" -o "$out/points.csv"
timeout -k 5 10 deepgap export "$store" --format db --compact --anonymous -o "$out/cost.db"
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
