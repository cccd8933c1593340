#!/usr/bin/env python3
"""Everything that needs an NVIDIA GPU, tried by one command. In a build tree: ctest -L gpu. In an unpacked bundle, which brings all it needs:

    python3 share/deepgap/tests/gpu/run.py            (DEEPGAP_LIBTORCH=DIR where torch is not on the Python's path)

Exit code 0: all is right; 1: something is not, named; 77: there is no GPU or no LibTorch here, with the reason. Needs Python 3.8 alone.
Usage: run.py [PROGRAM [CONFORMANCE_PROGRAM]] [--keep FOLDER]"""
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77
BACKEND = "libtorch_cuda"
MODEL = "resnet18:width=0.25,classes=10,image=64"
PRECISIONS = ["fp32", "tf32", "fp16", "bf16", "mixed"]

failures = []


def check(good, what):
    print(f"  {'ok' if good else 'WRONG'}  {what}", flush=True)
    if not good:
        failures.append(what)


def deepgap(program, *arguments, timeout=600):
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=timeout)


def rows_of(program, folder, name, *flags):
    """Runs points and gives their records as rows of the export, and what was printed."""
    store = str(folder / f"{name}.db")
    run = deepgap(program, "run", "--backend", BACKEND, "--store", store, "--cache", str(folder / "cache"), "--repeats", "1",
                  "--iterations", "30", "--warmup", "5", *flags)
    exported = deepgap(program, "export", store, "--format", "csv")
    rows = list(csv.DictReader(exported.stdout.splitlines())) if exported.returncode == 0 else []
    return rows, run.stdout + run.stderr


def outcomes(rows):
    return [f"{row['precision']} batch {row['batch']} {row['options']}: {row['outcome']} {row['reason']}" for row in rows]


def expect_all_ok(rows, printed, count, what):
    good = len(rows) == count and all(row["outcome"] == "ok" for row in rows)
    check(good, f"{what}: {count} records ok")
    if not good:
        print("\n".join(outcomes([row for row in rows if row["outcome"] != "ok"])) or printed)


def devices(program):
    print("devices")
    found = [row for row in json.loads(deepgap(program, "devices", "--json").stdout) if row["device"].startswith("cuda:")]
    check(bool(found), "there is a CUDA device")
    for row in found:
        print(f"  {row['device']} {row['name']} {row['memory_bytes']} bytes {row.get('properties')}")
        check(row["memory_bytes"] > 0, f"{row['device']} tells its memory")
        for name in ("multiprocessors", "compute_capability", "driver_cuda"):
            check(name in row.get("properties", {}), f"{row['device']} tells {name}")


def conformance(program):
    print("conformance")
    for option in ("", "channels_last=on", "cuda_graph=on", "inputs=ready"):
        flags = ["--option", option] if option else []
        run = subprocess.run([program, "--backend", BACKEND, *flags], capture_output=True, text=True, timeout=1200)
        lines = run.stdout.splitlines()
        print("\n".join("  " + line for line in lines if "FAILED" in line or "PASSED" in line or line.startswith("backend ")))
        check(run.returncode == 0, f"the conformance suite {option} (exit code {run.returncode})")
        if run.returncode != 0:
            print(run.stdout[-8000:], run.stderr[-4000:])


def settings(program, folder):
    print("precisions, layouts, CUDA graphs")
    rows, printed = rows_of(program, folder, "settings", "--model", MODEL, "--device", "cuda:0", "--precision", ",".join(PRECISIONS),
                            "--batch", "1,32", "--axis", "channels_last=off,on", "--axis", "cuda_graph=off,on")
    expect_all_ok(rows, printed, len(PRECISIONS) * 8, "every precision, layout and mode, checked against the FP32 reference")
    for row in rows:
        if row["outcome"] == "ok" and row["device_memory_mib"] in ("", "0"):
            check(False, f"device memory of {row['precision']} batch {row['batch']}")
    rows, printed = rows_of(program, folder, "inputs", "--model", MODEL, "--device", "cuda:0", "--precision", ",".join(PRECISIONS),
                            "--batch", "3,6", "--axis", "inputs=host,device,ready", "--axis", "channels_last=off,on", "--axis", "cuda_graph=on")
    expect_all_ok(rows, printed, len(PRECISIONS) * 12, "samples in the host's memory, on the GPU, and there as the network takes them")
    rows, printed = rows_of(program, folder, "streams", "--model", MODEL, "--device", "cuda:0", "--batch", "8", "--streams", "1,4",
                            "--axis", "cuda_graph=off,on")
    expect_all_ok(rows, printed, 4, "one and four streams")


def refusals(program, folder):
    print("refusals and faults")
    for flags, words in ((["--precision", "int8"], "int8"), (["--device", "cuda:99"], "cuda:99"), (["--device", "cpu"], "cpu")):
        device = [] if "--device" in flags else ["--device", "cuda:0"]
        rows, printed = rows_of(program, folder, "refused" + words.replace(":", ""), "--model", MODEL, *device, *flags)
        reason = rows[0]["reason"] if rows else printed
        check(bool(rows) and rows[0]["outcome"] == "refused" and words in reason, f"refused with its reason: {reason.strip()}")
    rows, printed = rows_of(program, folder, "memory", "--model", "resnet50", "--device", "cuda:0", "--batch", "1,512", "--axis",
                            "env.PYTORCH_CUDA_ALLOC_CONF=per_process_memory_fraction:0.005")
    by_batch = {row["batch"]: row for row in rows}
    check(by_batch.get("1", {}).get("outcome") == "ok", "a small batch fits into half a percent of the memory")
    large = by_batch.get("512", {})
    check(large.get("outcome") == "out_of_memory", f"a large one is out of memory, and the run goes on: {large.get('reason', printed)}")


# The first query faults in a kernel; only TorchScript can be made to do that.
FAULT = """
import sys, torch
class Faulty(torch.nn.Module):
    def forward(self, x):
        y = torch.zeros([x.shape[0], 10], device=x.device)
        place = ((x.flatten()[0] != 0).long() * 1000000).reshape([1])  # what loading tries it on, zeros, is right
        return y + torch.index_select(y, 1, place)[:, 0:1]
torch.jit.save(torch.jit.script(Faulty()), sys.argv[1])
"""


def lost_device(program, folder):
    print("lost device")
    path = folder / "faulty.pt"
    script = folder / "faulty.py"  # TorchScript reads its source from a file
    script.write_text(FAULT)
    made = subprocess.run([sys.executable, str(script), str(path)], capture_output=True, text=True)
    if made.returncode != 0:
        print("  skipped: this Python has no working torch to make a faulty package:", (made.stderr.strip().splitlines() or ["?"])[-1])
        return
    rows, printed = rows_of(program, folder, "lost", "--model", MODEL, "--device", "cuda:0", "--batch", "1", "--axis", f"package={path}")
    found = rows[0] if rows else {}
    check(found.get("outcome") == "device_lost", f"a kernel that faults: {found.get('outcome')}, {found.get('reason', printed)}")
    rows, printed = rows_of(program, folder, "afterwards", "--model", MODEL, "--device", "cuda:0", "--batch", "1")
    expect_all_ok(rows, printed, 1, "the next point, in a fresh worker")


def default_programs():
    """Beside this script: in a bundle, or in the build folder of a tree."""
    for above in pathlib.Path(__file__).resolve().parents:
        for folder in (above / "bin", above / "build" / "bin"):
            if not (folder / "deepgap").is_file():
                continue
            return [str(folder / "deepgap"), str(folder / "deepgap_conformance")]
    sys.exit("run.py: no deepgap beside this script; give its path")


def main():
    arguments = sys.argv[1:]
    keep = None
    if "--keep" in arguments:
        at = arguments.index("--keep")
        keep = pathlib.Path(arguments[at + 1])
        del arguments[at:at + 2]
    program, *suite = arguments or default_programs()
    rows = {row["name"]: row for row in json.loads(deepgap(program, "backends", "--json").stdout)}
    row = rows.get(BACKEND, {"available": False, "reason": "there is no such plug-in"})
    if not row["available"]:
        print(f"skipped: {BACKEND}: {row['reason']}")
        return SKIPPED
    print(f"{BACKEND} {row['version']}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        devices(program)
        if suite and os.path.isfile(suite[0]):
            conformance(suite[0])
        settings(program, folder)
        refusals(program, folder)
        lost_device(program, folder)
    print("all right" if not failures else "WRONG: " + "; ".join(failures))
    return 1 if failures else 0


sys.exit(main())
