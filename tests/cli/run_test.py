"""What `deepgap run` promises: outcomes, exit codes, messages, what is saved and what is left behind.

Usage: run_test.py PATH_OF_DEEPGAP [unittest arguments]
"""
import json
import os
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

from sanitized import sanitizer_of

PROGRAM = os.path.abspath(sys.argv[1])
TINY = "resnet18:width=0.125,classes=10"
SHAPE = ["--shape", "input:Nx3x32x32"]
MARK = "DEEPGAP_RUN_TEST"


def records(store):
    """(point_id, repeat, outcome, verdict, reason) of every Record, in order; none while the Store is being made."""
    if not os.path.exists(store):
        return []
    with sqlite3.connect(store) as db:
        if not db.execute("SELECT name FROM sqlite_master WHERE name = 'records'").fetchone():
            return []
        return db.execute(
            "SELECT p.point_id, r.repeat, r.outcome, r.verdict, r.reason FROM records r JOIN points p ON p.id = r.point ORDER BY r.id"
        ).fetchall()


def marked_workers(mark):
    """Processes that carry our mark in their environment and are workers."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                environment = f.read()
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                command = f.read()
            with open(f"/proc/{pid}/stat") as f:
                zombie = ") Z " in f.read()
        except OSError:
            continue
        if f"{MARK}={mark}".encode() in environment and b"__worker" in command and not zombie:
            found.append(int(pid))
    return found


class RunTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.mkdtemp(prefix="deepgap-run-test-")
        cls.cache = os.path.join(cls.shared, "cache")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.shared)

    def setUp(self):
        self.dir = tempfile.mkdtemp(dir=self.shared)
        self.store = os.path.join(self.dir, "t.db")
        self.mark = f"{os.getpid()}.{self.id()}"
        self.environment = dict(os.environ, **{MARK: self.mark})

    def tearDown(self):
        self.assertEqual(marked_workers(self.mark), [], "no worker may be left")

    def command(self, *flags, model=TINY, backend="null", store=None):
        shape = SHAPE if model == TINY else []
        return [PROGRAM, "run", "--model", model, "--backend", backend, "--cache", self.cache, "--store", store or self.store, *shape, *flags]

    def run_deepgap(self, *flags, counts=True, **kwargs):
        options = {k: kwargs.pop(k) for k in ("model", "backend", "store") if k in kwargs}
        fixed = ["--warmup", "1", "--iterations", "20"] if counts else []
        return subprocess.run(self.command(*fixed, *flags, **options), capture_output=True, text=True, timeout=900, env=kwargs.pop("env", self.environment), cwd=self.dir, **kwargs)

    def remove_store(self):
        for suffix in ("", "-wal", "-shm"):
            if os.path.exists(self.store + suffix):
                os.unlink(self.store + suffix)

    def start(self, *flags, **options):
        return subprocess.Popen(self.command(*flags, **options), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment, cwd=self.dir)

    def wait_for(self, what, seconds=900):
        end = time.time() + seconds
        while time.time() < end:
            if what():
                return
            time.sleep(0.02)
        self.fail("waited in vain")

    def assert_exit(self, result, code):
        self.assertEqual(result.returncode, code, f"{result.args}\nstdout: {result.stdout}\nstderr: {result.stderr}")

    def assert_one_line(self, result, code, *parts):
        self.assert_exit(result, code)
        lines = result.stderr.strip().split("\n")
        self.assertEqual(len(lines), 1, result.stderr)
        for part in parts:
            self.assertIn(part, lines[0])

    # What goes well

    def test_a_record_is_complete(self):
        result = self.run_deepgap("--axis", "latency=1ms", "--study", "mine")
        self.assert_exit(result, 0)
        self.assertIn("ok, as_found", result.stdout)
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
        self.assertIn("4 points, 4 records to make, 2 refused", result.stdout)
        self.assertFalse(os.path.exists(self.store))

    def test_options_of_an_engine_that_is_not_here_do_not_end_the_run(self):
        result = self.run_deepgap("--dry-run", "--axis", "tensorrt.workspace=1", backend="tensorrt")
        self.assert_exit(result, 0)
        self.assertIn("refused: backend 'tensorrt' is not available", result.stdout)

    def test_places_of_inputs_are_one_on_a_cpu(self):
        result = self.run_deepgap("--axis", "inputs=host,device", "--axis", "part=auto,1", "--batch", "2", backend="native")
        self.assert_exit(result, 0)
        self.assertEqual({r[2] for r in records(self.store)}, {"ok"})
        self.assertEqual(len({r[0] for r in records(self.store)}), 4)

    def test_a_study_for_a_gpu_is_planned_without_one(self):
        study = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../studies/deep-gap-h200.toml")
        result = subprocess.run([PROGRAM, "run", study, "--dry-run", "--cache", self.cache], capture_output=True, text=True, timeout=900, cwd=self.dir)
        self.assert_exit(result, 0)
        self.assertIn("438 points, 702 records to make", result.stdout, result.stdout[-300:])

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
        self.assertIn("unchecked (no reference: ", result.stdout)
        self.assertIn("references", records(self.store)[-1][4])

    def test_check_off_says_unchecked(self):
        result = self.run_deepgap("--check", "off", backend="native")
        self.assert_exit(result, 0)
        self.assertIn("unchecked", result.stdout)

    # What goes wrong in a worker

    def fails_as(self, outcome, *flags, **kwargs):
        result = self.run_deepgap(*flags, **kwargs)
        self.assert_exit(result, 1)
        rows = records(self.store)
        self.assertEqual([r[2] for r in rows], [outcome], result.stderr)
        self.assertTrue(rows[0][4], "a reason")
        return rows[0][4]

    def test_killed_by_sigkill_is_crashed(self):
        self.assertIn("SIGKILL", self.fails_as("crashed", "--axis", "sigkill_at=5"))

    def test_segmentation_fault_is_crashed_and_the_stage_is_named(self):
        self.assertEqual(self.fails_as("crashed", "--axis", "crash_at=5"), "the worker ended in phase steady: killed by SIGSEGV")

    def test_exit_is_crashed(self):
        self.assertIn("exit code 9", self.fails_as("crashed", "--axis", "exit_at=5"))

    def test_failed_query_is_crashed(self):
        self.fails_as("crashed", "--axis", "fail_at=5")

    def test_lost_device(self):
        self.fails_as("device_lost", "--axis", "device_lost_at=5")

    def test_hanging_is_timed_out(self):
        self.assertIn("no progress for 1 s in phase steady", self.fails_as("timed_out", "--axis", "hang_at=5", "--timeout", "1s"))

    def test_hanging_in_the_first_query_is_timed_out(self):
        self.assertIn("phase check", self.fails_as("timed_out", "--axis", "hang_at=0", "--timeout", "1s"))

    def test_out_of_memory_by_its_own_word(self):
        self.fails_as("out_of_memory", "--axis", "oom_at_load=1")

    def test_out_of_memory_for_real(self):
        if sanitizer_of(PROGRAM):
            self.skipTest(f"{sanitizer_of(PROGRAM)} ends a process that asks for too much")
        self.fails_as("out_of_memory", "--axis", f"allocate_bytes={1 << 46}")

    def test_refused_at_load(self):
        self.assertIn("nope", self.fails_as("refused", "--axis", "refuse=nope"))

    def test_device_that_is_not_there(self):
        self.assertIn("cuda:0", self.fails_as("refused", "--device", "cuda:0"))

    def test_stderr_of_a_crash_is_kept(self):
        self.fails_as("crashed", "--axis", "crash_at=5", "--axis", "stderr=last words")
        with sqlite3.connect(self.store) as db:
            dump = "\n".join(db.iterdump())
        self.assertIn("last words", dump)

    def test_stderr_of_a_crash_is_exported_and_reported(self):
        self.fails_as("crashed", "--axis", "crash_at=5", "--axis", "stderr=last words")
        exported = subprocess.run([PROGRAM, "export", self.store, "--format", "json"], capture_output=True, text=True, check=True)
        self.assertIn("last words", json.loads(exported.stdout)[0]["stderr_tail"])
        report = subprocess.run([PROGRAM, "report", self.store, "-o", "-", "--format", "md"], capture_output=True, text=True, check=True)
        self.assertIn("standard error: last words", report.stdout)

    def test_what_the_probes_read_is_exported_and_drawn(self):
        store = os.path.join(self.dir, "telemetry.db")
        run = subprocess.run([PROGRAM, "run", "--model", TINY, *SHAPE, "--backend", "null", "--axis", "null.latency=1ms", "--cache", self.dir, "--store", store,
                              "--duration", "600ms", "-r", "1", "--axis", "telemetry_period=50ms"], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        export = [PROGRAM, "export", store, "--telemetry"]
        lines = subprocess.run(export, capture_output=True, text=True, check=True).stdout.splitlines()
        self.assertTrue(lines[0].startswith("time,device,name,unit,value,"), lines[0])
        busy = [line.split(",") for line in lines if ",cpu,machine_busy,s," in line]
        self.assertGreaterEqual(len([row for row in busy if row[6] == "steady"]), 2)
        self.assertEqual([row[0] for row in busy], sorted(row[0] for row in busy))
        log = subprocess.run([*export, "--format", "log"], capture_output=True, text=True, check=True)
        self.assertTrue(log.stdout.startswith("timestamp, index, temperature.gpu, power.draw [W], utilization.gpu [%]"), log.stdout)
        self.assertIn("has no readings of a GPU", log.stderr)
        page = os.path.join(self.dir, "telemetry.html")
        subprocess.run([PROGRAM, "report", store, "-o", page], capture_output=True, check=True)
        with open(page) as f:
            text = f.read()
        self.assertIn('<section id="time">', text)
        self.assertIn("Latency over time", text)
        for flags, says in ((["--telemetry", "--format", "json"], "--telemetry writes csv or log, not json"),
                            (["--telemetry", "--by", "point"], "--telemetry is of records"), (["--format", "log"], "add --telemetry")):
            wrong = subprocess.run([PROGRAM, "export", store, *flags], capture_output=True, text=True)
            self.assertEqual(wrong.returncode, 2)
            self.assertIn(says, wrong.stderr)

    def test_a_report_of_an_unknown_kind_is_refused(self):
        self.assert_exit(self.run_deepgap(), 0)
        pdf = os.path.join(self.dir, "r.pdf")
        refused = subprocess.run([PROGRAM, "report", self.store, "-o", pdf], capture_output=True, text=True)
        self.assert_one_line(refused, 2, "r.pdf: a report is .html or .md")
        self.assertFalse(os.path.exists(pdf))

    def test_the_rest_of_the_group_goes_on(self):
        result = self.run_deepgap("--axis", "crash_at=5,1000", "--batch", "1,2", "--repeats", "2")
        self.assert_exit(result, 1)
        rows = records(self.store)
        self.assertEqual(len(rows), 8)
        self.assertEqual(sorted(r[2] for r in rows), ["crashed"] * 4 + ["ok"] * 4)
        self.assertIn("4 of 8 records cannot be used", result.stdout)

    def test_missing_library_is_refused_and_the_run_goes_on(self):
        plugins = os.path.join(self.dir, "plugins")
        os.mkdir(plugins)
        built = os.path.join(os.path.dirname(PROGRAM), "..", "lib", "deepgap", "deepgap_null.so")
        os.symlink(os.path.abspath(built), os.path.join(plugins, "deepgap_null.so"))
        with open(os.path.join(plugins, "deepgap_broken.so"), "w") as f:
            f.write("no library\n")
        environment = dict(self.environment, DEEPGAP_PLUGINS=plugins)
        result = self.run_deepgap(backend="broken,null", env=environment)
        self.assert_exit(result, 1)
        self.assertEqual(sorted(r[2] for r in records(self.store)), ["ok", "refused"])
        self.assertIn("broken", result.stdout)

    def test_a_plugin_that_crashes_while_it_is_opened_is_refused_and_the_run_goes_on(self):
        build = os.path.dirname(os.path.dirname(PROGRAM))
        crashes = os.path.join(build, "tests", "plugins", "deepgap_crashes.so")
        if not os.path.exists(crashes):
            self.skipTest(f"{crashes} is not built")
        plugins = os.path.join(self.dir, "plugins")
        os.mkdir(plugins)
        os.symlink(crashes, os.path.join(plugins, "deepgap_crashes.so"))
        os.symlink(os.path.join(build, "lib", "deepgap", "deepgap_null.so"), os.path.join(plugins, "deepgap_null.so"))
        result = self.run_deepgap("--batch", "1,2", backend="crashes,null", env=dict(self.environment, DEEPGAP_PLUGINS=plugins))
        self.assert_exit(result, 1)
        self.assertEqual(sorted(r[2] for r in records(self.store)), ["ok", "ok", "refused", "refused"])
        reasons = [r[4] for r in records(self.store) if r[2] == "refused"]
        self.assertIn("killed by SIGSEGV", reasons[0])
        self.assertIn("the last words of a plug-in", reasons[0])

    def test_unstable_counts_unless_strict(self):
        flags = ["--axis", "distribution=lognormal", "--axis", "sigma=2", "--warmup", "0", "--interval", "0.01%", "--budget", "300ms"]
        self.assert_exit(self.run_deepgap(*flags, counts=False), 0)
        self.assertEqual(records(self.store)[-1][3], "unstable")
        self.assert_exit(self.run_deepgap(*flags, "--strict", counts=False), 1)

    # What the user got wrong: one line, code 2, and nothing written

    def test_wrong_usage_is_one_line(self):
        cases = [
            (["--axis", "latncy=1ms"], {}, "did you mean 'latency'"),
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
            (["--repeats", "x"], {}, "--repeats 'x' is neither a number"),
            (["--repeats", "1.5"], {}, "--repeats '1.5' is neither a number"),
            (["--check", "maybe"], {}, "--check"),
            (["--axis", "novalue"], {}, "--axis"),
            (["--axis", "native.path=fats"], {"backend": "native"}, "native: unknown path 'fats', did you mean 'fast'?"),
            (["--axis", "part=half"], {"backend": "native"}, "part=half is wrong, expected auto or 1 to"),
            (["--axis", "tune=search"], {"backend": "native"}, "unknown tune 'search'"),
            (["--axis", "inputs=devise"], {"backend": "native"}, "unknown inputs 'devise', did you mean 'device'?"),
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
            ('backend = "nul"', 3, "unknown backend 'nul', did you mean 'null'?"),
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
        cases = [(["--backend", "nul"], "--backend: unknown backend 'nul', did you mean 'null'?"), (["--batch", "x"], "--batch: 'x' is no"),
                 (["--axis", "affinity=70000"], "--axis affinity: "), (["--max-batch", "0"], "--max-batch: ")]
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
            f.write("no picture")
        self.assert_one_line(self.run_deepgap("--dataset", picture), 2, "a.png")

    def test_a_store_that_is_none_is_one_line(self):
        with open(self.store, "w") as f:
            f.write("my precious notes\n" * 100)
        self.assert_one_line(self.run_deepgap(), 2, "t.db")
        with open(self.store) as f:
            self.assertIn("precious", f.read())
        self.assert_one_line(self.run_deepgap(store="/nowhere/t.db"), 2, "/nowhere/t.db")

    # The Store fails during the run

    def test_full_disk_ends_the_run_and_says_what_is_saved(self):
        self.assert_exit(self.run_deepgap(), 0)  # fills the cache
        limit = os.path.getsize(self.store) + (60 << 10)

        def limited():
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        result = self.run_deepgap("--batch", "1..64", preexec_fn=limited)
        self.assert_exit(result, 3)
        last = result.stderr.strip().split("\n")[-1]
        saved = int(re.search(r"(\d+) of 64 records were saved", last).group(1))
        self.assertEqual(len(records(self.store)), saved + 1)

    def test_a_store_that_is_removed_ends_the_run(self):
        run = self.start("--batch", "1..50", "--warmup", "0", "--iterations", "20", "--axis", "latency=10ms")
        self.wait_for(lambda: os.path.exists(self.store) and os.path.getsize(self.store) > 0)
        time.sleep(0.5)
        self.remove_store()
        out, err = run.communicate(timeout=900)
        self.assertEqual(run.returncode, 3, err)
        self.assertIn("removed or replaced", err)

    # Interruptions

    def test_ctrl_c_saves_what_is_finished_and_resume_goes_on(self):
        for points in (12, 120, 1200):  # more where a busy machine let the run end before it was seen
            self.remove_store()
            flags = ["--batch", f"1..{points}", "--warmup", "0", "--iterations", "20", "--axis", "latency=10ms"]
            run = self.start(*flags)
            self.wait_for(lambda: len(records(self.store)) >= 2)
            run.send_signal(signal.SIGINT)
            out, err = run.communicate(timeout=900)
            if run.returncode != 0:
                break
        self.assertEqual(run.returncode, 130, err)
        self.assertIn("--resume", err)
        before = [r for r in records(self.store) if r[2] == "ok"]
        self.assertGreaterEqual(len(before), 2)
        self.assertLess(len(before), points)
        result = self.run_deepgap(*flags, "--resume", counts=False)
        self.assert_exit(result, 0)
        self.assertIn("records are in", result.stderr)
        rows = [r for r in records(self.store) if r[2] == "ok"]
        self.assertEqual(rows[: len(before)], before)
        self.assertEqual(len(rows), points)
        self.assertEqual(len(set(rows)), points)
        self.assertEqual(len(re.findall(r"ok, as_found", result.stdout)), points, "the table shows all points of the plan")

    def test_ctrl_c_ends_a_hanging_worker(self):
        run = self.start("--warmup", "0", "--iterations", "20", "--axis", "hang_at=0")
        self.wait_for(lambda: marked_workers(self.mark))
        time.sleep(0.5)
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=900)
        self.assertEqual(run.returncode, 130, err)

    def reason_after(self, signals):
        """What the Record of a hanging worker says when Ctrl-C is sent so often."""
        self.remove_store()
        run = self.start("--warmup", "0", "--iterations", "20", "--axis", "hang_at=0")
        self.wait_for(lambda: os.path.exists(self.store) and marked_workers(self.mark))
        time.sleep(0.5)
        for _ in range(signals):
            run.send_signal(signal.SIGINT)
            time.sleep(0.3)
        out, err = run.communicate(timeout=900)
        self.assertEqual(run.returncode, 130, err)
        return [record[4] for record in records(self.store)]

    def test_second_ctrl_c_ends_at_once(self):
        self.assertEqual(self.reason_after(1), ["interrupted by the user; its worker did not end within 3 s and was killed"])
        # Where a busy machine lets the second come too late, it is tried again.
        twice = ["interrupted by the user twice"]
        self.assertTrue(any(self.reason_after(2) == twice for _ in range(20)))

    def test_a_killed_parent_leaves_no_worker(self):
        run = self.start("--duration", "60s")
        self.wait_for(lambda: marked_workers(self.mark))
        run.kill()
        run.communicate(timeout=900)
        self.wait_for(lambda: not marked_workers(self.mark))

    def test_resume_of_a_finished_run_does_nothing(self):
        self.assert_exit(self.run_deepgap("--batch", "1,2"), 0)
        result = self.run_deepgap("--batch", "1,2,4", "--resume")
        self.assert_exit(result, 0)
        self.assertIn("2 of 3 records", result.stderr)
        self.assertEqual(len(records(self.store)), 3)
        again = self.run_deepgap("--batch", "1,2,4", "--resume")
        self.assert_exit(again, 0)
        self.assertEqual(len(records(self.store)), 3)

    def test_resume_on_another_device_measures_again(self):
        self.assert_exit(self.run_deepgap("--batch", "1,2"), 0)
        with sqlite3.connect(self.store) as database:  # as if it had been measured on another CPU
            database.execute("UPDATE environments SET hash = 'other', json = json_set(json, '$.\"cpu.model\"', 'Another CPU 1')")
        database.close()
        planned = self.run_deepgap("--batch", "1,2", "--resume", "--dry-run")
        self.assertIn("2 points, 2 records to make", planned.stdout)
        result = self.run_deepgap("--batch", "1,2", "--resume")
        self.assert_exit(result, 0)
        self.assertIn("2 records in", result.stderr)
        self.assertIn("are of another device", result.stderr)
        self.assertEqual(len(records(self.store)), 4)
        again = self.run_deepgap("--batch", "1,2", "--resume")
        self.assert_exit(again, 0)
        self.assertEqual(len(records(self.store)), 4)

    # Limits

    def test_resume_by_another_rule_is_told(self):
        first = ["--warmup", "0", "--iterations", "5", "--repeats", "1"]
        self.assert_exit(self.run_deepgap(*first, counts=False), 0)
        again = self.run_deepgap("--warmup", "0", "--iterations", "5", "--repeats", "2", "--resume", counts=False)
        self.assert_exit(again, 0)
        self.assertNotIn("another rule", again.stderr)
        other = self.run_deepgap("--warmup", "0", "--iterations", "7", "--repeats", "3", "--resume", counts=False)
        self.assert_exit(other, 0)
        told = [line for line in other.stderr.splitlines() if "another rule" in line]
        self.assertEqual(len(told), 1, other.stderr)
        self.assertIn("--store", told[0])

    def test_a_worker_may_not_take_the_whole_machine(self):
        if sanitizer_of(PROGRAM):
            self.skipTest(f"{sanitizer_of(PROGRAM)} maps more than there is")
        with open("/proc/meminfo") as f:
            total = 1024 * int(re.search(r"MemTotal:\s+(\d+)", f.read()).group(1))
        run = self.start("--warmup", "0", "--iterations", "1000000", "--axis", "latency=5ms")
        limits = []

        def limited():
            for pid in marked_workers(self.mark):
                try:
                    with open(f"/proc/{pid}/limits") as f:
                        limits[:] = re.findall(r"Max data size\s+(\d+)", f.read())
                except OSError:
                    pass
            return bool(limits)

        try:
            self.wait_for(limited)
            self.assertLess(int(limits[0]), total)
        finally:
            run.send_signal(signal.SIGINT)
            run.communicate(timeout=900)

    def test_the_parent_stays_small(self):
        run = self.start("--warmup", "0", "--iterations", "2000", "--batch", "1..4", "--axis", "latency=100us")
        peak = 0
        while run.poll() is None:
            try:
                with open(f"/proc/{run.pid}/status") as f:
                    found = re.search(r"VmHWM:\s+(\d+) kB", f.read())
                peak = max(peak, int(found.group(1)) if found else 0)
            except OSError:
                pass
            time.sleep(0.01)
        out, err = run.communicate()
        self.assertEqual(run.returncode, 0, err)
        print(f"peak of the parent: {peak / 1024:.1f} MiB", file=sys.stderr)
        if sanitizer_of(PROGRAM):
            self.skipTest(f"{sanitizer_of(PROGRAM)} takes memory of its own")
        self.assertLess(peak, 40 << 10)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
