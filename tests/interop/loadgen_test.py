#!/usr/bin/env python3
"""`deepgap schedule` against LoadGen itself, with settings drawn at random. Arguments: the program [number of cases [seed]].

LoadGen is a dependency of this test only: the Python package mlcommons-loadgen, 6.0.6 or later. Every case is a process of its own."""
import csv
import importlib.util
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

COLUMNS = ["query_seq", "sample_seq", "sample_index"]


def smallest_set(settings):
    if settings["mode"] == "perf":
        return settings["performance_sample_count"]
    samples = min(settings["total_sample_count"], settings.get("accuracy_sample_count", settings["total_sample_count"]))
    return samples % settings["performance_sample_count"] or settings["performance_sample_count"]


def draw_settings(random_):
    scenario = random_.choice(["SingleStream", "MultiStream", "Server", "Offline"])
    mode = random_.choice(["perf", "perf", "perf", "acc", "submission"])
    total = random_.choice([1, 2, random_.randint(1, 50), random_.randint(51, 5000), random_.randint(65530, 65540)])
    performance = random_.choice([total, random_.randint(1, total), random_.randint(max(1, total // 4), total)])
    if mode != "perf":  # LoadGen issues every set: not too many of them
        performance = max(performance, total // 7, 1)
    way = random_.choice(["", "", "", "equal_issue", "issue_unique", "issue_same"])
    settings = {
        "loadgen": "6.0.17", "scenario": scenario, "mode": mode,
        "qsl_rng_seed": random_.getrandbits(64), "sample_index_rng_seed": random_.getrandbits(64),
        "schedule_rng_seed": random_.getrandbits(64), "total_sample_count": total, "performance_sample_count": performance,
        "min_duration_ms": random_.choice([0, 1, random_.randint(1, 30)]), "min_query_count": random_.choice([1, random_.randint(1, 3000)]),
        "max_query_count": 0, "target_qps": random_.choice([1e5, random_.uniform(2e4, 1e6)]),
        "expected_latency_ns": random_.randint(500, 50000), "samples_per_query": random_.randint(1, 20),
        "equal_issue": int(way == "equal_issue"), "issue_unique": int(way == "issue_unique"), "issue_same": int(way == "issue_same"),
        "issue_same_index": 0,
    }
    if random_.random() < 0.3:
        settings["accuracy_sample_count"] = random_.randint(1, total)
    if way == "issue_same":
        settings["issue_same_index"] = random_.randrange(smallest_set(settings))
    if random_.random() < 0.4:
        settings["accuracy_log_rng_seed"] = random_.getrandbits(64)
        settings["accuracy_log_sampling_target"] = random_.randint(1, 300)
    elif random_.random() < 0.3:
        settings["accuracy_log_probability"] = random_.random()
    return settings


def loadgen_settings(lg, settings):
    s = lg.TestSettings()
    s.scenario = getattr(lg.TestScenario, settings["scenario"])
    s.mode = {"perf": lg.TestMode.PerformanceOnly, "acc": lg.TestMode.AccuracyOnly, "submission": lg.TestMode.SubmissionRun}[settings["mode"]]
    for key in ("qsl_rng_seed", "sample_index_rng_seed", "schedule_rng_seed", "min_duration_ms", "min_query_count", "max_query_count"):
        setattr(s, key, settings[key])
    for key in ("accuracy_log_rng_seed", "accuracy_log_sampling_target", "accuracy_log_probability"):
        setattr(s, key, settings.get(key, 0))
    s.accuracy_sample_count_override = settings.get("accuracy_sample_count", 0)
    s.server_target_qps = s.offline_expected_qps = settings["target_qps"]
    s.single_stream_expected_latency_ns = s.multi_stream_expected_latency_ns = settings["expected_latency_ns"]
    s.multi_stream_samples_per_query = settings["samples_per_query"]
    s.sample_concatenate_permutation = bool(settings["equal_issue"])
    s.performance_issue_unique = bool(settings["issue_unique"])
    s.performance_issue_same = bool(settings["issue_same"])
    s.performance_issue_same_index = settings["issue_same_index"]
    return s


def run_loadgen(settings, folder):
    """What LoadGen loads and issues, with a system that answers at once."""
    import mlperf_loadgen as lg

    sets, issued = [], []

    def issue(samples):
        issued.append([sample.index for sample in samples])
        lg.QuerySamplesComplete([lg.QuerySampleResponse(sample.id, 0, 0) for sample in samples])

    sut = lg.ConstructSUT(issue, lambda: None)
    qsl = lg.ConstructQSL(settings["total_sample_count"], settings["performance_sample_count"], lambda s: sets.append(list(s)), lambda s: None)
    log = lg.LogSettings()
    output = lg.LogOutputSettings()
    output.outdir = folder
    output.copy_summary_to_stdout = False
    log.log_output = output
    log.enable_trace = False
    lg.StartTestWithLogSettings(sut, qsl, loadgen_settings(lg, settings), log)
    json.dump({"sets": sets, "issued": issued}, open(os.path.join(folder, "seen.json"), "w"))


def rows(program, path, *flags):
    run = subprocess.run([program, "schedule", "--settings", path, *flags], capture_output=True, text=True, timeout=120)
    if run.returncode != 0:
        raise AssertionError(f"exit {run.returncode}: {run.stderr}")
    return list(csv.DictReader(run.stdout.splitlines()))


def compare(program, settings, path, seen):
    sets = [[] for _ in seen["sets"]]
    for row in rows(program, path, "--loaded-sets"):
        if int(row["set"]) >= len(sets):
            return "more loaded sets than LoadGen's"
        sets[int(row["set"])].append(int(row["sample_index"]))
    if sets != seen["sets"]:
        return "loaded sets differ"
    ours = [tuple(int(row[column]) for column in COLUMNS) for row in rows(program, path)]
    theirs = []
    for query, samples in enumerate(seen["issued"]):
        theirs += [(query, len(theirs) + i, index) for i, index in enumerate(samples)]
    ends_by_time = settings["scenario"] in ("SingleStream", "MultiStream") and settings["mode"] != "acc"
    if not ends_by_time and len(ours) != len(theirs):
        return f"{len(ours)} samples, LoadGen {len(theirs)}"
    if ours[:len(theirs)] != theirs:
        at = next((i for i, pair in enumerate(zip(ours, theirs)) if pair[0] != pair[1]), len(ours))
        return f"sample {at}: {ours[at:at + 3]}, LoadGen {theirs[at:at + 3]}"
    return ""


def case(program, settings):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.json")
        pathlib.Path(path).write_text(json.dumps(settings))
        run = subprocess.run([sys.executable, __file__, "--loadgen", path], capture_output=True, text=True, timeout=120)
        if run.returncode != 0:
            return f"LoadGen ended with {run.returncode}: {run.stderr[-300:]}"
        return compare(program, settings, path, json.loads(pathlib.Path(folder, "seen.json").read_text()))


def main():
    if sys.argv[1] == "--loadgen":
        run_loadgen(json.loads(pathlib.Path(sys.argv[2]).read_text()), os.path.dirname(sys.argv[2]))
        return
    if importlib.util.find_spec("mlperf_loadgen") is None:
        print("left out: the Python package mlcommons-loadgen is not installed")
        sys.exit(77)
    program, cases = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 40
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.SystemRandom().getrandbits(32)
    print(f"seed {seed}", flush=True)
    random_ = random.Random(seed)
    failed = 0
    for _ in range(cases):
        settings = draw_settings(random_)
        fault = case(program, settings)
        if fault:
            failed += 1
            print(f"FAILED: {fault}\n  {json.dumps(settings)}", flush=True)
    print(f"{cases - failed} of {cases} cases as LoadGen")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
