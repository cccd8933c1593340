"""Tests costs and recommendations: `deepgap import`, `--prices`, `deepgap recommend`, over the Stores in docs/results and the tables in
studies/published.

Usage: decide_test.py PATH_OF_DEEPGAP [unittest arguments]
"""
import csv
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv[1])
H200 = os.path.abspath("docs/results/h200-libtorch/h200.db")
PEAK = os.path.abspath("docs/results/h200-load/peak-confirmed.db")
ROOT = os.path.abspath(".")
PUBLISHED = os.path.abspath("studies/published")

PRICES = """
[[price]]
device = "H200"
per_hour = 3.6
currency = "USD"
source = "the test"
date = "2026"
"""


class DecideTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="deepgap-test-")
        cls.prices = os.path.join(cls.dir, "prices.toml")
        with open(cls.prices, "w") as file:
            file.write(PRICES)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    def run_deepgap(self, *arguments, code=0):
        result = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=900, cwd=self.dir)
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def rows(self, *arguments):
        return list(csv.DictReader(io.StringIO(self.run_deepgap("export", *arguments).stdout)))

    def imported(self, table, *arguments):
        return json.loads(self.run_deepgap("import", "csv", os.path.join(PUBLISHED, table), "--json", *arguments).stdout)

    def test_the_studies_tables_tell_their_errors_and_no_others(self):
        found = {table: self.imported(table + ".csv") for table in
                 ("v100_p100_cost", "v100_p100_resnet50", "training_intensity", "mlperf_resnet50", "mlperf_gnmt")}
        self.assertEqual({table: each["records"] for table, each in found.items()},
                         {"v100_p100_cost": 6, "v100_p100_resnet50": 49, "training_intensity": 9, "mlperf_resnet50": 29, "mlperf_gnmt": 2})
        cells = {table: [(each["row"], each["column"]) for each in of["contradictions"]] for table, of in found.items()}
        self.assertEqual(cells, {"v100_p100_cost": [(row, "usd_per_1000_images") for row in range(1, 7)], "v100_p100_resnet50": [],
                                 "training_intensity": [(2, "intensity_flop_byte"), (2, "step_time_s"), (5, "intensity_flop_byte")],
                                 "mlperf_resnet50": [], "mlperf_gnmt": []})

    def test_importing_twice_is_importing_once(self):
        store = os.path.join(self.dir, "twice.db")
        table = os.path.join(PUBLISHED, "v100_p100_cost.csv")
        self.run_deepgap("import", "csv", table, "-o", store)
        self.assertIn("6 already present", self.run_deepgap("import", "csv", table, "-o", store).stdout)
        rows = self.rows(store, "--prices", "studies")
        self.assertEqual(len(rows), 6)
        expected = [0.00357, 0.00729, 0.00174, 0.00424, 0.00113, 0.0023]
        for row, cost in zip(rows, expected):
            self.assertAlmostEqual(float(row["cost_per_1000_items"]), cost, 5)
            self.assertEqual(row["published_source"], "eece5640-2025")
            self.assertEqual(row["unchecked"], "true")

    def test_what_is_published_is_never_unsaid(self):
        store = os.path.join(self.dir, "said.db")
        self.imported("mlperf_resnet50.csv", "-o", store)
        page = self.run_deepgap("report", store, H200, "-o", "-").stdout
        self.assertIn("29 points were published by mlperf-inference, not measured by deepgap", page)
        self.assertEqual({row["batch"] for row in self.rows(store)}, {""})

    def test_costs_have_the_throughputs_interval(self):
        rows = [row for row in self.rows(H200, "--by", "point", "--prices", self.prices) if row["throughput_ci_low"]]
        self.assertGreater(len(rows), 200)
        for row in rows:
            if row["device_name"] != "NVIDIA H200":
                self.assertEqual(row["cost_per_hour"], "")
                continue
            self.assertAlmostEqual(float(row["cost_per_1000_items"]), 1 / float(row["throughput"]), 12)
            if float(row["throughput_ci_low"]) > 0:
                self.assertAlmostEqual(float(row["cost_per_1000_items_ci_high"]) * float(row["throughput_ci_low"]), 1, 9)
        said = self.run_deepgap("export", H200, "--prices", self.prices).stderr
        self.assertIn('no price for \'Intel(R) Xeon(R) Processor (family 6 model 207), 16 CPUs\': add [[price]]', said)

    def test_a_report_of_several_studies_is_named_by_what_they_measured(self):
        train = os.path.join(ROOT, "docs/results/training/h200.db")
        for stores, title in (([train], "Training performance"), ([H200, PEAK], "Inference performance"),
                              ([train, H200], "Performance of inference and training")):
            self.assertIn(f"# {title}\n", self.run_deepgap("report", *stores, "--format", "md", "-o", "-").stdout)

    def test_ratios_to_a_baseline(self):
        rows = self.rows(H200, "--by", "point", "--prices", self.prices, "--baseline", "backend=native;device=cpu;precision=fp32")
        compared = [row for row in rows if row["throughput_ratio"]]
        base = {(row["model"], row["batch"]): float(row["throughput"]) for row in rows if row["backend"] == "native"}
        self.assertGreater(len(compared), len(base))
        for row in compared:
            self.assertAlmostEqual(float(row["throughput_ratio"]), float(row["throughput"]) / base[row["model"], row["batch"]], 6)
            self.assertLessEqual(float(row["throughput_ratio_ci_low"]), float(row["throughput_ratio"]))
        text = self.run_deepgap("report", H200, "--baseline", "backend=native", "--format", "md", "-o", "-").stdout
        self.assertIn("throughput ratio", text)
        self.assertIn("no usable point", self.run_deepgap("report", H200, "--baseline", "backend=nativ", "-o", "-", code=2).stderr)
        self.assertIn("add --by point", self.run_deepgap("export", H200, "--baseline", "backend=native", code=2).stderr)

    def test_the_studies_questions_are_answered(self):
        def report(table, *arguments):
            store = os.path.join(self.dir, table + "-report.db")
            self.imported(table + ".csv", "-o", store)
            return self.run_deepgap("report", store, "--format", "md", "-o", "-", *arguments).stdout
        text = report("v100_p100_resnet50", "--prices", "studies")
        for said in ("cheapest with tensorflow · P100-PCIE-12GB · mixed · graph=on · batch 8192, 0.00113 USD for 1000 items",
                     "V100-SXM2-32GB at its cheapest, mixed batch 2048, costs 1.54 times as much",  # the report took the V100 for the cheapest
                     "mixed is not compared with fp32 (single run)", "Both at batch 64, the largest that both ran.", "a scaling efficiency of 0.49",
                     "1.00 at batch 8, 1.00 at batch 16, 1.00 at batch 32",  # the host sets the speed of both cards
                     "Batch 4096 is fastest, 352.7 items/s at 36 % utilisation; batch 512 has 50 %"):
            self.assertIn(said, text)
        text = report("mlperf_resnet50")
        self.assertIn("the server scenario reaches 82 % to 95 % of the offline throughput", text)
        self.assertIn("4 x T4 v0.5 DellEMC 92 % (5186 of 5610 for each device)", text)
        self.assertIn("the server scenario reaches 77 % of the offline throughput", self.run_deepgap("report", PEAK, "--format", "md", "-o", "-").stdout)

    def recommend(self, *arguments, code=0):
        return json.loads(self.run_deepgap("recommend", *arguments, "--json", code=code).stdout)

    def test_the_confirmed_peak_is_what_a_device_carries(self):
        found = self.recommend(PEAK, "--bound", "p99=15ms", "--rate", "40000")
        choice = found["choice"]
        self.assertEqual((choice["devices"], choice["basis"], choice["precision"]), (4, "measured", "fp16"))
        self.assertEqual(choice["capacity"], 11668.9)

    def test_the_queues_estimate_is_near_the_measured_peak(self):
        choice = self.recommend(H200, "--model", "resnet50", "--bound", "p99=15ms", "--rate", "1000000")["choice"]
        self.assertEqual(choice["basis"], "estimated")
        self.assertGreater(choice["capacity"], 11668.9)  # it knows nothing of copies and of the dispatcher
        self.assertLess(choice["capacity"], 1.4 * 11668.9)
        self.assertLessEqual(choice["latency_ms"], 15)

    def test_nothing_that_fits_is_exit_1_with_the_nearest(self):
        found = self.recommend(PEAK, "--bound", "p99=1ms", "--rate", "40000", code=1)
        self.assertIsNone(found["choice"])
        self.assertEqual(found["nearest"]["bound"], "latency")

    def test_a_cost_a_month_is_price_times_devices_times_hours(self):
        choice = self.recommend(PEAK, "--bound", "p99=15ms", "--rate", "40000", "--prices", self.prices)["choice"]
        self.assertAlmostEqual(choice["cost_per_month"], 4 * 3.6 * 730.5)
        self.assertEqual(choice["currency"], "USD")

    def test_what_was_exported_imports_without_loss(self):
        for store in (H200, PEAK, "docs/results/h200-load/tenants.db", "docs/results/quickstart-xeon-16/store.db"):
            for form in ("csv", "json"):
                first, back, second = (os.path.join(self.dir, name) for name in ("first." + form, "back.db", "second." + form))
                self.run_deepgap("export", os.path.abspath(os.path.join(ROOT, store)), "-o", first)
                self.run_deepgap("import", "deepgap", first, "-o", back)
                self.run_deepgap("export", back, "-o", second)
                os.remove(back)
                with open(first) as a, open(second) as b:
                    self.assertEqual(a.read(), b.read(), store)

    def test_rows_by_point_import_without_loss_and_say_what_they_are(self):
        for store in (H200, PEAK, "docs/results/h200-load/tenants.db", "docs/results/training/h200.db"):
            for form in ("csv", "json"):
                first, back, second, third = (os.path.join(self.dir, name) for name in
                                              ("first." + form, "back.db", "second." + form, "third." + form))
                self.run_deepgap("export", os.path.abspath(os.path.join(ROOT, store)), "--by", "point", "-o", first)
                self.assertIn("averages over repeats", self.run_deepgap("import", "deepgap", first, "-o", back).stderr)
                self.run_deepgap("export", back, "--by", "point", "-o", second)
                self.assertIn("already present", self.run_deepgap("import", "deepgap", second, "-o", back).stdout)
                self.run_deepgap("export", back, "--by", "record", "-o", third)
                os.remove(back)
                self.run_deepgap("import", "deepgap", third, "-o", back)
                self.run_deepgap("export", back, "--by", "point", "-o", third)
                os.remove(back)

                def rows(path):
                    with open(path) as file:
                        return list(csv.DictReader(file)) if form == "csv" else json.load(file)
                before, after = rows(first), rows(second)
                self.assertEqual(after, rows(third))
                self.assertEqual(len(before), len(after))
                for old, new in zip(before, after):
                    self.assertIn("averaged=on", new["options"].split(";"))
                    for column in old:
                        if column not in ("point_id", "options"):
                            self.assertEqual(old[column], new[column], (store, column))
        rows, back = os.path.join(self.dir, "averages.csv"), os.path.join(self.dir, "averages.db")
        self.run_deepgap("export", H200, "--by", "point", "-o", rows)
        self.run_deepgap("import", "deepgap", rows, "-o", back)
        self.assertIn("273 points were imported as averages, whose repeats are not here", self.run_deepgap("report", back, "-o", "-").stdout)
        asked = ("--model", "resnet50", "--bound", "p99=15ms", "--rate", "40000")
        from_averages, from_runs = self.recommend(back, *asked)["choice"], self.recommend(H200, *asked)["choice"]
        for key in ("devices", "precision", "batch", "capacity"):
            self.assertEqual(from_averages[key], from_runs[key], key)
        held = self.run_deepgap("compare", back, H200, "--a", "averaged=on", "--select", "precision=tf32").stdout
        self.assertIn("same within 2 %", held)
        self.assertNotIn("slower", held)
        self.assertIn("is an average over", self.run_deepgap("rerun", self.rows(back)[0]["record_id"][:12], "--from", back, code=2).stderr)

    def test_costs_come_back_with_their_currency(self):
        rows, back = os.path.join(self.dir, "priced.csv"), os.path.join(self.dir, "priced.db")
        self.run_deepgap("export", PEAK, "--prices", self.prices, "-o", rows)
        self.run_deepgap("import", "deepgap", rows, "-o", back)
        self.assertEqual({row["currency"] for row in self.rows(back)}, {"USD"})
        euros = os.path.join(self.dir, "euros.toml")
        with open(euros, "w") as file:
            file.write(PRICES.replace("USD", "EUR"))
        self.assertIn("published in the stores are in USD", self.run_deepgap("recommend", back, "--prices", euros, code=2).stderr)
        self.run_deepgap("export", PEAK, "--prices", euros, "--select", "scenario=offline", "-o", rows)
        with open(rows) as file:
            text = file.read().splitlines()
        with open(rows, "w") as file:  # others by their ids
            file.write("\n".join([text[0]] + ["f" + line[1:] for line in text[1:]]) + "\n")
        self.run_deepgap("import", "deepgap", rows, "-o", back)
        self.assertIn("are in EUR and USD: choose one currency with --select currency=EUR",
                      self.run_deepgap("report", back, "-o", "-", code=2).stderr)
        self.run_deepgap("report", back, "--select", "currency=USD", "-o", "-")

    def test_profiles_import_without_loss(self):
        store = os.path.join(ROOT, "docs/results/training/h200.db")
        rows, profiles, back, again = (os.path.join(self.dir, name) for name in ("p.csv", "p.json", "p.db", "again.json"))
        self.run_deepgap("export", store, "-o", rows)
        self.run_deepgap("export", store, "--profile", "-o", profiles)
        self.run_deepgap("import", "deepgap", rows, "--profile", profiles, "-o", back)
        self.run_deepgap("export", back, "--profile", "-o", again)
        with open(profiles) as a, open(again) as b:
            self.assertEqual(json.load(a), json.load(b))
        self.assertIn("--profile " + profiles, self.run_deepgap("import", "deepgap", profiles, code=2).stderr)
        with open(profiles) as file:
            damaged = json.load(file)
        damaged[0]["kept"]["profile"]["layers"] = 3
        with open(profiles, "w") as file:
            json.dump(damaged, file)
        self.assertIn("profile 1: damaged profile", self.run_deepgap("import", "deepgap", rows, "--profile", profiles, code=2).stderr)

    def test_what_cannot_be_imported_says_what_can(self):
        log, layers = os.path.join(self.dir, "gpu.log"), os.path.join(self.dir, "layers.csv")
        self.run_deepgap("export", H200, "--telemetry", "--format", "log", "-o", log)
        self.run_deepgap("export", "--profile", os.path.join(ROOT, "docs/results/training/h200.db"), "-o", layers)
        for path, said in ((H200, "deepgap merge"), (log, "export --telemetry --format csv"), (layers, "--profile NAME.json")):
            text = self.run_deepgap("import", "deepgap", path, "-o", os.path.join(self.dir, "no.db"), code=2).stderr
            self.assertIn(said, text)
            self.assertEqual(text.count("\n"), 1)

    def test_training_is_not_weighed_against_inference(self):
        train = os.path.join(ROOT, "docs/results/training/h200.db")
        text = self.run_deepgap("recommend", train, H200, "--model", "resnet50", code=2).stderr
        self.assertIn("several tasks (infer, train): choose one with --task", text)
        self.run_deepgap("recommend", train, H200, "--model", "resnet50", "--task", "train")
        self.assertIn("answer no queries", self.run_deepgap("recommend", train, "--model", "resnet50", "--bound", "p99=15ms", code=2).stderr)

    def test_loadgens_summary(self):
        store = os.path.join(self.dir, "summary.db")
        log = os.path.join(ROOT, "tests/data/loadgen/logs/server/mlperf_log_summary.txt")
        self.assertIn("add --set model=NAME", self.run_deepgap("import", "mlperf", log, code=2).stderr)
        self.run_deepgap("import", "mlperf", log, "--set", "model=resnet50", "--set", "device_name=NVIDIA L4", "-o", store)
        row, = self.rows(store)
        self.assertEqual((row["scenario"], row["verdict"], row["device_name"], row["published_source"]),
                         ("server", "valid", "NVIDIA L4", "mlperf"))
        self.assertEqual((float(row["throughput"]), float(row["latency_p99_ms"])), (1001.55, 0.107903))

    def test_the_submission_checkers_table(self):
        table, store = os.path.join(self.dir, "summary.csv"), os.path.join(self.dir, "checker.db")
        with open(table, "w") as file:
            file.write("Organization,Availability,Division,SystemName,Model,Scenario,Result,Accuracy,number_of_nodes,host_processor_model_name,"
                       "accelerator_model_name,accelerators_per_node,framework,version,Units,weight_data_types\n"
                       "Us,available,closed,box,resnet,Offline,25600,acc: 76,1,EPYC,NVIDIA L4,2,TensorRT 10,v4.1,Samples/s,int8\n"
                       "Us,available,closed,box,resnet,SingleStream,0.41,acc: 76,1,EPYC,NVIDIA L4,2,TensorRT 10,v4.1,Latency (ms),int8\n")
        self.run_deepgap("import", "mlperf", table, "-o", store, "--source", "round-4.1")
        offline, single = self.rows(store)
        self.assertEqual((offline["device_count"], offline["throughput_per_device"], offline["model"]), ("2", "12800", "resnet50"))
        self.assertEqual((single["scenario"], single["latency_p90_ms"], single["throughput"]), ("single-stream", "0.41", ""))
        self.assertIn("neither LoadGen's", self.run_deepgap("import", "mlperf", self.prices, code=2).stderr)

    def test_bad_input_is_one_line(self):
        def said(*arguments):
            text = self.run_deepgap(*arguments, code=2).stderr
            self.assertEqual(text.count("\n"), 1, text)
            return text
        self.assertIn("contradict each other", said("recommend", PEAK, "--bound", "p99=15ms", "--bound", "p99=10ms"))
        self.assertIn("contradict each other", said("recommend", PEAK, "--bound", "p50=15ms", "--bound", "p99=10ms"))
        self.assertIn("is given twice", said("recommend", PEAK, "--bound", "p99=15ms", "--bound", "p99=15ms"))
        self.assertIn("needs --prices FILE", said("recommend", PEAK, "--minimize", "cost"))
        self.assertIn("expected at most", said("recommend", PEAK, "--rate", "1e300"))
        self.assertIn("choose one with --model", said("recommend", H200))
        self.assertIn("did you mean 'resnet50'", said("recommend", H200, "--model", "resnet5"))
        self.assertIn("invalid value '-3' for --rate", said("recommend", PEAK, "--rate", "-3"))
        self.assertIn("did you mean 'energy'", said("recommend", PEAK, "--minimize", "enrgy"))
        self.assertIn("did you mean 'unchecked'", said("recommend", PEAK, "--allow", "uncheckd"))
        self.assertIn("no such", said("import", "csv", "nothing.csv").lower())
        self.assertIn("invalid value 'xls' for FORMAT: expected csv, deepgap", said("import", "xls", os.path.join(PUBLISHED, "v100_p100_cost.csv")))
        self.assertIn("deepgap does not know", said("import", "csv", os.path.join(self.dir, "prices.toml")))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
