"""PyTorch's own packages, run by the libtorch backend: a ResNet-18 is built in Python, its weights go to deepgap as safetensors, and the same
network as TorchScript and as an AOTInductor package must give what deepgap's reference gives.

Needs torch with the packages of requirements-torch-python.txt (`./check --full` installs them); otherwise it says what is missing and is skipped.
Usage: torch_package_test.py PROGRAM STUBS     STUBS: empty libraries in place of those of CUDA that torch asks for and a CPU does not need"""
import csv
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

SKIPPED = 77
PROGRAM, STUBS = sys.argv[1:3]
MODEL = "resnet18:width=0.25,classes=10,image=64"

# The libraries are looked for when the process starts. deepgap itself does without the stubs.
OWN = "DEEPGAP_TEST_LIBRARY_PATH"
if OWN not in os.environ:
    os.environ[OWN] = os.environ.get("LD_LIBRARY_PATH", "")
    os.environ["LD_LIBRARY_PATH"] = ":".join([STUBS, "/usr/local/cuda/lib64", os.environ[OWN]])
    os.execv(sys.executable, [sys.executable, *sys.argv])

sys.setdlopenflags(os.RTLD_LAZY)  # what the stubs lack is never called
try:
    import torch
    from torch import nn
except Exception as missing:  # pylint: disable=broad-except
    print(f"skipped: Python's torch does not load: {str(missing).splitlines()[-1]}")
    sys.exit(SKIPPED)


class Block(nn.Module):
    def __init__(self, channels_in, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.downsample = None
        if stride != 1 or channels_in != channels:
            self.downsample = nn.Sequential(nn.Conv2d(channels_in, channels, 1, stride, bias=False), nn.BatchNorm2d(channels))

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet18(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        channels = [int(c * width) for c in (64, 128, 256, 512)]
        self.conv1 = nn.Conv2d(3, channels[0], 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(channels[0])
        before = channels[0]
        for i, after in enumerate(channels):
            setattr(self, f"layer{i + 1}", nn.Sequential(Block(before, after, 1 if i == 0 else 2), Block(after, after, 1)))
            before = after
        self.fc = nn.Linear(before, classes)

    def forward(self, x):
        x = torch.max_pool2d(torch.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(nn.functional.adaptive_avg_pool2d(x, 1), 1))


def write_safetensors(path, tensors):
    header, blobs, at = {}, [], 0
    for name, tensor in tensors.items():
        if name.endswith("num_batches_tracked"):
            continue
        blob = struct.pack(f"<{tensor.numel()}f", *tensor.flatten().tolist())
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [at, at + len(blob)]}
        blobs.append(blob)
        at += len(blob)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def run(folder, name, *flags):
    """The rows of the records that a run leaves, its outputs checked before it is timed."""
    store = str(folder / f"{name}.db")
    own = {**os.environ, "LD_LIBRARY_PATH": os.environ[OWN]}
    done = subprocess.run([PROGRAM, "run", "--model", MODEL, "--backend", "libtorch", "--weights", str(folder / "weights.safetensors"),
                           "--batch", "2", "--iterations", "5", "--warmup", "1", "--repeats", "1", "--store", store, "--cache",
                           str(folder / "cache"), *flags], capture_output=True, text=True, timeout=300, env=own)
    exported = subprocess.run([PROGRAM, "export", store], capture_output=True, text=True, timeout=60, env=own)
    rows = list(csv.DictReader(exported.stdout.splitlines()))
    return rows, done.stdout + done.stderr


def main():
    torch.manual_seed(1)
    network = ResNet18(0.25, 10).eval()
    example = torch.rand(2, 3, 64, 64)
    failures = []
    with tempfile.TemporaryDirectory() as temporary, torch.inference_mode():
        folder = pathlib.Path(temporary)
        write_safetensors(folder / "weights.safetensors", network.state_dict())
        torch.jit.save(torch.jit.trace(network, example), str(folder / "network.pt"))
        packages = {"graph": [], "TorchScript": [f"package={folder}/network.pt"]}
        try:
            if not os.environ.get("DEEPGAP_LONG_TESTS"):
                raise RuntimeError("compiling takes a minute: with ./check --full")
            exported = torch.export.export(network, (example,))
            torch._inductor.aoti_compile_and_package(exported, package_path=str(folder / "network.pt2"))
            packages["AOTInductor"] = [f"package={folder}/network.pt2"]
        except Exception as missing:  # pylint: disable=broad-except
            print(f"AOTInductor is left out: {str(missing).splitlines()[-1]}")
        for name, axes in packages.items():
            rows, printed = run(folder, name, *[flag for axis in axes for flag in ("--axis", axis)])
            good = len(rows) == 1 and rows[0]["outcome"] == "ok"
            print(f"{name}: {rows[0]['outcome'] + ' ' + rows[0]['reason'] if rows else printed}")
            if not good:
                failures.append(name)
    print("all right" if not failures else "WRONG: " + "; ".join(failures))
    return 1 if failures else 0


sys.exit(main())
