#!/bin/bash
# Products of transformers, and 1x1 convolutions: tiles whose teams take turns or whose blocks read weights together, beside the others. Each variant
# is held against the plain kernel and timed; then BERT and ViT with them (tune=full) and without (tune=off; and by an older deepgap, $BEFORE/deepgap,
# where there is one). 90 s at most; each step alone may be cut off. Wants gpu_convolution in PATH.
out="$OUT/products"; mkdir -p "$out"
cache=/tmp/products-cache; mkdir -p $cache
begin=$(date +%s)
at() { echo "== $(($(date +%s) - begin)) s: $*"; }
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.max.sm,power.limit,power.draw,temperature.gpu --format=csv | tee "$out/gpu.txt"
# Wrong ones, the best of each problem, and the best of each kind.
told() {
  grep -E "WRONG|failures" "$1"
  awk -F' [|] ' '/ us [|] /{
    t = $3 + 0; kind = $2 ~ / turns c/ ? "turns+cluster" : $2 ~ / turns/ ? "turns" : $2 ~ / c[0-9]/ ? "cluster" : "others"
    if (!($1 in seen)) order[n++] = $1; seen[$1] = 1
    if (!(($1, kind) in best) || t < best[$1, kind]) { best[$1, kind] = t; name[$1, kind] = $2; rate[$1, kind] = $4 }
  }
  END { split("others turns cluster turns+cluster", kinds, " ")
    for (i = 0; i < n; i++) for (k = 1; k <= 4; k++) if ((order[i], kinds[k]) in best)
      printf "%-56s %-14s %9.2f us %s  %s\n", order[i], kinds[k], best[order[i], kinds[k]], rate[order[i], kinds[k]], name[order[i], kinds[k]] }' "$1"
}
layers() { local most=$1 name=$2; shift 2; at "$name"; timeout -k 5 "$most" gpu_convolution "$@" > "$out/$name.txt" 2>&1; echo "rc $?"; told "$out/$name.txt"; }
layers 20 products-f16 --network bert,vit --filter rows --precision f16 --batch 64 --variant wgmma
layers 18 products-f8 --network bert,vit --filter rows --precision f8 --batch 64 --variant wgmma
layers 16 resnet50-i8 --network resnet50 --filter ' 1x1' --precision i8 --batch 256 --variant wgmma --seconds 12
native=(--backend native --device cuda:0 -m bert_base:sequence=128,vit_b_16 -p fp16 -b 64 --axis inputs=ready --duration 2s --warmup 20 -r 1 --check off --quiet)
step() { local most=$1; shift; at "$*"; timeout -s INT -k 8 "$most" "$@" 2>&1 | tail -n 6; }
step 22 deepgap run "${native[@]}" --axis native.tune=full,off --cache $cache --store "$out/products.db"
[ -n "$BEFORE" ] && step 22 "$BEFORE/deepgap" run "${native[@]}" --axis native.tune=full --cache $cache-before --store "$out/before.db"
grep -h -E "n8192|n12608" $cache/native-cuda/tuned-*.txt > "$out/winners.txt" 2>/dev/null; cat "$out/winners.txt"
at dB
timeout -k 5 10 deepgap check bert_base:sequence=128 --backend native --device cuda:0 -p fp16 --samples 2 --cache $cache --option tune=quick 2>&1 | grep -E "SQNR|agreement|deepgap:"
at end
