"""Tests what `deepgap profile` reports of a GPU's kernels and counters, with a fake driver, compiler and CUPTI: played_gpu.cpp and
played_cupti.cpp.

Usage: profile_test.py PATH_OF_DEEPGAP PATH_OF_THE_PLAYED_DRIVER [unittest arguments]
"""
import csv
import io
import json
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from store_case import PROGRAM, TINY, StoreCase  # noqa: E402

PLAYED = pathlib.Path(sys.argv.pop(2)).resolve()


class Profile(StoreCase):
    backend = "native"
    network = ["resnet18:width=0.125,classes=10", "--shape", "input:Nx3x32x32"]

    def setUp(self):
        super().setUp()
        self.play("")

    def play(self, settings):
        """With no more memory than counters want to have: ceilings write to a quarter of it, which here is the host's."""
        os.environ.update(LD_LIBRARY_PATH=str(PLAYED.parent), DEEPGAP_NVRTC=str(PLAYED), DEEPGAP_CUPTI=str(PLAYED), DEEPGAP_CUBLASLT=str(PLAYED),
                          DEEPGAP_PLAYED_GPU=",".join(filter(None, ["total=1073741824", settings])))

    def profile(self, *flags):
        command = [PROGRAM, "profile", *self.network, "--device", "cuda:0", "--precision", "fp16", "--batch", "4", "--rounds", "2", "--cache", self.dir,
                   "--option", "tune=off", *flags]
        result = subprocess.run(command, capture_output=True, text=True, timeout=600)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def counters(self, *flags):
        return json.loads(self.profile("--json", *flags))["device_counters"]

    def test_kernels_layers_families_and_the_network_are_counted(self):
        found = json.loads(self.profile("--json"))
        counted = found["device_counters"]
        self.assertEqual((counted["source"], counted["missing"], counted["notes"]), ("hardware counters", None, []))
        self.assertEqual(counted["chip"], "GH100")
        self.assertEqual([(one["right"], one["counted"] == one["expected"]) for one in counted["known"]], [(True, True)] * 6)
        self.assertGreater(counted["passes"], 10)
        kernels, network = counted["kernels"], counted["network"]
        names = [one["name"] for one in found["device_work"]["kernels"]]
        self.assertEqual((names[0], names[-1]), ("stamp_begin", "stamp_end"), "a query's own times are kernels of no layer")
        self.assertEqual(len(kernels), len(names) - 2)
        for key in ("dram_read_bytes", "dram_written_bytes", "l1_bytes", "fp32_flop", "tensor_flop"):
            layers = sum(one[key] for one in kernels)
            stamps = network[key] - layers  # the plain run, a CUDA graph, does the same and stamps its times
            self.assertTrue(0 <= stamps <= 2 * max(one[key] for one in kernels), f"{key}: {layers} of {network[key]}")
            self.assertAlmostEqual(sum(one[key] for one in counted["families"]), layers)
        self.assertGreater(network["tensor_flop"], 0)
        self.assertEqual([one["level"] for one in network["levels"]], ["DRAM", "L1"], "the played L2 counts nothing, which is no zero")
        self.assertAlmostEqual(network["levels"][1]["intensity_with_tensor_cores"] * network["l1_bytes"],
                               network["levels"][0]["intensity_with_tensor_cores"] * network["bytes"], msg="the same operations")
        self.assertAlmostEqual(network["intensity"], network["fp32_flop"] / network["bytes"])
        self.assertAlmostEqual(kernels[0]["busy"], 0.9)
        self.assertAlmostEqual(kernels[0]["occupancy"], 0.5)
        self.assertTrue(all(one["in_cuda_graph"] for one in found["device_work"]["kernels"]))
        self.assertEqual([one["name"] for one in counted["layers"]], [one["name"] for one in found["layers"]])
        self.assertGreater(found["whole_after_ms"], 0, "a plain run is timed again")
        self.assertIsNone(json.loads(self.profile("--json", "--no-kernels"))["whole_after_ms"], "nobody watched")
        page = pathlib.Path(self.dir) / "page.html"
        text = self.profile("--top", "3", "-o", str(page))
        self.assertIn("counted by the hardware", text)
        self.assertIn("by level of memory", text)
        self.assertRegex(text, r"After the device was traced, a plain run took [0-9.]+ ms, [0-9.]+ times as long as before")
        self.assertIn("Counted by the hardware", page.read_text())

    def test_layers_are_counted_where_kernels_are_not_told_apart(self):
        self.play("whole=1")
        counted = self.counters()
        self.assertNotIn("kernels", counted)
        self.assertEqual(len(counted["notes"]), 1, counted["notes"])
        self.assertIn("layer by layer, not kernel by kernel", counted["notes"][0])
        self.assertGreater(sum(one["tensor_flop"] for one in counted["layers"]), 0)

    def test_without_the_right_it_says_how_to_get_it_and_counts_from_the_graph(self):
        self.play("deny=cuptiProfilerGetCounterAvailability:35")
        found = json.loads(self.profile("--json"))
        counted = found["device_counters"]
        self.assertEqual(counted["source"], "the network's graph")
        self.assertIn("NVreg_RestrictProfilingToAdminUsers=0", counted["missing"])
        self.assertGreater(counted["network"]["flop"], 0)
        self.assertTrue(found["device_work"]["kernels"], "kernels need no right")
        text = self.profile()
        self.assertIn("counters: not available: CUPTI says", text)
        self.assertIn("counted from the network's graph", text)

    def test_a_zero_is_never_believed(self):
        self.play("blind=1")
        counted = self.counters()
        self.assertEqual(counted["source"], "the network's graph")
        self.assertIn("a kernel whose counts are known was counted wrongly", counted["missing"])

    def test_a_cupti_that_ends_the_process_costs_the_counters_alone(self):
        self.play("die=cuptiRangeProfilerEnable")
        found = json.loads(self.profile("--json"))
        self.assertIn("while it was counted, ", found["device_counters"]["missing"])
        self.assertTrue(found["device_work"]["kernels"])

    def test_without_cupti_there_are_times_and_the_graphs_figures(self):
        os.environ["DEEPGAP_CUPTI"] = "/nowhere/libcupti.so.13"
        found = json.loads(self.profile("--json"))
        self.assertIn("/nowhere/libcupti.so.13", found["device_work_missing"])
        self.assertEqual(found["device_counters"]["missing"], found["device_work_missing"])
        self.assertEqual(found["device_counters"]["source"], "the network's graph")

    def test_no_counters(self):
        self.assertIsNone(self.counters("--no-counters"))
        self.assertIsNone(self.counters("--no-kernels"))

    def test_beside_a_record(self):
        self.flags = [*TINY, "--device", "cuda:0", "--check", "off", "--repeats", "1", "--iterations", "20", "--warmup", "3", "--axis", "native.tune=off"]
        self.assertEqual(self.run_deepgap("--profile").returncode, 0)
        text = subprocess.run([PROGRAM, "export", self.store, "--profile"], capture_output=True, text=True, check=True).stdout
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertGreater(len(rows), 10)
        self.assertGreater(sum(float(row["dram_read_bytes"] or 0) for row in rows), 0)
        self.assertTrue(any(row["intensity"] for row in rows))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
