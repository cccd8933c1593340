#!/bin/bash
# compute-sanitizer's four tools over the conformance suite's operator cases (small shapes, every precision), in parallel shards: what each says, and how
# many cases ended within SECONDS_EACH (150). The suite runs once without a tool first, a shard on each CPU: that fills the cache of kernels, whose
# compiler is what takes the time.
out="$OUT/sanitizers"; mkdir -p "$out"
export DEEPGAP_CACHE=/tmp/sanitizer-cache; mkdir -p $DEEPGAP_CACHE
most=${SECONDS_EACH:-150} shards=${SHARDS:-4}
filter=${FILTER:-All/*:Queries.*:Quantized.*}
suite=(deepgap_conformance --backend native --device cuda:0 --option tune=off --gtest_brief=0)
begin=$(date +%s)
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader; compute-sanitizer --version | tail -1
cpus=$(nproc)
for ((i = 0; i < cpus; i++)); do
  GTEST_TOTAL_SHARDS=$cpus GTEST_SHARD_INDEX=$i timeout -k 5 ${PLAIN:-60} "${suite[@]}" --gtest_filter="$filter" > "$out/plain-$i.txt" 2>&1 &
done
wait
said() { cat "$out"/plain-*.txt | grep -c "^\[ *$1"; }
echo "plain: $(said 'OK') right, $(said SKIPPED) skipped lines, $(said FAILED) failed lines, $(($(date +%s) - begin)) s"
for tool in ${TOOLS:-memcheck initcheck synccheck racecheck}; do
  for ((i = 0; i < shards; i++)); do
    GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$i timeout -s INT -k 5 "$most" compute-sanitizer --tool $tool --print-limit 20 "${suite[@]}" --gtest_filter="$filter" --gtest_shuffle \
      --gtest_random_seed=7 > "$out/$tool-$i.txt" 2>&1 &
  done
done
wait
for tool in ${TOOLS:-memcheck initcheck synccheck racecheck}; do
  echo "$tool: $(cat "$out/$tool"-*.txt | grep -c '^\[       OK') cases ended right, $(cat "$out/$tool"-*.txt | grep -c '^\[  FAILED') failed; $(cat "$out/$tool"-*.txt | grep -v SUMMARY | grep -cE '^========= (Invalid|Uninitialized|Barrier|Error|Warning|Race|Program hit|.*[Hh]azard)') findings"
  cat "$out/$tool"-*.txt | grep -E '^=========' | grep -vE 'COMPUTE-SANITIZER|^=========\s*$' | sort | uniq -c | sort -rn | head -n 12
done
tar czf "$out.tgz" -C "$OUT" sanitizers; rm -rf "$out"
echo "$(($(date +%s) - begin)) s in all"
