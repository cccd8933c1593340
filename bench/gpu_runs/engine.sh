#!/bin/bash
# Attention by wgmma, FP8 products, max-pools of pairs; the zoo's networks, Queries and detectors in the
# conformance suite; winners of this card. 300 s at most; each step alone may be cut off.
out="$OUT/gpu"; mkdir -p "$out"
cache=/tmp/gpu-cache; mkdir -p $cache; cp -r "$HERE/cache/." $cache/ 2>/dev/null
begin=$(date +%s)
at() { echo "== $(($(date +%s) - begin)) s: $*"; }
gpu=(--backend native --device cuda:0)
nvidia-smi --query-gpu=name,driver_version,clocks.sm,power.limit --format=csv | tee "$out/gpu2.txt"
at attention by wgmma and by mma.sync in the conformance suite
for kind in wgmma mma; do
  timeout -k 5 20 deepgap_conformance "${gpu[@]}" --option tune=off --option attention=$kind --gtest_filter='*ttention*' 2>&1 | grep -E "FAILED|PASSED|SKIPPED|dB" | tail -n 8
done
at dB of ViT and BERT
for p in fp16 bf16 fp8; do
  for m in vit_b_16 bert_base:sequence=128; do
    timeout -k 5 15 deepgap check $m "${gpu[@]}" -p $p --samples 2 --cache $cache --option tune=off --option attention=wgmma 2>&1 | grep -E "SQNR|agreement|deepgap:" | sed "s/^/$m $p /"
  done
done
at speed
timeout -k 5 60 deepgap run -m vit_b_16,bert_base:sequence=128 "${gpu[@]}" -p fp16,fp8 --batch 64 --axis inputs=ready --axis native.attention=mma,wgmma --axis native.tune=quick --duration 2s \
  --warmup 20 --check off --cache $cache --store $out/attention.db --quiet 2>&1 | tail -n 14
at layers
timeout -k 5 20 deepgap profile vit_b_16 "${gpu[@]}" -p fp16 --batch 64 --cache $cache --option attention=wgmma 2>&1 | head -n 40 > $out/vit-layers.txt
timeout -k 5 20 deepgap profile resnet50 "${gpu[@]}" -p int8 --batch 256 --cache $cache 2>&1 | head -n 90 > $out/resnet-layers.txt
at pools, the zoo, queries, detectors
timeout -k 5 60 deepgap_conformance "${gpu[@]}" --option tune=off --gtest_filter='*Pool*:*Quer*:*Network*:*Zoo*:*ssd*' > $out/conformance.txt 2>&1; grep -E "FAILED|PASSED|SKIPPED" $out/conformance.txt | tail -n 12
at winners
timeout -k 5 60 deepgap run -m resnet50 "${gpu[@]}" -p int8,fp16 --batch 1,32,256 --axis inputs=ready --axis native.tune=full --iterations 20 --warmup 5 --check off --cache $cache --store $out/winners.db --quiet 2>&1 | tail -n 9
cp $cache/native-cuda/tuned-*.txt $out/ 2>/dev/null; ls -l $out
at end
