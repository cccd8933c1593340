#!/usr/bin/env python3
"""The charts of docs/results and docs/explanation, and one of docs/how-to, from the stores and tables in docs/results.

    tools/charts.py write [NAME ...] [--program build/bin/deepgap]     # without NAME: all of them
    tools/charts.py check [NAME ...] [--program build/bin/deepgap]     # exit code 1 if a file is not what would be written

The chart of README is drawn from docs/results/showcase/*.csv (bench/peers/showcase.py) where there is one, else from the grids of the H200."""
import argparse
import csv
import json
import math
import pathlib
import subprocess
import sys

import svg_chart

ROOT = pathlib.Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs/results"
# Student's t, 97.5 %, by degrees of freedom from 1.
T_975 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086)
ENGINES = ("deepgap native", "PyTorch eager", "PyTorch CUDA graph", "PyTorch torch.compile")


def table(name):
    with open(RESULTS / name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


class Stores:
    def __init__(self, program):
        self.program, self.read = str(program), {}

    def points(self, name, **wanted):
        """Rows of `deepgap export --by point`, or of a table that it wrote, whose columns have these values. `option` is a part of the column `options`."""
        if name.endswith(".csv"):
            self.read[name] = table(name)
        elif name not in self.read:
            done = subprocess.run([self.program, "export", str(RESULTS / name), "--by", "point", "--format", "csv"], capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"charts.py: {done.stderr.strip()}")
            self.read[name] = list(csv.DictReader(done.stdout.splitlines()))
        option = wanted.pop("option", "")
        return [row for row in self.read[name] if row["outcome"] == "ok" and option in row["options"]
                and all(row[key] == str(value) for key, value in wanted.items())]

    def value(self, name, **wanted):
        """Throughput of the one point that is meant, with its interval."""
        rows = self.points(name, **wanted)
        if len(rows) != 1:
            sys.exit(f"charts.py: {len(rows)} points of {name} have {wanted}")
        return numbers(rows[0])


    def predictions(self, *arguments):
        done = subprocess.run([self.program, "predict", *arguments, "--json"], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"charts.py: {done.stderr.strip()}")
        return json.loads(done.stdout)


def numbers(row):
    low, high = row["throughput_ci_low"], row["throughput_ci_high"]
    return float(row["throughput"]), float(low) if low else None, float(high) if high else None


def geometric(values):
    """Mean and 95 % interval of positive values on logarithms."""
    logs = [math.log(value) for value in values]
    mean = sum(logs) / len(logs)
    if len(logs) < 2:
        return math.exp(mean), None, None
    deviation = math.sqrt(sum((log - mean) ** 2 for log in logs) / (len(logs) - 1))
    half = T_975[min(len(logs) - 2, len(T_975) - 1)] * deviation / math.sqrt(len(logs))
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def measured_showcase(path):
    """Title, panels and footnotes from a table of bench/peers/showcase.py."""
    lines = path.read_text(encoding="utf-8").splitlines()
    head = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# "))
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    panels = []
    for batch in sorted({int(row["batch"]) for row in rows}):
        bars = []
        for colour, engine in enumerate(ENGINES):
            values = [float(row["items_per_s"]) for row in rows if row["engine"] == engine and int(row["batch"]) == batch]
            if values:
                bars.append((engine, colour, *geometric(values)))
        panels.append((f"batch {batch}", bars))
    verdicts = [row["verdict"] for row in rows if row["verdict"]]
    valid = f"{verdicts.count('valid')} of {len(verdicts)} native windows valid"
    rounds = len({row["round"] for row in rows})
    names = {"resnet18": "ResNet-18", "resnet50": "ResNet-50", "resnet101": "ResNet-101"}
    title = f"{names.get(rows[0]['model'], rows[0]['model'])}, {rows[0]['precision'].upper()}, {head['device']}: images/s, more is better"
    return title, panels, (f"Mean of {rounds} interleaved rounds with its 95 % interval; {valid}; inputs on the GPU, channels last.",
                           f"PyTorch {head['pytorch']}, driver {head['driver']}, {head['date']}; {head['deepgap']}; bench/peers/showcase.py.")


def grid_showcase(stores):
    """The same from stores of different days, as long as nothing interleaved was measured."""
    panels = []
    for batch in (1, 32, 256):
        of = {"model": "resnet50", "precision": "fp16", "batch": batch}
        panels.append((f"batch {batch}", [
            ("deepgap native", 0, *stores.value("h200-native/grid.db", **of)),
            ("LibTorch eager", 1, *stores.value("h200-libtorch/h200.db", option="cuda_graph=off", **of)),
            ("LibTorch CUDA graph", 2, *stores.value("h200-libtorch/h200.db", option="cuda_graph=on", **of))]))
    return ("ResNet-50, FP16, NVIDIA H200: images/s, more is better", panels,
            ("95 % intervals: three processes; CUDA graph: one process. Inputs on the GPU, channels last. Windows of one second.",
             "Not interleaved: two cards of the kind, 2026-11-26 and 2026-11-21. docs/results/h200.md has the commands."))


def showcase(stores, theme):
    tables = sorted((RESULTS / "showcase").glob("*.csv"))
    title, panels, footnotes = measured_showcase(tables[0]) if tables else grid_showcase(stores)
    return svg_chart.bar_panels(title, panels, footnotes, theme)


def precisions(stores):
    """By precision at batch 256: the overview of the results."""
    panels = []
    for device, native, libtorch in (("H100", "h100-native/grid.db", "h100-native/grid.db"), ("H200", "h200-native/grid.db", "h200-libtorch/h200.db")):
        bars = []
        for precision in ("int8", "fp16", "tf32", "fp32"):
            of = {"model": "resnet50", "precision": precision, "batch": 256}
            bars.append((f"native {precision}", 0, *stores.value(native, backend="native", option="native.tune=off", **of)))
            if precision != "int8":
                bars.append((f"LibTorch {precision}", 1, *stores.value(libtorch, backend="libtorch_cuda", option="cuda_graph=on", **of)))
        panels.append((f"NVIDIA {device}", bars))
    for _, bars in panels:  # the interval of one window at a card's power limit says nothing about the card
        bars[:] = [(*bar[:3], *(bar[3:] if bar[4] and bar[4] < 1.3 * bar[2] else (None, None))) for bar in bars]
    return svg_chart.bar_panels("ResNet-50, batch 256: images/s by precision, native and LibTorch (CUDA graph)", panels,
                                ("H200 native: three processes, 95 % interval. All others: one process; windows of one second. LibTorch has no INT8.",
                                 "LibTorch and native were measured on different days and cards of the kind."))


def by_batch(stores, device, native, libtorch, note):
    series = []
    for colour, precision in enumerate(("int8", "fp16", "tf32", "fp32")):
        for backend, store, option in (("native", native, "native.tune=off"), ("libtorch_cuda", libtorch, "cuda_graph=on")):
            rows = stores.points(store, backend=backend, model="resnet50", precision=precision, option=option)
            points = sorted((int(row["batch"]), float(row["throughput"]), None, None) for row in rows)
            if points:
                series.append((f"{'native' if backend == 'native' else 'LibTorch'} {precision}", (0, 3, 4, 2)[colour], backend != "native", points))
    return svg_chart.log_lines(f"ResNet-50 on an {device}: images/s over the batch", "batch", "images/s", series, note)


def h100(stores):
    return by_batch(stores, "NVIDIA H100", "h100-native/points.csv", "h100-native/points.csv",
                    ("Solid: native. Dashed: LibTorch 2.11, CUDA graph. One process a point, windows of one second.",))


def h200(stores):
    return by_batch(stores, "NVIDIA H200", "h200-native/points.csv", "h200-libtorch/h200.db",
                    ("Solid: native, mean of three processes. Dashed: LibTorch 2.11, CUDA graph, one process. Windows of one second.",))


def four_gpus(stores):
    panels, all_four = [], "cuda:0+cuda:1+cuda:2+cuda:3"
    devices = [("cuda:0", "1 GPU", 0), ("cuda:0+cuda:1", "2 GPUs", 0), ("cuda:0+cuda:1+cuda:2", "3 GPUs", 0), (all_four, "4 GPUs", 0),
               (f"4p:{all_four}", "4, a process each", 1)]
    for title, option in (("FP32 inputs in host memory", "inputs=host;"), ("inputs on the cards", "inputs=ready;")):  # the first names the rows of both
        bars = []
        for device, label, colour in devices:
            for row in stores.points("four-gpus/four-gpus.db", model="resnet50", scenario="offline", precision="int8", device=device, option=option):
                value, low, high = numbers(row)
                over_runs = int(row["repeats"]) > 2  # two runs or one say too little about an interval
                bars.append((label, colour, value, low if over_runs else None, high if over_runs else None))
        panels.append((title, bars))
    return svg_chart.bar_panels("ResNet-50 in INT8 on one to four H100: images/s, Offline, batch 256", panels,
                                ("Windows of two seconds, an axis for each side. Bars with a 95 % interval: three runs; the others: one or two runs. 2026-11-27.",))


def xeon(stores):
    panels = []
    names = {"efficientnet_lite0": "EfficientNet-Lite0", "resnet18": "ResNet-18", "resnet50": "ResNet-50"}
    for model, batch in (("efficientnet_lite0", 16), ("resnet18", 1), ("resnet50", 1), ("resnet18", 16), ("resnet50", 4)):
        of = {"batch": batch, "precision": "fp32"}
        rows = [row for row in stores.points("quickstart-xeon-16/store.db", **of) if row["model"].split(":")[0] == model]
        bars = []
        for colour, (backend, label) in enumerate((("native", "native"), ("onnxruntime", "ONNX Runtime"))):
            found = [row for row in rows if row["backend"] == backend]
            bars += [(label, colour, *numbers(found[0]))] if found else []
        panels.append((f"{names[model]}, batch {batch}", bars))
    return svg_chart.bar_panels("FP32 images/s on 16 cores of a Xeon (Sapphire Rapids)", panels,
                                ("Means of three processes with their 95 % intervals. 2026-11-21, deepgap run studies/quickstart.toml.",))


def xeon_engines(_):
    rows = [row for row in table("xeon/engines.csv") if row["cores"] == "2" and row["batch"] == "1"]
    rows.sort(key=lambda row: -float(row["ratio"]))
    return svg_chart.forest("Native over the better of OpenVINO and ONNX Runtime, two Xeon cores, batch 1",
                            [(f"{row['model']}, {row['precision'].lower()}", *(float(row[key]) for key in ("ratio", "ratio_quartile_low", "ratio_quartile_high")))
                             for row in rows], ("Medians of interleaved rounds with their quartiles. Right of 1: native is faster. 2026-11-22.",), "ratio of throughputs")


def epyc(stores):
    panels = []
    for batch, threads in ((1, 1), (1, 2), (8, 1), (8, 2)):
        of = {"batch": batch, "threads": threads}
        bars = []
        for colour, (label, option) in enumerate((("network alone", ""), ("serial", f"decode_threads={threads};end_to_end=serial"),
                                                  ("overlapped", f"decode_threads={threads};end_to_end=overlapped"))):
            rows = stores.points("cpu/end-to-end.db", option=option, **of)
            rows = [row for row in rows if option or "end_to_end=serial" not in row["options"] and "end_to_end=overlapped" not in row["options"]]
            bars.append((label, colour, *numbers(rows[0])))
        panels.append((f"batch {batch}, threads {threads}", bars))
    return svg_chart.bar_panels("EfficientNet-Lite0 in FP32: images/s of the network alone and from image files", panels,
                                ("Two EPYC cores; as many decoding threads as engine threads. Means of three processes, 95 % intervals. 2026-11-25.",))


def prediction_model(stores):
    names, series = ("int8", "fp16", "fp32"), []
    rows = stores.predictions("resnet50", "--device", "h200", "--precision", ",".join(names), "--batch", "1..512*2")
    for colour, precision in enumerate(names):
        measured = stores.points("h200-native/points.csv", model="resnet50", precision=precision, option="native.tune=off")
        series.append((f"measured {precision}", (0, 3, 2)[colour], False, sorted((int(row["batch"]), float(row["throughput"]), None, None) for row in measured)))
        predicted = [(row["batch"], *(1e3 * row["batch"] / row[key] for key in ("time_ms", "high", "low"))) for row in rows if row["precision"] == precision]
        series.append((f"predicted {precision}", (0, 3, 2)[colour], True, sorted(predicted)))
    return svg_chart.log_lines("ResNet-50 on an NVIDIA H200, native engine: images/s, measured and predicted", "batch", "images/s", series,
                               ("Dashed: predicted, with the band of 90 %. The model is fitted to points of six networks on an H100 and an H200.",))


def harness(_):
    panels = [(f"{row['quantity']} [{row['unit']}]", [("deepgap", 0, float(row["deepgap"]), None, None), ("LoadGen 6.0.17", 1, float(row["loadgen"]), None, None)])
              for row in table("harness/loadgen.csv")]
    return svg_chart.bar_panels("Cost of the harness: less is better", panels, ("2-core Xeon (Sapphire Rapids), virtual, 2026-11-21; bench/harness_speed.",), width=1100)


def decoder(_):
    panels = {}
    for row in table("gpu-kernels/decoder.csv"):
        if row["network"] == "Llama 8B":
            label = f"{row['requests']} request{'s' if row['requests'] != '1' else ''}"
            panels.setdefault(f"{row['weights']}, {row['gigabytes']} GB", []).append((label, 0, float(row["tokens_per_s"]), None, None))
    return svg_chart.bar_panels("Llama 8B on an NVIDIA H200, native engine: tokens/s by requests at a time", list(panels.items()),
                                ("Prompts of 512 tokens, answers of 32, seeded weights; an axis for each type of weights. BF16: median of three runs; others: one. 2026-11-29.",))


CHARTS = {
    "results/showcase-light.svg": lambda stores: showcase(stores, svg_chart.LIGHT),
    "results/showcase-dark.svg": lambda stores: showcase(stores, svg_chart.DARK),
    "results/precisions.svg": precisions,
    "results/h100.svg": h100,
    "results/h200.svg": h200,
    "results/four-gpus.svg": four_gpus,
    "results/xeon.svg": xeon,
    "results/xeon-engines.svg": xeon_engines,
    "results/epyc.svg": epyc,
    "results/harness.svg": harness,
    "how-to/img/token-generation.svg": decoder,
    "explanation/prediction-model.svg": prediction_model,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["write", "check"])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--program", default=str(ROOT / "build/bin/deepgap"))
    arguments = parser.parse_args()
    chosen = [path for path in CHARTS if not arguments.names or any(name in path for name in arguments.names)]
    if not chosen:
        parser.error(f"no chart is named {arguments.names[0]}: expected a part of one of {', '.join(CHARTS)}")
    stores, stale = Stores(arguments.program), []
    for path in chosen:
        text, file = CHARTS[path](stores), ROOT / "docs" / path
        if arguments.what == "write":
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        elif not file.exists() or file.read_text(encoding="utf-8") != text:
            stale.append(path)
    for path in stale:
        print(f"docs/{path} is not what tools/charts.py writes: run tools/charts.py write")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
