#!/usr/bin/env bash
# The Stores behind the CPU's tables of docs/: each part runs what its page says and leaves PART.db. On an otherwise idle machine.
#
#     bench/cpu_stores.sh FOLDER [PART ...]      # streams, end-to-end, tenants, load, engines; left out: all but engines, in 15 to 20 minutes on two cores
#
# A part that is called again goes on where it was ended. `engines` takes 12 minutes on a 2-core AMD EPYC (Zen 4), an hour where engines are slower.
set -euo pipefail
[ $# -gt 0 ] || { sed -n '2,6p' "$0"; exit 2; }
folder=$1; shift
mkdir -p "$folder"
program=${PROGRAM:-build/bin/deepgap}
run() { echo "== $(date -u +%H:%M) $*"; "$program" run --quiet --resume "$@" || echo "exit code $?"; }

streams() {
  cat > "$folder/streams.toml" <<'TOML'
[defaults]
model = "resnet50"
backend = "native"
threads = 2
repeats = 7
warmup = 10
duration = "3s"
[[grid]]
[grid.options]
streams = "1"
in_flight = "1"
[[grid]]
[grid.options]
streams = "2"
in_flight = "2"
TOML
  run "$folder/streams.toml" --store "$folder/streams.db"
  rm "$folder/streams.toml"
}

end-to-end() { run studies/end-to-end.toml --duration 2500ms --store "$folder/end-to-end.db"; }
tenants() { run studies/tenants.toml --repeats 5 --store "$folder/tenants.db"; }

load() {
  local alone=(--model resnet50 --scenario single-stream --precision fp32,bf16,int8 --duration 3s)
  run "${alone[@]}" --store "$folder/load.db"
  run --model resnet50 --precision int8 --scenario server --bound p99=100ms --find-peak --store "$folder/load.db"
}

engines() { run studies/engines.toml --repeats 1 --warmup 1 --duration 300ms --store "$folder/engines.db"; }

for part in ${*:-streams end-to-end tenants load}; do "$part"; done
