#!/usr/bin/env python3
"""deepgap beside NVIDIA's perf_analyzer on one KServe v2 server, and deepgap's own rate against an echo server.

    remote.py side-by-side --url http://127.0.0.1:8000 --model delay --perf-analyzer PATH [--rates 50,200,600] [--clients 1,8,32] [--seconds 4]
    remote.py echo --echo-server build/bin/echo_server [--clients 64] [--rate 20000] [--seconds 4]

side-by-side takes turns: the same load by deepgap, by perf_analyzer --async and, at rates, by perf_analyzer as it is by itself (synchronous). Rows hold
the achieved rate, mean and p99 of latency, and CPU time of the client for each request that the server counted, its start included.
`echo` pins the client to one CPU and the server to another. The load of the machine is printed before each part: on a busy one the figures are of the busy machine.
"""
import argparse
import json
import os
import re
import resource
import subprocess
import tempfile
import urllib.request


def answered(url, model):
    try:
        with urllib.request.urlopen(f"{url}/v2/models/{model}/stats", timeout=10) as answer:
            return sum(row["inference_stats"]["success"]["count"] for row in json.load(answer)["model_stats"])
    except OSError:
        return None


def counted(command, url, model):
    """Runs it; its output, and the CPU time in us for each request that the server answered meanwhile."""
    before, used = answered(url, model), resource.getrusage(resource.RUSAGE_CHILDREN)
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    now, after = resource.getrusage(resource.RUSAGE_CHILDREN), answered(url, model)
    cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    requests = after - before if before is not None and after is not None else 0
    return result, cpu * 1e6 / requests if requests else None


def deepgap_row(args, url, model, load):
    with tempfile.TemporaryDirectory() as folder:
        store = os.path.join(folder, "bench.db")
        command = [*args.prefix, args.deepgap, "run", "--backend", "kserve", "--device", url, "--model", model, "--store", store, "--cache", folder, "--quiet",
                   "--duration", f"{args.seconds:g}s", "--axis", "connections=256", *load]
        result, cpu = counted(command, url, model)
        export = subprocess.run([args.deepgap, "export", store, "--format", "json"], capture_output=True, text=True)
    rows = json.loads(export.stdout) if export.returncode == 0 else []
    if not rows or rows[0].get("latency_mean_ms") is None:
        return {"note": (result.stderr.strip().splitlines() or ["no Record"])[-1]}
    row = rows[0]
    return {"rate": row["throughput"], "mean_ms": row["latency_mean_ms"], "p99_ms": row["latency_p99_ms"], "cpu_us": cpu, "lateness_p99_us": row.get("issue_lateness_p99_us"),
            "queue_ms": row.get("server_queue_ms"), "cpus_used": row.get("cpus_used"), "note": row["verdict"] + (": " + row["reason"] if row["verdict"] not in ("valid",) else "")}


def analyzer_row(args, url, model, load):
    command = [args.perf_analyzer, "-m", model, "-i", "http", "-u", url.split("//")[1], "--measurement-interval", str(int(args.seconds * 1000)), "--max-trials", "3",
               "--stability-percentage", "999", *load]  # on a busy machine it would else print nothing
    result, cpu = counted(command, url, model)
    found = {name: re.findall(pattern, result.stdout) for name, pattern in
             {"rate": r"Throughput: ([\d.]+) infer/sec", "mean": r"Avg latency: (\d+) usec", "p99": r"p99 latency: (\d+) usec"}.items()}
    if not all(found.values()):
        return {"note": (result.stdout + result.stderr).strip().splitlines()[-1]}
    delayed = re.findall(r"Delayed Request Count: (\d+)", result.stdout) or re.findall(r"\[WARNING\].*", result.stderr)
    return {"rate": float(found["rate"][-1]), "mean_ms": int(found["mean"][-1]) / 1e3, "p99_ms": int(found["p99"][-1]) / 1e3, "cpu_us": cpu,
            "note": " ".join(delayed[-1:])}


def show(load, who, row):
    figure = lambda key, digits: "" if row.get(key) is None else f"{row[key]:.{digits}f}"
    print(f"| {load} | {who} | {figure('rate', 1)} | {figure('mean_ms', 2)} | {figure('p99_ms', 2)} | {figure('cpu_us', 0)} | {row.get('note', '')[:110]} |", flush=True)


def machine():
    print(f"\nload of the machine: {' '.join(f'{x:.1f}' for x in os.getloadavg())} on {os.cpu_count()} CPUs\n", flush=True)


def header():
    print("| load | client | answered/s | mean ms | p99 ms | CPU us/request | |\n| --- | --- | --- | --- | --- | --- | --- |")


def side_by_side(args):
    machine()
    header()
    for clients in args.clients:
        show(f"{clients} clients", "deepgap", deepgap_row(args, args.url, args.model, ["--scenario", "concurrency", "--clients", str(clients)]))
        show(f"{clients} clients", "perf_analyzer", analyzer_row(args, args.url, args.model, ["--concurrency-range", str(clients), "--async"]))
    for rate in args.rates:
        show(f"{rate}/s Poisson", "deepgap", deepgap_row(args, args.url, args.model, ["--scenario", "server", "--rate", str(rate)]))
        poisson = ["--request-rate-range", str(rate), "--request-distribution", "poisson"]
        show(f"{rate}/s Poisson", "perf_analyzer --async", analyzer_row(args, args.url, args.model, [*poisson, "--async"]))
        show(f"{rate}/s Poisson", "perf_analyzer", analyzer_row(args, args.url, args.model, poisson))


def echo(args):
    cpus = sorted(os.sched_getaffinity(0))
    machine()
    with subprocess.Popen(["taskset", "-c", str(cpus[-1]), args.echo_server], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        url = server.stdout.readline().strip()
        args.prefix = ["taskset", "-c", str(cpus[0])]
        header()
        for clients in args.clients:
            row = deepgap_row(args, url, "echo", ["--scenario", "concurrency", "--clients", str(clients)])
            if row.get("cpus_used") and row.get("rate"):
                row["cpu_us"] = row["cpus_used"] * 1e6 / row["rate"]
            show(f"{clients} clients", "deepgap, one CPU", row)
        for rate in args.rates:
            row = deepgap_row(args, url, "echo", ["--scenario", "server", "--rate", str(rate)])
            if row.get("cpus_used") and row.get("rate"):
                row["cpu_us"] = row["cpus_used"] * 1e6 / row["rate"]
            row["note"] = f"lateness p99 {row.get('lateness_p99_us') or 0:.0f} us; {row.get('note', '')}"
            show(f"{rate}/s Poisson", "deepgap, one CPU", row)
        server.stdin.close()


def main():
    numbers = lambda text: [int(part) for part in text.split(",") if part]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["side-by-side", "echo"])
    parser.add_argument("--deepgap", default="build/bin/deepgap")
    parser.add_argument("--perf-analyzer")
    parser.add_argument("--echo-server", default="build/bin/echo_server")
    parser.add_argument("--url")
    parser.add_argument("--model", default="delay")
    parser.add_argument("--rates", type=numbers)
    parser.add_argument("--clients", type=numbers)
    parser.add_argument("--seconds", type=float, default=4)
    args = parser.parse_args()
    args.prefix = []
    if args.part == "echo":
        args.clients, args.rates = args.clients or [64], args.rates or [20000]
        return echo(args)
    if not args.url or not args.perf_analyzer:
        parser.error("side-by-side needs --url and --perf-analyzer")
    args.clients, args.rates = args.clients or [1, 8, 32], args.rates or [50, 200, 600]
    return side_by_side(args)


if __name__ == "__main__":
    main()
