"""Tests `deepgap run`: outcomes, exit codes, messages, what is saved, and mistakes of the user.

Usage: run_test.py PATH_OF_DEEPGAP [unittest arguments]
"""
import json
import os
import re
import sqlite3
import subprocess
import sys
import unittest

from run_case import PROGRAM, TINY, RunCase, records


class RunTest(RunCase):
    # What goes well

    def test_a_record_is_complete(self):
        result = self.run_deepgap("--axis", "latency=1ms", "--study", "mine")
        self.assert_exit(result, 0)
        self.assertRegex(result.stdout, r"(?m)^resnet18\S* +null .* no target$")
        exported = subprocess.run([PROGRAM, "export", self.store, "--format", "json"], capture_output=True, text=True, check=True)
        row = json.loads(exported.stdout)[0]
        self.assertEqual(row["model"], TINY)
        self.assertEqual(row["outcome"], "ok")
        self.assertEqual(int(row["timings"]), 20)
        for column in ("load_s", "compile_s", "first_result_ms", "host_memory_mib", "throughput", "latency_p50_ms", "flop_per_item"):
            self.assertTrue(row[column], f"{column} is empty")
        self.assertGreaterEqual(float(row["latency_p50_ms"]), 1.0)
        self.assertLess(float(row["throughput"]), 1000.0)

    def test_progress_is_plain_off_a_terminal_and_points_stand_in_their_order(self):
        result = self.run_deepgap("--batch", "1..8*2", "--repeats", "2")
        self.assert_exit(result, 0)
        self.assertNotIn("\x1b", result.stderr + result.stdout)
        self.assertEqual(len(re.findall(r"^\[\d/8\] ", result.stderr, re.M)), 8)
        batches = re.findall(r"null +(\d+) ", result.stdout)
        self.assertEqual(batches, ["1", "2", "4", "8"])
        self.assertEqual(len(set(r[:2] for r in records(self.store))), 8)

    def test_more_threads_than_cpus_are_noted(self):
        cpus = len(os.sched_getaffinity(0))
        result = self.run_deepgap("--threads", f"{cpus},{cpus + 1}")
        self.assert_exit(result, 0)
        self.assertIn(f"note: {cpus + 1} threads share the {cpus} CPU", result.stderr)
        self.assertNotIn("threads share", self.run_deepgap("--threads", str(cpus)).stderr)

    def test_json_summary(self):
        result = self.run_deepgap("--batch", "1,2", "--axis", "oom_at_load=2", "--json")
        self.assert_exit(result, 1)
        summary = json.loads(result.stdout)
        self.assertEqual(summary["exit_code"], 1)
        self.assertEqual([p["outcome"] for p in summary["points"]], ["ok", "out_of_memory"])
        self.assertEqual(len(summary["failures"]), 1)

    def test_dry_run_writes_nothing(self):
        result = self.run_deepgap("--batch", "1,2", "--dry-run", "--device", "cpu,cuda:0")
        self.assert_exit(result, 0)
        self.assertIn("4 points, 2 records to measure, 2 refused, 0 skipped", result.stdout)
        self.assertFalse(os.path.exists(self.store))

    def test_options_of_an_engine_that_is_not_here_do_not_end_the_run(self):
        result = self.run_deepgap("--dry-run", "--axis", "tensorrt.workspace=1", backend="tensorrt")
        self.assert_exit(result, 0)
        self.assertIn("refused: backend 'tensorrt' is not available", result.stdout)

    def test_a_reason_is_read_once(self):
        command = [PROGRAM, "run", "--model", "resnet18", "--backend", "null", "--device", "cuda:7", "--store", self.store]
        apart = subprocess.run(command, capture_output=True, text=True)
        together = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        reason = "null has no device cuda:7 here"
        self.assertEqual((apart.stdout.count(reason), apart.stderr.count(reason)), (1, 1), "each file has all of it")
        self.assertEqual(together.stdout.count(reason), 1, together.stdout)

    def test_places_of_inputs_are_one_on_a_cpu(self):
        result = self.run_deepgap("--axis", "inputs=host,device", "--axis", "part=auto,1", "--batch", "2", backend="native")
        self.assert_exit(result, 0)
        self.assertEqual({r[2] for r in records(self.store)}, {"ok"})
        self.assertEqual(len({r[0] for r in records(self.store)}), 4)

    def test_a_study_for_a_gpu_is_planned_without_one(self):
        study = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../studies/deep-gap-h200.toml")
        result = subprocess.run([PROGRAM, "run", study, "--dry-run", "--json", "--cache", self.cache], capture_output=True, text=True, timeout=900, cwd=self.dir)
        self.assert_exit(result, 0)
        points = json.loads(result.stdout)["points"]
        self.assertEqual((len(points), sum(point["repeats"] for point in points)), (438, 702))

    def test_a_window_has_a_shortest_length(self):
        result = self.run_deepgap("--iterations", "1", "--min-duration", "300ms")
        self.assert_exit(result, 0)
        with sqlite3.connect(self.store) as db:
            (reason,) = db.execute("SELECT json_extract(facts, '$.stopping') FROM records").fetchone()
        self.assertIn("then until 300 ms had passed", reason)

    def test_engines_are_checked_before_they_are_timed(self):
        result = self.run_deepgap("--batch", "1,3", backend="native,onnxruntime")
        self.assert_exit(result, 0)
        self.assertNotIn("unchecked", result.stdout)
        with sqlite3.connect(self.store) as db:
            self.assertEqual(len(records(self.store)), 4)
        folder = os.path.join(self.cache, "references")
        self.assertTrue(os.listdir(folder))

    def test_a_wrong_answer_is_incorrect_and_has_no_time(self):
        cache = os.path.join(self.dir, "cache")
        flags = ["--cache", cache]
        self.assert_exit(self.run_deepgap(*flags, backend="native"), 0)
        folder = os.path.join(cache, "references")
        (name,) = os.listdir(folder)
        path = os.path.join(folder, name)
        with open(path, "rb") as f:
            data = bytearray(f.read())
        header = int.from_bytes(data[:8], "little")
        for at in range(8 + header + 3, len(data), 4):
            data[at] ^= 0x80  # the sign of every reference value
        with open(path, "wb") as f:
            f.write(data)
        result = self.run_deepgap(*flags, backend="native")
        self.assert_exit(result, 1)
        last = records(self.store)[-1]
        self.assertEqual(last[2], "incorrect")
        self.assertIn("SQNR", last[4])

    def test_a_cache_that_cannot_be_written_is_the_reason_for_unchecked(self):
        blocked = os.path.join(self.dir, "cache")
        os.mkdir(blocked)
        open(os.path.join(blocked, "references"), "w").close()
        result = self.run_deepgap("--cache", blocked, backend="native")
        self.assert_exit(result, 0)
        self.assertIn("unchecked: no reference: ", result.stdout)
        self.assertIn("references", records(self.store)[-1][4])

    def test_check_off_says_unchecked(self):
        result = self.run_deepgap("--check", "off", backend="native")
        self.assert_exit(result, 0)
        self.assertIn("unchecked", result.stdout)

    # What the user got wrong: one line, code 2, and nothing written

    def test_wrong_usage_is_one_line(self):
        cases = [
            (["--axis", "latncy=1ms"], {}, "did you mean 'latency'"),
            (["--axis", "latency=0ns", "--axis", "clock=virtual"], {}, "latency=0ns lets queries take no time"),
            (["--axis", "latency=5ms,0ns", "--axis", "clock=virtual", "--duel", "latency"], {}, "leave out clock=virtual"),
            ([], {"model": "resnet5"}, "did you mean 'resnet50'"),
            ([], {"model": "missing.onnx"}, "missing.onnx"),
            ([], {"backend": "nul"}, "did you mean 'null'"),
            (["--bacth", "4"], {}, "did you mean '--batch'"),
            (["--batch", ""], {}, "--batch"),
            (["--batch", "x"], {}, "batch"),
            (["--precision", "fp31"], {}, "fp31"),
            (["--scenario", "bach"], {}, "did you mean 'batch'"),
            (["--weights", "nosuch"], {}, "nosuch"),
            (["--dataset", "/nowhere/pictures"], {}, "/nowhere/pictures"),
            (["--timeout", "60"], {}, "--timeout"),
            (["--duration", "5 apples"], {}, "--duration"),
            (["--interval", "x"], {}, "--interval"),
            (["--repeats", "x"], {}, "invalid value 'x' for --repeats: expected a whole number"),
            (["--repeats", "1.5"], {}, "invalid value '1.5' for --repeats: expected a whole number"),
            (["--check", "maybe"], {}, "--check"),
            (["--axis", "novalue"], {}, "--axis"),
            (["--axis", "native.path=fats"], {"backend": "native"}, "native: invalid value 'fats' for path: expected fast or plain; did you mean 'fast'?"),
            (["--axis", "part=half"], {"backend": "native"}, "native: invalid value 'half' for part: expected auto or a whole number from 1 to"),
            (["--axis", "tune=search"], {"backend": "native"}, "native: invalid value 'search' for tune: expected off, quick or full"),
            (["--axis", "inputs=devise"], {"backend": "native"}, "; did you mean 'device'?"),
            (["--shape", "nosuch:Nx3"], {}, "nosuch"),
            (["one.toml", "two.toml"], {}, "two.toml"),
        ]
        for flags, options, part in cases:
            with self.subTest(flags=flags, **options):
                self.assert_one_line(self.run_deepgap(*flags, **options, counts=False), 2, part)
                self.assertFalse(os.path.exists(self.store))
        nothing = subprocess.run([PROGRAM, "run"], capture_output=True, text=True, cwd=self.dir)
        self.assert_one_line(nothing, 2, "nothing to measure")

    def test_a_mistake_in_a_study_file_is_told_with_its_line(self):
        grid = f'[[grid]]\nmodel = "{TINY}"\n'
        cases = [
            ('backend = "nul"', 3, "invalid value 'nul' for backend: expected "),
            ('backend = "null"\n[grid.options]\nlatency = "2"', 5, "latency"),
            ('[grid.options]\nin_flite = 1', 4, "did you mean 'in_flight'?"),
            ('[grid.axis]\naffinity = [\n"first",\n"70000"]', 6, "70000"),
            ('scenario = "server"', 3, "--rate"),
            ('dataset = "/nowhere/pictures"', 3, "/nowhere/pictures"),
            ('dataset = "/nowhere/pictures"\n[grid.axis]\nstreams = ["1"]', 3, "/nowhere/pictures"),
            ('weights = "imagenet"', 3, "imagenet"),
            ('[[grid]]\nmodel = ["resnet18",\n"resnet1"]', 5, "did you mean 'resnet18'?"),
            ('[[grid]]\nbatch = 1', 3, "no model"),
        ]
        study = os.path.join(self.dir, "wrong.toml")
        for text, line, part in cases:
            with self.subTest(text=text):
                with open(study, "w") as f:
                    f.write(grid + text + "\n")
                done = subprocess.run([PROGRAM, "run", "wrong.toml"], capture_output=True, text=True, cwd=self.dir)
                self.assert_one_line(done, 2, part)
                self.assertTrue(done.stderr.startswith(f"deepgap: wrong.toml:{line}: "), done.stderr)

    def test_a_mistake_in_a_flag_is_told_with_the_flag(self):
        cases = [(["--backend", "nul"], "invalid value 'nul' for --backend: expected "), (["--batch", "x"], "invalid value 'x' for --batch: expected a whole number"),
                 (["--axis", "affinity=70000"], "invalid value '70000' for --axis affinity: expected"), (["--max-batch", "0"], "invalid value '0' for --max-batch: expected")]
        for flags, start in cases:
            with self.subTest(flags=flags):
                done = self.run_deepgap(*flags, counts=False)
                self.assert_one_line(done, 2, start)
                self.assertTrue(done.stderr.startswith("deepgap: " + start), done.stderr)

    def test_broken_files_are_one_line(self):
        broken = os.path.join(self.dir, "broken.onnx")
        with open(broken, "wb") as f:
            f.write(b"\x08\x07garbage that is no model" * 50)
        self.assert_one_line(self.run_deepgap(model=broken), 2, "broken.onnx")
        picture = os.path.join(self.dir, "pictures")
        os.mkdir(picture)
        with open(os.path.join(picture, "a.png"), "w") as f:
            f.write("no image")
        self.assert_one_line(self.run_deepgap("--dataset", picture), 2, "a.png")

    def test_a_store_that_is_none_is_one_line(self):
        with open(self.store, "w") as f:
            f.write("my precious notes\n" * 100)
        self.assert_one_line(self.run_deepgap(), 2, "t.db")
        with open(self.store) as f:
            self.assertIn("precious", f.read())
        self.assert_one_line(self.run_deepgap(store="/nowhere/t.db"), 2, "/nowhere/t.db")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
