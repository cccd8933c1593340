#!/usr/bin/env python3
"""Everything that needs an NVIDIA GPU, tried by one command. In a build tree: ctest -L gpu. In an unpacked bundle, which brings all it needs:

    python3 share/deepgap/tests/gpu/run.py            (DEEPGAP_LIBTORCH=DIR where torch is not on the Python's path)

Exit code 0: all is right; 1: something is not, named; 77: no engine has a GPU here, with the reasons. Needs Python 3.8 alone.
Usage: run.py [PROGRAM [CONFORMANCE_PROGRAM]] [--backend libtorch_cuda|native] [--keep FOLDER]"""
import csv
import ctypes
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


def rows_of(program, folder, name, *flags, backend=BACKEND):
    """Runs points and gives their records as rows of the export, and what was printed."""
    store = str(folder / f"{backend}-{name}.db")
    run = deepgap(program, "run", "--backend", backend, "--store", store, "--cache", str(folder / "cache"), "--repeats", "1",
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


def conformance(program, options, *where):
    print("conformance")
    for option in options:
        flags = ["--option", option] if option else []
        run = subprocess.run([program, *where, *flags], capture_output=True, text=True, timeout=1200)
        lines = run.stdout.splitlines()
        print("\n".join("  " + line for line in lines if "FAILED" in line or "FAULT" in line or "PASSED" in line or line.startswith("backend ")))
        check(run.returncode == 0, f"the conformance suite {option} (exit code {run.returncode})")
        if run.returncode != 0:
            print(run.stdout[-8000:], run.stderr[-4000:])


def settings(program, folder):
    print("precisions, layouts, CUDA graphs")
    rows, printed = rows_of(program, folder, "settings", "--model", MODEL, "--device", "cuda:0", "--precision", ",".join(PRECISIONS),
                            "--batch", "1,32", "--axis", "channels_last=off,on", "--axis", "cuda_graph=off,on")
    expect_all_ok(rows, printed, len(PRECISIONS) * 8, "every precision, layout and mode, checked against the FP32 reference")
    memory = {(row["precision"], row["batch"], row["options"]): float(row["device_memory_mib"] or 0) for row in rows if row["outcome"] == "ok"}
    for (precision, batch, options), mib in memory.items():
        eager = memory.get((precision, batch, options.replace("cuda_graph=on", "cuda_graph=off")), 0)
        check(mib > 0 and mib >= 0.9 * eager, f"memory of {precision} batch {batch} {options}: {mib:.0f} MiB, eager {eager:.0f}")
    below = [row["options"] for row in rows if row["outcome"] == "ok" and float(row["device_memory_reserved_mib"]) < float(row["device_memory_mib"])]
    check(not below, f"no more memory is in use than was reserved: {below}")
    rows, printed = rows_of(program, folder, "inputs", "--model", MODEL, "--device", "cuda:0", "--precision", ",".join(PRECISIONS),
                            "--batch", "3,6", "--axis", "inputs=host,device,ready", "--axis", "channels_last=off,on", "--axis", "cuda_graph=on")
    expect_all_ok(rows, printed, len(PRECISIONS) * 12, "samples in the host's memory, on the GPU, and there as the network takes them")
    rows, printed = rows_of(program, folder, "pictures", "--model", MODEL, "--device", "cuda:0", "--batch", "3", "--dataset", "pictures",
                            "--end-to-end", "serial,overlapped", "--decode-threads", "2", "--axis", "cuda_graph=off,on")
    expect_all_ok(rows, printed, 4, "from picture files, one query after the other and overlapped")
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


class OthersMemory:
    """A context of this process that holds all of the GPU's memory but `free` bytes, by the driver's own interface."""

    def __init__(self, free):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        device, self.context, available, total, place = (ctypes.c_int(), ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_size_t(), ctypes.c_uint64())
        self.require(self.cuda.cuInit(0))
        self.require(self.cuda.cuDeviceGet(ctypes.byref(device), 0))
        self.require(self.cuda.cuCtxCreate_v2(ctypes.byref(self.context), 0, device))
        self.require(self.cuda.cuMemGetInfo_v2(ctypes.byref(available), ctypes.byref(total)))
        self.require(self.cuda.cuMemAlloc_v2(ctypes.byref(place), ctypes.c_size_t(available.value - free)))

    @staticmethod
    def require(code):
        if code != 0:
            raise OSError(f"CUDA driver error {code}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.cuda.cuCtxDestroy_v2(self.context)


def memory_of_others(program, folder, backend=BACKEND):
    print("memory that another process holds")
    with OthersMemory(free=1500 << 20):
        rows, printed = rows_of(program, folder, "others", "--model", "resnet50", "--device", "cuda:0", "--batch", "1,512", backend=backend)
    by_batch = {row["batch"]: row for row in rows}
    check(by_batch.get("1", {}).get("outcome") == "ok", f"a small batch fits into what is left: {by_batch.get('1', {}).get('reason', printed)}")
    large = by_batch.get("512", {})
    check(large.get("outcome") == "out_of_memory", f"a large one is out of memory: {large.get('reason', printed)}")
    with OthersMemory(free=64 << 20):
        rows, printed = rows_of(program, folder, "nothing-left", "--model", MODEL, "--device", "cuda:0", "--batch", "1", backend=backend)
    found = rows[0] if rows else {}
    check(found.get("outcome") == "out_of_memory", f"where not even a context fits: {found.get('outcome')}, {found.get('reason', printed)}")
    rows, printed = rows_of(program, folder, "freed", "--model", MODEL, "--device", "cuda:0", "--batch", "1", backend=backend)
    expect_all_ok(rows, printed, 1, "when it is free again")


# What the CUDA runtime asks of a driver before anything else.
OLD_DRIVER = """
#include <stddef.h>
int cuInit(unsigned flags) { return 0; }
int cuDriverGetVersion(int* version) { *version = 11040; return 0; }
int cuGetProcAddress(const char* name, void** function, int version, unsigned long long flags) { *function = NULL; return 500; }
int cuGetProcAddress_v2(const char* name, void** function, int version, unsigned long long flags, int* status) {
  *function = NULL;
  return 500;
}
"""


def old_driver(program, folder):
    print("a driver of CUDA 11.4, played")
    (folder / "old").mkdir(exist_ok=True)
    source = folder / "old" / "driver.c"
    source.write_text(OLD_DRIVER)
    try:
        made = subprocess.run(["cc", "-shared", "-fPIC", "-o", str(folder / "old" / "libcuda.so.1"), str(source)], capture_output=True, text=True)
    except FileNotFoundError:
        print("  skipped: no C compiler here to make one")
        return
    check(made.returncode == 0, f"it compiles {made.stderr}")
    environment = {**os.environ, "LD_LIBRARY_PATH": f"{folder / 'old'}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
    told = subprocess.run([program, "backends", "--json"], capture_output=True, text=True, env=environment, timeout=120)
    row = {row["name"]: row for row in json.loads(told.stdout)}[BACKEND] if told.returncode == 0 else {}
    reason = row.get("reason") or ""
    check(not row.get("available", True) and "driver" in reason, f"the engine is not available: {reason or told.stderr}")


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


def native(program, folder):
    """The engine of our own: precisions, where samples lie, memory, parts of the load."""
    def rows(name, *flags):
        return rows_of(program, folder, name, "--model", MODEL, "--device", "cuda:0", "--axis", "native.tune=off", *flags, backend="native")

    print("native: precisions, CUDA graphs, places of samples")
    found, printed = rows("settings", "--precision", ",".join(PRECISIONS), "--batch", "1,32", "--axis", "native.cuda_graph=on,off")
    expect_all_ok(found, printed, len(PRECISIONS) * 4, "every precision, checked against the FP32 reference")
    for row in found:
        if row["outcome"] != "ok":
            continue
        name = f"{row['precision']} batch {row['batch']} {row['options']}"
        in_use, reserved = float(row["device_memory_mib"] or 0), float(row["device_memory_reserved_mib"] or 0)
        check(0 < in_use <= reserved, f"memory of {name}: {in_use:.1f} MiB in use, {reserved:.1f} reserved")
        parts = sum(float(row[f"compile_{part}_s"]) for part in ("lower", "kernels", "tune", "pack", "upload", "graph"))
        check(0 < parts <= float(row["compile_s"]), f"parts of the load of {name}: {parts:.3f} of {row['compile_s']} s")
    found, printed = rows("inputs", "--precision", ",".join(PRECISIONS), "--batch", "3,6", "--axis", "inputs=host,device,ready")
    expect_all_ok(found, printed, len(PRECISIONS) * 6, "samples in the host's memory, on the GPU, and there as the network takes them")
    found, printed = rows("streams", "--batch", "8", "--streams", "1,4")
    expect_all_ok(found, printed, 2, "one and four streams")
    found, printed = rows_of(program, folder, "refused", "--model", MODEL, "--device", "cuda:99", backend="native")
    check(bool(found) and found[0]["outcome"] == "refused" and "cuda:99" in found[0]["reason"], "a device that is not there is refused")


def default_programs():
    """Beside this script: in a bundle, or in the build folder of a tree."""
    for above in pathlib.Path(__file__).resolve().parents:
        for folder in (above / "bin", above / "build" / "bin"):
            if not (folder / "deepgap").is_file():
                continue
            return [str(folder / "deepgap"), str(folder / "deepgap_conformance")]
    sys.exit("run.py: no deepgap beside this script; give its path")


def backends_with_a_gpu(program, wanted):
    """Those of the two that have one, and why the others have none."""
    rows = {row["name"]: row for row in json.loads(deepgap(program, "backends", "--json").stdout)}
    found, reasons = {}, []
    for name in wanted:
        row = rows.get(name, {"available": False, "reason": "there is no such plug-in"})
        devices = row.get("devices") or []
        if row["available"] and (name == BACKEND or any(device["device"].startswith("cuda:") for device in devices)):
            found[name] = row
        else:
            absences = [device.get("properties", {}).get("cuda") for device in devices]
            reasons.append(f"{name}: {row.get('reason') or '; '.join(filter(None, absences)) or 'it has no GPU'}")
    return found, reasons


def try_libtorch(program, suite, folder):
    if suite:
        conformance(suite, ("", "channels_last=on", "cuda_graph=on", "inputs=ready"), "--backend", BACKEND)
    settings(program, folder)
    refusals(program, folder)
    memory_of_others(program, folder)
    old_driver(program, folder)
    lost_device(program, folder)


def try_native(program, suite, folder):
    native(program, folder)
    memory_of_others(program, folder, backend="native")
    if suite:
        conformance(suite, ("tune=off",), "--backend", "native", "--device", "cuda:0")


def main():
    arguments = sys.argv[1:]
    given = {"--keep": None, "--backend": None}
    for flag in given:
        if flag in arguments:
            at = arguments.index(flag)
            given[flag] = arguments[at + 1]
            del arguments[at:at + 2]
    program, *suite = arguments or default_programs()
    suite = suite[0] if suite and os.path.isfile(suite[0]) else None
    found, reasons = backends_with_a_gpu(program, [given["--backend"]] if given["--backend"] else [BACKEND, "native"])
    for reason in reasons:
        print(f"skipped: {reason}")
    if not found:
        return SKIPPED
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(given["--keep"] or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        devices(program)
        for name, row in found.items():
            print(f"{name} {row['version']}")
            (try_libtorch if name == BACKEND else try_native)(program, suite, folder)
    print("all right" if not failures else "WRONG: " + "; ".join(failures))
    return 1 if failures else 0


sys.exit(main())
