"""Tests what `deepgap run` reports and keeps if a GPU or a library fails, with a fake driver, compiler, cuBLASLt and cuDNN: played_gpu.cpp.

Usage: faults_test.py PATH_OF_DEEPGAP PATH_OF_THE_PLAYED_DRIVER [unittest arguments]
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from store_case import PROGRAM, TINY, StoreCase  # noqa: E402

PLAYED = pathlib.Path(sys.argv.pop(2)).resolve()
MEMORY = 8 << 30  # of the played GPU


class PlayedGpu(StoreCase):
    backend = "native"
    flags = [*TINY, "--device", "cuda:0", "--check", "off", "--repeats", "1", "--iterations", "20", "--warmup", "3"]

    def setUp(self):
        super().setUp()
        self.play("")

    def play(self, settings, driver=PLAYED.parent, compiler=PLAYED, library=PLAYED, networks=PLAYED):
        os.environ.update(LD_LIBRARY_PATH=str(driver), DEEPGAP_NVRTC=str(compiler), DEEPGAP_CUBLASLT=str(library), DEEPGAP_CUDNN=str(networks),
                          DEEPGAP_PLAYED_GPU=settings)

    def fails(self, outcome, reason, *flags):
        """One Record of that outcome, exit code 1, and the reason is one line."""
        row = self.one(1, *flags)
        self.assertEqual(row["outcome"], outcome, row["reason"])
        self.assertIn(reason, row["reason"])
        self.assertEqual(len(row["reason"].splitlines()), 1)
        return row


class Faults(PlayedGpu):
    def test_without_a_fault_it_runs(self):
        row = self.one(0)
        self.assertEqual((row["outcome"], row["timings"]), ("ok", 20))
        self.assertGreater(row["device_memory_mib"], 0)
        self.assertGreaterEqual(row["device_memory_reserved_mib"], row["device_memory_mib"])
        parts = [row[f"compile_{part}_s"] for part in ("lower", "kernels", "tune", "pack", "upload", "graph")]
        self.assertLessEqual(sum(parts), row["compile_s"])

    def test_no_driver(self):
        folder = pathlib.Path(self.dir) / "none"
        folder.mkdir()
        (folder / "libcuda.so.1").write_text("no library")
        self.play("", driver=folder)
        self.fails("refused", "native has no device cuda:0 here: there is no NVIDIA driver: ")

    def test_no_compiler(self):
        self.play("", compiler="/nowhere/libnvrtc.so.13")
        self.fails("refused", "native has no device cuda:0 here: NVRTC, given by DEEPGAP_NVRTC, does not load: /nowhere/libnvrtc.so.13")

    def test_a_driver_that_is_too_old(self):
        self.play("version=11040")
        self.fails("refused", "cuda:0 here: the NVIDIA driver is too old: it is for CUDA 11.4, and 12.0 is needed; it has cpu")
        listed = subprocess.run([PROGRAM, "backends"], capture_output=True, text=True, check=True).stdout
        self.assertIn("cuda: the NVIDIA driver is too old", listed)

    def test_a_driver_without_a_gpu(self):
        self.play("fail=cuInit:100")
        self.fails("refused", "cuda:0 here: the NVIDIA driver finds no GPU")

    def test_a_device_that_is_not_there(self):
        result = self.run_deepgap("--device", "cuda:0,cuda:3")
        self.assertEqual(result.returncode, 1)
        reasons = {row["device"]: (row["outcome"], row["reason"]) for row in self.rows()}
        self.assertEqual(reasons, {"cuda:0": ("ok", None), "cuda:3": ("refused", "native has no device cuda:3 here; it has cpu, cuda:0")})

    def test_memory_that_others_hold(self):
        self.play(f"others={MEMORY - 2_000_000}")
        self.assertEqual(self.run_deepgap("--batch", "1,64").returncode, 1)
        rows = {row["batch"]: row for row in self.rows()}
        self.assertEqual(rows[1]["outcome"], "ok", rows[1]["reason"])
        self.assertEqual(rows[64]["outcome"], "out_of_memory")
        self.assertRegex(rows[64]["reason"], "^out of memory: CUDA_ERROR_OUT_OF_MEMORY.* of the device's memory, of which .* of 8.0 GiB are free$")

    def test_not_even_a_context_fits(self):
        self.play("fail=cuDevicePrimaryCtxRetain:2")
        self.fails("out_of_memory", "while opening cuda:0")

    def test_out_of_memory_at_load_whatever_is_taken(self):
        calls = 0
        while True:
            self.store = os.path.join(self.dir, f"load-{calls}.db")
            self.play(f"fail=cuMemAlloc_v2:2:{calls}")
            code = self.run_deepgap().returncode
            row, = self.rows()
            self.assertEqual((code, row["outcome"]), (0, "ok") if row["outcome"] == "ok" else (1, "out_of_memory"), row["reason"])
            if row["outcome"] == "ok":
                break
            calls += 7
        self.assertGreater(calls, 10, "weights, inputs, outputs")

    def test_out_of_memory_and_a_lost_device_at_run(self):
        for graph in ("on", "off"):
            function = "cuGraphLaunch" if graph == "on" else "cuLaunchKernelEx"
            calls = 15 if graph == "on" else 300
            for fault, outcome, words in (("fail", "out_of_memory", "out of memory: "), ("lose", "device_lost", "device lost: ")):
                with self.subTest(graph=graph, outcome=outcome):
                    self.store = os.path.join(self.dir, f"run-{graph}-{fault}.db")
                    self.play(f"{fault}={function}:{2 if fault == 'fail' else 700}:{calls}")
                    row = self.fails(outcome, words, "--axis", f"native.cuda_graph={graph}")
                    self.assertIsNotNone(row["compile_s"], "it was loaded")

    def test_a_device_lost_while_it_computes(self):
        self.play("lose=cuEventSynchronize:719:9")
        self.fails("device_lost", "device lost: ")

    def test_a_device_lost_at_load(self):
        for function in ("cuModuleLoadData", "cuStreamEndCapture", "cuGraphInstantiateWithFlags", "cuCtxSynchronize"):
            with self.subTest(function):
                self.store = os.path.join(self.dir, f"lost-{function}.db")
                self.play(f"lose={function}:700:2" if function == "cuModuleLoadData" else f"lose={function}:700")
                self.fails("device_lost", "device lost: ")

    def test_what_was_finished_before_a_fault_stays_and_the_run_goes_on(self):
        self.play("lose=cuGraphLaunch:700:30")
        result = self.run_deepgap("--axis", "native.cuda_graph=off,on", "--batch", "1,2", "--iterations", "50")
        self.assertEqual(result.returncode, 1)
        outcomes = {(row["batch"], "cuda_graph=on" in row["options"]): row["outcome"] for row in self.rows()}
        lost = "device_lost"
        self.assertEqual(outcomes, {(1, False): "ok", (2, False): "ok", (1, True): lost, (2, True): lost})

    def test_a_cancelled_run_keeps_what_was_finished(self):
        self.play("work=5")
        command = self.command("--batch", "1,2,4,8", "--iterations", "200")
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as run:
            deadline = time.monotonic() + 300
            while time.monotonic() < deadline and not self.finished():
                time.sleep(0.05)
            run.send_signal(signal.SIGINT)
            printed = run.communicate(timeout=300)[0]
        self.assertEqual(run.returncode, 130, printed)
        rows = self.rows()
        self.assertGreaterEqual([row["outcome"] for row in rows].count("ok"), 1, printed)
        self.assertLessEqual({row["outcome"] for row in rows}, {"ok", "interrupted"}, printed)

    def finished(self):
        if not os.path.exists(self.store):
            return False
        done = subprocess.run([PROGRAM, "export", self.store, "--format", "json"], capture_output=True, text=True)
        return done.returncode == 0 and any(row["outcome"] == "ok" for row in json.loads(done.stdout))


class Caches(PlayedGpu):
    flags = [*PlayedGpu.flags, "--axis", "native.tune=full"]

    def setUp(self):
        super().setUp()
        self.cache = pathlib.Path(self.dir) / self.id()
        self.flags = [*self.flags, "--cache", str(self.cache)]

    def files(self, ending):
        found = sorted((self.cache / "native-cuda").glob(f"*{ending}"))
        self.assertTrue(found, list(self.cache.rglob("*")))
        return found

    def test_files_that_are_torn_or_foreign_are_made_again(self):
        self.assertEqual(self.run_deepgap().returncode, 0)
        tuned, = self.files(".txt")
        winners = tuned.read_bytes()
        whole = {path: path.read_bytes() for path in self.files(".cubin")}
        for name, change in (("torn", lambda text: text[:len(text) // 2]), ("empty", lambda text: b""),
                             ("foreign", lambda text: b"\x7fELF" + bytes(1000)), ("of another version", lambda text: b"version 0\n" + text)):
            with self.subTest(name):
                tuned.unlink()  # so that every candidate is asked for again
                for path, text in whole.items():
                    path.write_bytes(change(text))
                self.assertEqual(self.run_deepgap().returncode, 0)
                self.assertEqual({path: path.read_bytes() for path in self.files(".cubin")}, whole)
                tuned.write_bytes(change(winners))
                self.assertEqual(self.run_deepgap().returncode, 0)
                self.assertEqual(self.keys(tuned.read_bytes()), self.keys(winners))

    @staticmethod
    def keys(text):
        return sorted(line.split(b"\t")[0] for line in text.splitlines() if line.count(b"\t") == 2)

    def test_two_that_tune_at_once_lose_nothing(self):
        """Three, each with problems of its own."""
        processes = []
        for batch in ("1", "3", "5"):
            command = self.command("--batch", batch)
            command[command.index("--store") + 1] += batch
            processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
        for process in processes:
            printed = process.communicate(timeout=300)[0]
            self.assertEqual(process.returncode, 0, printed)
        tuned, = self.files(".txt")
        together = self.keys(tuned.read_bytes())
        tuned.unlink()
        self.assertEqual(self.run_deepgap("--batch", "1,3,5").returncode, 0)
        self.assertEqual(together, self.keys(tuned.read_bytes()))


class Texts(PlayedGpu):
    """`check --text`: all scores of the played GPU are 0, so that every token of the vocabulary is as likely."""

    def perplexity(self, code, *flags):
        command = [PROGRAM, "check", "smollm2_135m:layers=1,vocabulary=512", "--text", __file__, "--device", "cuda:0", "--samples", "2", "--json",
                   "--cache", self.dir, *flags]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout) if code == 0 else done.stderr

    def test_device_precision_and_options_reach_the_engine(self):
        for precision, libraries, against in (("fp16", "on", ()), ("bf16", "off", ("--against", "smollm2_135m:layers=1,vocabulary=512,type=q8_0"))):
            found = self.perplexity(0, "-p", precision, "--option", f"libraries={libraries}", *against)
            self.assertEqual((found["device"], found["precision"]), ("cuda:0", precision))
            self.assertEqual("cuBLASLt" in found["backend"], libraries == "on", found["backend"])
            self.assertAlmostEqual(found["perplexity"], 512, places=3)
            self.assertEqual(found.get("top1_agreement", 1), 1)

    def test_what_the_device_does_not_have_is_named(self):
        self.assertIn("give --precision fp16", self.perplexity(1, "-p", "fp32"))
        self.assertIn("invalid value 'maybe' for cuda_graph", self.perplexity(2, "-p", "fp16", "--option", "cuda_graph=maybe"))


class Libraries(PlayedGpu):
    flags = [*PlayedGpu.flags, "--axis", "native.tune=full"]

    def version(self, *flags):
        row = self.one(0, *flags)
        self.assertEqual(row["outcome"], "ok", row["reason"])
        return row["backend_version"]

    def test_a_library_that_is_found_is_a_candidate_and_told_of(self):
        self.assertRegex(self.version(), "^own kernels, NVRTC 13.0, cuBLASLt 13.1.0, cuDNN 9.19.0$")
        listed = subprocess.run([PROGRAM, "backends"], capture_output=True, text=True, check=True).stdout
        self.assertIn(f"libraries: cuBLASLt 13.1.0, {PLAYED}; cuDNN 9.19.0, {PLAYED}", listed)

    def test_each_is_a_candidate_by_itself(self):
        self.play("", library="/nowhere/libcublasLt.so.13")
        self.assertEqual(self.version(), "own kernels, NVRTC 13.0, cuDNN 9.19.0")

    def test_one_that_is_not_wanted_is_not_told_of(self):
        self.assertEqual(self.version("--axis", "native.libraries=off"), "own kernels, NVRTC 13.0")

    def test_without_one_our_own_kernels_do(self):
        self.play("", library="/nowhere/libcublasLt.so.13", networks="/nowhere/libcudnn.so.9")
        self.assertEqual(self.version(), "own kernels, NVRTC 13.0")
        listed = subprocess.run([PROGRAM, "backends"], capture_output=True, text=True, check=True).stdout
        self.assertIn("libraries: cuBLASLt, given by DEEPGAP_CUBLASLT, does not load: /nowhere/libcublasLt.so.13", listed)
        self.assertIn("cuDNN, given by DEEPGAP_CUDNN, does not load: /nowhere/libcudnn.so.9", listed)

    def test_one_that_does_not_start_or_run_drops_out(self):
        for settings in ("lt_starts=1", "lt_starts=3", "lt_runs=15", "lt_runs=13", "dnn_starts=1001", "dnn_runs=3000", "dnn_runs=4004"):
            with self.subTest(settings):
                self.store = os.path.join(self.dir, f"{settings}.db")
                self.play(settings)
                self.version()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
