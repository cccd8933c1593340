"""MLPerf runs from the command line: flags, configuration files, log folders, verdicts. On null in virtual time, so that no bound depends on the machine.

Usage: mlperf_test.py PATH_OF_DEEPGAP [unittest arguments]
"""
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv[1])
MODEL = ["--model", "resnet18:width=0.125,classes=10", "--shape", "input:Nx3x32x32", "--backend", "null", "--axis", "null.clock=virtual"]


class MlperfTest(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="deepgap-mlperf-test-")
        self.store = os.path.join(self.dir, "t.db")

    def tearDown(self):
        shutil.rmtree(self.dir)

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def run_deepgap(self, *flags, code=0, cwd=None):
        command = [PROGRAM, "run", *MODEL, "--cache", self.path("cache"), "--store", self.store, "--json", *flags]
        run = subprocess.run(command, capture_output=True, text=True, timeout=900, cwd=cwd)
        self.assertEqual(run.returncode, code, run.stderr + run.stdout)
        if code == 2:
            self.assertEqual(len(run.stderr.strip().splitlines()), 1, run.stderr)
        return run

    def detail(self, *folder):
        entries = {}
        with open(self.path(*folder, "mlperf_log_detail.txt")) as f:
            for line in f:
                self.assertTrue(line.startswith(":::MLLOG "))
                entry = json.loads(line[9:])
                entries[entry["key"]] = entry["value"]
        return entries

    def test_each_scenario_gives_a_valid_result(self):
        cases = {
            "server": ["--axis", "mlperf_target_latency=5", "--axis", "mlperf_target_qps=500", "--axis", "mlperf_min_duration=60000", "--axis", "null.latency=100us"],
            "single-stream": ["--axis", "mlperf_min_duration=200", "--axis", "mlperf_target_latency=0.5"],
            "multi-stream": ["--axis", "mlperf_min_duration=200", "--axis", "mlperf_target_latency=0.5", "--batch", "8"],
            "offline": ["--axis", "mlperf_min_duration=100", "--axis", "mlperf_target_qps=40000", "--batch", "16"],
        }
        for scenario, flags in cases.items():
            with self.subTest(scenario):
                self.run_deepgap("--mlperf", "v6.0", "--scenario", scenario, "--mlperf-log", self.path(scenario), *flags)
                detail = self.detail(scenario)
                self.assertEqual(detail["result_validity"], "VALID")
                self.assertEqual(detail["effective_qsl_rng_seed"], 2465351861681999779)
                self.assertEqual(detail["effective_scenario"].lower(), scenario.replace("-", ""))
                self.assertFalse(os.path.exists(self.path(scenario, "mlperf_log_trace.json")))

    def test_logs_that_cannot_be_written_are_refused_before_anything_is_measured(self):
        run = self.run_deepgap("--mlperf", "v6.0", "--scenario", "single-stream", "--axis", "mlperf_target_latency=1", "--scale", "0.1%",
                               "--mlperf-log", "/dev/null/logs", code=2)
        self.assertEqual(run.stdout, "")
        self.assertIn("--mlperf-log", run.stderr)
        self.assertIn("/dev/null is not a folder", run.stderr)
        self.assertFalse(os.path.exists(self.store))

    def test_with_dynamic_batching(self):
        self.run_deepgap("--mlperf", "v6.0", "--scenario", "server", "--axis", "mlperf_target_qps=2000", "--axis", "mlperf_min_duration=500",
                         "--axis", "null.latency=2ms", "--max-batch", "8", "--max-delay", "1ms", "--mlperf-mode", "submission", "--axis",
                         "mlperf_target_latency=1000", "--axis",
                         "mlperf_samples=100", "--mlperf-log", self.path("log"))
        self.assertEqual(self.detail("log")["result_validity"], "VALID")
        with open(self.path("log", "mlperf_log_accuracy.json")) as f:
            self.assertEqual(sorted(answer["qsl_idx"] for answer in json.load(f)), list(range(100)))

    def test_an_invalid_run_says_what_to_change(self):
        run = self.run_deepgap("--mlperf", "v6.0", "--scenario", "server", "--axis", "mlperf_target_qps=500", "--axis",
                               "mlperf_min_duration=500", "--axis", "null.latency=30ms", code=1)
        self.assertIn("lower target_qps", run.stdout)

    def test_accuracy_and_trace(self):
        self.run_deepgap("--mlperf", "v6.0", "--scenario", "offline", "--mlperf-mode", "accuracy", "--axis", "mlperf_samples=50",
                         "--mlperf-log", self.path("log"), "--mlperf-trace")
        with open(self.path("log", "mlperf_log_accuracy.json")) as f:
            answers = json.load(f)
        self.assertEqual(sorted(answer["qsl_idx"] for answer in answers), list(range(50)))
        self.assertEqual(len(answers[0]["data"]), 8)  # a float's bytes
        with open(self.path("log", "mlperf_log_trace.json")) as f:
            self.assertGreaterEqual(len(json.load(f)["traceEvents"]), 100)

    def test_several_records_have_a_folder_each(self):
        self.run_deepgap("--mlperf", "v6.0", "--scenario", "single-stream", "--axis", "mlperf_min_duration=100", "--axis",
                         "mlperf_target_latency=0.5", "--repeats", "2", "--mlperf-log", self.path("log"))
        names = sorted(os.listdir(self.path("log")))
        self.assertEqual(len(names), 2)
        self.assertTrue(names[0].startswith("single-stream-v6.0-performance-") and names[0].endswith("-1"))
        self.assertTrue(os.path.exists(self.path("log", names[1], "mlperf_log_summary.txt")))

    def test_user_conf(self):
        with open(self.path("user.conf"), "w") as f:
            f.write("# ours\n*.SingleStream.target_latency = 0.5\n*.SingleStream.min_duration = 900\n*.Server.target_qps = 7\n"
                    "resnet50.SingleStream.min_duration = 100\n")
        self.run_deepgap("--axis", "mlperf_model=resnet50", "--mlperf", "v5.1", "--scenario", "single-stream", "--user-conf", self.path("user.conf"), "--mlperf-log",
                         self.path("log"), "--axis", "mlperf_min_query_count=70")
        detail = self.detail("log")
        self.assertEqual(detail["effective_min_duration_ms"], 100)
        self.assertEqual(detail["requested_single_stream_expected_latency_ns"], 500000)
        self.assertEqual(detail["effective_min_query_count"], 70)
        self.assertTrue(detail["loadgen_version"].startswith("5.1.1 @ deepgap"))

    def test_audit_conf(self):
        with open(self.path("audit.config"), "w") as f:
            f.write("*.*.mode = 2\n*.*.performance_issue_same = 1\n*.*.performance_issue_same_index = 3\n")
        with open(self.path("user.conf"), "w") as f:
            f.write("*.SingleStream.target_latency = 0.5\n*.SingleStream.min_duration = 100\n*.*.performance_issue_same_index = 5\n")
        flags = ["--mlperf", "v6.0", "--scenario", "single-stream", "--user-conf", self.path("user.conf"), "--audit-conf", self.path("audit.config")]
        os.mkdir(self.path("elsewhere"))
        with open(self.path("elsewhere", "audit.config"), "w") as f:
            f.write("garbage\n")  # LoadGen would take it up in silence: here a file holds only when it is named
        self.run_deepgap(*flags, "--mlperf-log", self.path("log"), cwd=self.path("elsewhere"))
        detail = self.detail("log")
        self.assertEqual((detail["effective_performance_issue_same"], detail["effective_performance_issue_same_index"]), (True, 3))
        rows = json.loads(subprocess.run([PROGRAM, "export", self.store, "--format", "json"], capture_output=True, text=True, check=True).stdout)
        self.assertIn("mlperf_test=TEST04", rows[0]["options"])
        for more, words in ((["--mlperf-mode", "accuracy"], "sets mlperf_mode, and so does a flag"),
                            (["--mlperf-test", "TEST01"], "sets mlperf_test, and so does a flag"),
                            (["--scenario", "server,offline"], "one --scenario"),
                            (["--audit-conf", self.path("elsewhere", "audit.config")], "audit.config:1: ")):
            with self.subTest(more):
                self.assertIn(words, self.run_deepgap(*flags, *more, code=2).stderr)

    def test_wrong_input(self):
        with open(self.path("bad.conf"), "w") as f:
            f.write("*.Server.target_qps = 5\n*.Server.target_qp = 5\n")
        server = ["--mlperf", "v6.0", "--scenario", "server"]
        for flags, words in (
            (["--mlperf", "v7", "--scenario", "server"], "v7"),
            (["--mlperf", "v6.0", "--scenario", "batch"], "single-stream, multi-stream, server or offline"),
            ([*server, "--mlperf-mode", "fast"], "invalid value 'fast' for --mlperf-mode"),
            ([*server, "--rate", "5", "--axis", "mlperf_target_qp=5"], "did you mean 'mlperf_target_qps'"),
            ([*server, "--axis", "mlperf_target_qps=-5"], "target_qps is -5"),
            ([*server, "--axis", "mlperf_target_qps=nan"], "mlperf_target_qps"),
            ([*server, "--axis", "mlperf_target_qps=0"], "target_qps"),
            ([*server, "--scale", "0"], "--scale"),
            (["--scale", "1%"], "--mlperf"),
            (["--axis", "mlperf_min_duration=5"], "--mlperf"),
            ([*server, "--iterations", "5"], "--iterations"),
            ([*server, "--mlperf-trace"], "--mlperf-log"),
            (["--scenario", "offline", "--mlperf-log", self.path("log")], "--mlperf-log goes with MLPerf runs"),
            ([*server, "--mlperf-test", "TEST09"], "TEST01"),
            ([*server, "--user-conf", self.path("bad.conf")], "bad.conf:2: unknown key 'target_qp', did you mean 'target_qps'?"),
            (["--scenario", "server", "--user-conf", self.path("bad.conf")], "one --mlperf"),
            ([*server, "--user-conf", self.path("none.conf")], "none.conf"),
        ):
            with self.subTest(" ".join(flags)):
                self.assertIn(words, self.run_deepgap(*flags, code=2).stderr)

    def test_logs_of_an_earlier_run_are_not_lost(self):
        run = ["--mlperf", "v6.0", "--scenario", "offline", "--scale", "0.001", "--mlperf-log", self.path("log")]
        self.run_deepgap(*run, code=1)  # so short a run is invalid
        self.assertIn("name another folder", self.run_deepgap(*run, code=2).stderr)

    def test_a_log_folder_that_cannot_be_written(self):
        run = self.run_deepgap("--mlperf", "v6.0", "--scenario", "offline", "--mlperf-log", "/proc/nowhere", code=1)
        self.assertIn("cannot write /proc/nowhere", run.stdout)

    def export(self, *flags, code=0):
        run = subprocess.run([PROGRAM, "export", self.store, "--format", "mlperf", *flags], capture_output=True, text=True, timeout=900)
        self.assertEqual(run.returncode, code, run.stderr)
        return run.stderr

    def test_a_submissions_tree(self):
        common = ["--mlperf", "v5.0", "--axis", "mlperf_model=resnet50", "--axis", "mlperf_min_duration=100", "--axis",
                  "mlperf_target_qps=5000", "--batch", "2048", "--dataset", "zeros"]
        for scenario, latency in (("server", "10us"), ("offline", "20ms")):
            for kind in ([], ["--mlperf-mode", "accuracy"], ["--mlperf-test", "TEST01"], ["--mlperf-test", "TEST04"]):
                self.run_deepgap(*common, "--axis", f"null.latency={latency}", "--scenario", scenario, *kind, "--mlperf-log",
                                 self.path(scenario + "".join(kind)))
        notes = self.export("--output", self.path("tree"), "--submitter", "us")
        self.assertIn("by the round's rules no: min_duration is 100, v5.0 asks for at least 600000", notes)
        self.check_tree(self.path("tree", "open", "us"), 6023615788873153749, ("Server", "Offline"))
        self.assertIn("is not empty", self.export("--output", self.path("tree"), code=2))

    # What the submission checker reads of ResNet-50 in v5.0, but the length of the run.
    def check_tree(self, root, qsl_seed, scenarios):
        (system,) = os.listdir(os.path.join(root, "results"))
        with open(os.path.join(root, "systems", system + ".json")) as f:
            description = json.load(f)
        self.assertEqual((description["division"], description["submitter"], description["system_type"]), ("open", "us", "datacenter"))
        for field in ("status", "system_name", "host_processor_model_name", "host_memory_capacity", "accelerators_per_node", "cooling",
                      "framework", "operating_system", "other_software_stack", "number_of_nodes", "host_networking"):
            self.assertTrue(description[field], field)
        for scenario in scenarios:
            results = os.path.join(root, "results", system, "resnet50", scenario)
            measurements = os.path.join(root, "measurements", system, "resnet50", scenario)
            compliance = os.path.join(root, "compliance", system, "resnet50", scenario)
            detail = self.detail(os.path.join(results, "performance", "run_1"))
            self.assertEqual(detail["effective_scenario"], scenario)
            self.assertEqual(detail["effective_performance_sample_count"], 1024)
            self.assertEqual(detail["effective_qsl_rng_seed"], qsl_seed)
            for key in ("effective_sample_index_rng_seed", "effective_schedule_rng_seed", "effective_min_query_count",
                        "effective_samples_per_query", "effective_min_duration_ms"):
                self.assertIsInstance(detail[key], int, key)
            if scenario == "Server":
                self.assertEqual(detail["effective_target_latency_ns"], 15000000)
                self.assertGreater(detail["result_completed_samples_per_sec"], 0)
                self.assertTrue(detail["early_stopping_met"])
            else:
                self.assertGreaterEqual(detail["effective_samples_per_query"], 24576)
                self.assertGreater(detail["result_samples_per_second"], 0)
            accuracy = self.detail(os.path.join(results, "accuracy"))
            self.assertEqual(accuracy.get("effective_accuracy_sample_count", accuracy["qsl_reported_total_count"]), 50000)
            self.assertLessEqual(os.path.getsize(os.path.join(results, "accuracy", "mlperf_log_accuracy.json")), 10 * 1024)
            with open(os.path.join(results, "accuracy", "accuracy.txt")) as f:
                text = f.read()
            self.assertIn("synthetic", text)
            self.assertNotIn("accuracy=", text)
            with open(self.path(scenario.lower() + "--mlperf-modeaccuracy", "mlperf_log_accuracy.json"), "rb") as f:
                self.assertIn("hash=" + hashlib.sha256(f.read()).hexdigest(), text.splitlines())
            with open(os.path.join(measurements, f"{system}_deepgap_{scenario}.json")) as f:
                implementation = json.load(f)
            for key in ("input_data_types", "retraining", "starting_weights_filename", "weight_data_types", "weight_transformations"):
                self.assertTrue(implementation[key], key)
            for name in ("user.conf", "README.md"):
                self.assertGreater(os.path.getsize(os.path.join(measurements, name)), 0)
            for test, names in (("TEST01", ("verify_accuracy.txt", "verify_performance.txt")), ("TEST04", ("verify_performance.txt",))):
                self.detail(os.path.join(compliance, test, "performance", "run_1"))
                for name in names:
                    with open(os.path.join(compliance, test, name)) as f:
                        self.assertRegex(f.read(), "TEST (PASS|FAIL)")
            with open(os.path.join(compliance, "TEST01", "verify_accuracy.txt")) as f:
                self.assertIn("TEST PASS", f.read())

    def test_a_tree_of_too_little(self):
        self.run_deepgap("--mlperf", "v6.0", "--scenario", "offline", "--axis", "mlperf_model=resnet50", "--scale", "0.001", "--mlperf-log",
                         self.path("log"), "--axis", "mlperf_target_qps=100000", "--batch", "64")
        self.assertIn("lacks: SingleStream performance", self.export("--output", self.path("tree"), code=2))
        self.assertIn("--output", self.export(code=2))
        self.assertIn("--submitter", self.export("--output", self.path("tree"), "--submitter", "../x", code=2))

    def test_the_study_plans_all_five_benchmarks(self):
        study = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../studies/mlperf.toml")
        command = [PROGRAM, "run", study, "--scale", "1%", "--dry-run", "--cache", self.path("cache"), "--backend", "null"]
        run = subprocess.run(command, capture_output=True, text=True, timeout=900)
        self.assertEqual(run.returncode, 0, run.stderr)
        for name in ("resnet50", "mobilenet_v1", "ssd_mobilenet_v1", "ssd_resnet34", "gnmt"):
            self.assertRegex(run.stdout, name + r" .*server.*: about")
        # Today's four scenarios and three of 2019 for five networks; 2019's multi-stream is a search for each.
        self.assertEqual(re.findall(r"(\d+) points?, \d+ records? to measure, (\d+) refused, 0 skipped", run.stdout), [("35", "0"), ("3", "0"), ("1", "0"), ("1", "0")])
        lines = [line for line in run.stdout.splitlines() if " to measure, " not in line]
        self.assertEqual([line for line in lines if "refused" in line], [])
        self.assertEqual({line.split(" ")[0] for line in lines if "searches from 2 samples a query" in line},
                         {"resnet50", "mobilenet_v1", "ssd_mobilenet_v1", "ssd_resnet34", "gnmt"})


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
