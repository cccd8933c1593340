#!/usr/bin/env python3
"""deepgap beside NVIDIA's perf_analyzer on one KServe v2 server, and deepgap's own rate against echo servers, by HTTP and by gRPC.

    remote.py all --triton .venv/triton --perf-analyzer PATH [--seconds 10] [--rounds 3]
    remote.py side-by-side --url http://127.0.0.1:8000[,grpc://127.0.0.1:8001] --model delay --perf-analyzer PATH [--rates 50,200,600] [--clients 1,8,32]
    remote.py echo [--protocols http,grpc,stream] [--clients 64] [--rate 20000] [--seconds 4]

`all` starts what it needs (build/bin/echo_server and grpc_echo_server; Triton with the models `joined`, which takes 10 ms for up to 8 requests, and `echo`) and prints everything: asked for are 20,000 requests a second from
one CPU by HTTP and 10,000 by gRPC with a p99 lateness under 1 ms, and no more CPU time a request than perf_analyzer's.
side-by-side takes turns: the same load by deepgap, by perf_analyzer --async and, at rates, by perf_analyzer as it is by itself (synchronous). Rows hold
the achieved rate, mean and p99 of latency, and CPU time of the client for each request that the server counted, its start included. perf_analyzer measures three windows, deepgap one as long as these together: their starts count alike.
`echo` pins the client to one CPU and the server to another; CPU time there is that of the measured window. Before a rate over HTTP epoll_sender, a bare loop, sends as many: where that is late or slowly answered, the machine is not quiet. The load of the machine is printed before each part: on a busy one the figures are
of the busy machine.
"""
import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import urllib.request


TRIALS = 3  # windows of perf_analyzer's


def answered(url, model):
    try:
        with urllib.request.urlopen(f"{url}/v2/models/{model}/stats", timeout=10) as answer:
            return sum(row["inference_stats"]["success"]["count"] for row in json.load(answer)["model_stats"])
    except OSError:
        return None


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def counted(command, url, model, limit=600):
    """Runs it; its output, and the CPU time in us for each request that the server answered meanwhile."""
    before, used = answered(url, model), cpu_of_children()
    result = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    cpu, after = cpu_of_children() - used, answered(url, model)
    requests = after - before if before is not None and after is not None else 0
    return result, cpu * 1e6 / requests if requests else None


def deepgap_row(args, url, model, load, http=None, windows=1):
    with tempfile.TemporaryDirectory() as folder:
        store = os.path.join(folder, "bench.db")
        command = [*args.prefix, args.deepgap, "run", "--backend", "kserve", "--device", url, "--model", model, "--store", store, "--cache", folder, "--quiet",
                   "--duration", f"{args.seconds * windows:g}s", "--axis", "connections=256", *load]
        result, cpu = counted(command, http or url, model)
        export = subprocess.run([args.deepgap, "export", store, "--format", "json"], capture_output=True, text=True)
    rows = json.loads(export.stdout) if export.returncode == 0 else []
    if not rows or rows[0].get("latency_mean_ms") is None:
        return {"note": (result.stderr.strip().splitlines() or ["no Record"])[-1]}
    row = rows[0]
    used = row.get("cpus_used")
    note = row["verdict"] if row["verdict"] in ("valid", "as_found") else f"{row['verdict']}: {row['reason']}"
    if used and row["throughput"] and not args.prefix:  # what start and end cost is in the column beside it
        note = f"{used * 1e6 / row['throughput']:.0f} us in the window; {note}"
    return {"rate": row["throughput"], "mean_ms": row["latency_mean_ms"], "p99_ms": row["latency_p99_ms"], "cpu_us": cpu, "lateness_p99_us": row.get("issue_lateness_p99_us"),
            "queue_ms": row.get("server_queue_ms"), "cpus_used": used, "note": note}


def analyzer_row(args, url, model, load, http=None, limit=600):
    command = [*args.prefix, args.perf_analyzer, "-m", model, "-i", url.split(":")[0], "-u", url.split("//")[1], "--measurement-interval", str(int(args.seconds * 1000)), "--max-trials", str(TRIALS),
               "--stability-percentage", "999", *load]  # on a busy machine it would else print nothing
    try:
        result, cpu = counted(command, http or url, model, limit)
    except subprocess.TimeoutExpired:  # what it cannot send in time it sends later
        return {"note": f"did not end within {limit:.0f} s"}
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


# What looks at the clock without pause sees when it was not let run.
PAUSES = """import sys, time
begin = last = time.monotonic_ns()
pauses = []
while last - begin < float(sys.argv[1]) * 1e9:
    now = time.monotonic_ns()
    if now - last > 500_000:
        pauses.append((now - last) / 1e6)
    last = now
print(len(pauses), sum(pauses), max(pauses, default=0))"""


def machine():
    print(f"\nload of the machine: {' '.join(f'{x:.1f}' for x in os.getloadavg())} on {os.cpu_count()} CPUs\n", flush=True)


def pauses(seconds=2):
    """Measures how long a machine keeps two busy CPUs waiting by itself: what is sent in such a pause is late, whoever sends it."""
    cpus = sorted(os.sched_getaffinity(0))
    looking = [subprocess.Popen(["taskset", "-c", str(cpu), sys.executable, "-c", PAUSES, str(seconds)], stdout=subprocess.PIPE, text=True) for cpu in (cpus[0], cpus[-1])]
    told = [one.communicate()[0].split() for one in looking]
    text = "; ".join(f"{count} pauses over 0.5 ms, together {float(whole):.1f}, longest {float(longest):.1f} ms" for count, whole, longest in told)
    print(f"| both CPUs busy for {seconds} s | nobody | | | | | {text} |", flush=True)


def header():
    print("| load | client | answered/s | mean ms | p99 ms | CPU us/request | |\n| --- | --- | --- | --- | --- | --- | --- |")


def side_by_side(args):
    urls = args.url.split(",")
    http = next((url for url in urls if url.startswith("http")), None)  # which counts what was answered
    machine()
    header()
    for _ in range(args.rounds):
        for url in urls:
            turns(args, url, http)


def turns(args, url, http):
    by = url.split(":")[0]
    for clients in args.clients:
        load = f"{by}, {args.model}, {clients} clients"
        show(load, "deepgap", deepgap_row(args, url, args.model, ["--scenario", "concurrency", "--clients", str(clients)], http, TRIALS))
        if by == "grpc":
            show(load, "deepgap, streams", deepgap_row(args, url, args.model, ["--scenario", "concurrency", "--clients", str(clients), "--axis", "stream=on"], http, TRIALS))
        show(load, "perf_analyzer", analyzer_row(args, url, args.model, ["--concurrency-range", str(clients), "--async"], http))
        if by == "grpc":
            show(load, "perf_analyzer, streams", analyzer_row(args, url, args.model, ["--concurrency-range", str(clients), "--async", "--streaming"], http))
    for rate in args.rates:
        load = f"{by}, {args.model}, {rate}/s Poisson"
        show(load, "deepgap", deepgap_row(args, url, args.model, ["--scenario", "server", "--rate", str(rate)], http, TRIALS))
        poisson = ["--request-rate-range", str(rate), "--request-distribution", "poisson"]
        show(load, "perf_analyzer --async", analyzer_row(args, url, args.model, [*poisson, "--async"], http))
        show(load, "perf_analyzer", analyzer_row(args, url, args.model, poisson, http))


ECHO = {"http": ("echo_server", 20000, []), "grpc": ("grpc_echo_server", 10000, []), "stream": ("grpc_echo_server", 10000, ["--axis", "stream=on"])}


def echo(args):
    machine()
    header()
    for protocol in args.protocols:
        name, asked, more = ECHO[protocol]
        program = os.path.join(args.programs, name)
        if not os.path.exists(program):
            print(f"| {protocol} | left out: {program} is not there (ninja -C build {name}) |")
            continue
        for _ in range(args.rounds):
            pauses()
            echo_rows(args, protocol, program, args.rates or [asked], more)


def echo_rows(args, protocol, program, rates, more):
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) > 2:
        cpus = cpus[1:]  # on the first it was late by tens of ms (docs/reference/engines/kserve.md)
    pinned = argparse.Namespace(**{**vars(args), "prefix": ["taskset", "-c", str(cpus[0])]})

    def row(load, who, measure):
        """Uses a server of its own, which says at its end how many inputs it sent back: CPU time is the client's from start to end, over them."""
        with subprocess.Popen(["taskset", "-c", str(cpus[-1]), program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
            used = cpu_of_children()
            found = measure(server.stdout.readline().strip())
            used = cpu_of_children() - used  # the server is not waited for yet
            server.stdin.close()
            requests = int(server.stdout.read().split()[-1])
        if requests:
            found["cpu_us"] = used * 1e6 / requests
        show(f"{protocol} echo, {load}", who, found)

    def ours(*arguments):
        def measure(url):
            found = deepgap_row(pinned, url, "echo", [*arguments, *more], "http://127.0.0.1:9")  # counts nothing
            if found.get("cpus_used") and found.get("rate"):
                found["note"] = f"{found['cpus_used'] * 1e6 / found['rate']:.0f} us in the window; {found['note']}"
            if found.get("lateness_p99_us") is not None:
                found["note"] = f"lateness p99 {found['lateness_p99_us']:.0f} us; {found['note']}"
            return found
        return measure

    def theirs(*arguments):
        streaming = ["--streaming"] if protocol == "stream" else []
        return lambda url: analyzer_row(pinned, url, "echo", [*arguments, "--async", *streaming], "http://127.0.0.1:9", limit=20 * args.seconds)

    for clients in args.clients or [64]:
        row(f"{clients} clients", "deepgap, one CPU", ours("--scenario", "concurrency", "--clients", str(clients)))
        if args.perf_analyzer:
            row(f"{clients} clients", "perf_analyzer, one CPU", theirs("--concurrency-range", str(clients)))
    for rate in rates:
        if protocol == "http":
            bare_row(pinned, program, cpus[-1], rate)
        row(f"{rate}/s Poisson", "deepgap, one CPU", ours("--scenario", "server", "--rate", str(rate)))
        if args.perf_analyzer:
            row(f"{rate}/s Poisson", "perf_analyzer --async, one CPU", theirs("--request-rate-range", str(rate), "--request-distribution", "poisson"))


def bare_row(args, echo_server, cpu, rate):
    """Measures what the machine lets a bare loop do at that moment: the second instrument beside deepgap's lateness."""
    program = os.path.join(args.programs, "epoll_sender")
    load = f"http echo, {rate}/s Poisson"
    if not os.path.exists(program):
        return show(load, "epoll_sender", {"note": f"left out: {program} is not there (ninja -C build epoll_sender)"})
    with subprocess.Popen(["taskset", "-c", str(cpu), echo_server], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        url = server.stdout.readline().strip()
        result = subprocess.run([*args.prefix, program, url, str(rate), f"{args.seconds:g}"], capture_output=True, text=True)
        server.stdin.close()
    if result.returncode != 0:
        return show(load, "epoll_sender", {"note": result.stderr.strip() or f"exit code {result.returncode}"})
    answered, mean, p99, late, latest = map(float, result.stdout.split())
    show(load, "epoll_sender", {"rate": answered, "mean_ms": mean, "p99_ms": p99, "note": f"lateness p99 {late:.0f} us, largest {latest:.0f}"})


def everything(args):
    """Echo servers, then a Triton of our own by both protocols."""
    echo(argparse.Namespace(**{**vars(args), "clients": None, "rates": None}))
    tests = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "cli")
    sys.path.insert(0, tests)
    sys.argv = [sys.argv[0], args.deepgap, args.triton]  # as the test reads them
    from triton_test import Triton
    with tempfile.TemporaryDirectory() as folder:
        triton = Triton(folder)
        triton.start()
        try:
            args.url = f"{triton.url},grpc://127.0.0.1:{triton.grpc_port}"
            for args.model in args.models:
                side_by_side(args)
        finally:
            triton.stop()


def main():
    numbers = lambda text: [int(part) for part in text.split(",") if part]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["all", "side-by-side", "echo"])
    parser.add_argument("--deepgap", default="build/bin/deepgap")
    parser.add_argument("--perf-analyzer")
    parser.add_argument("--programs", default="build/bin", help="folder of echo_server and grpc_echo_server")
    parser.add_argument("--protocols", type=lambda text: text.split(","), default=list(ECHO))
    parser.add_argument("--triton", help="virtual environment with requirements-triton.txt")
    parser.add_argument("--url")
    parser.add_argument("--model", default="delay")
    parser.add_argument("--models", type=lambda text: text.split(","), default=["joined", "echo"], help="of the Triton that `all` starts")
    parser.add_argument("--rates", type=numbers)
    parser.add_argument("--clients", type=numbers)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--rounds", type=int, default=1)
    args = parser.parse_args()
    args.prefix = []
    if args.part == "echo":
        return echo(args)
    if not args.perf_analyzer or not (args.triton if args.part == "all" else args.url):
        parser.error("side-by-side needs --url, all needs --triton, and both --perf-analyzer")
    args.clients, args.rates = args.clients or [1, 8, 32], args.rates or [50, 200, 600]
    return everything(args) if args.part == "all" else side_by_side(args)


if __name__ == "__main__":
    main()
