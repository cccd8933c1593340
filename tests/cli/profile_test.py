#!/usr/bin/env python3
"""`deepgap profile` as a user runs it. Argument: the program. Run from the tree's root."""
import csv
import json
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import unittest

DEEPGAP = sys.argv.pop(1)
CACHE = "build/test-cache"
MODEL = "resnet18:image=64"


def deepgap(*arguments):
    return subprocess.run([DEEPGAP, *arguments], capture_output=True, text=True, timeout=900)


def profile(*arguments, cache=CACHE):
    return deepgap("profile", MODEL, "--cache", cache, *arguments)


def answer(*arguments, cache=CACHE):
    run = profile("--json", *arguments, cache=cache)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def is_disturbed(ceilings):
    """Returns whether another process took time from the samples, as deepgap judges it. Such measured peaks are not kept and prove little."""
    return any(row["median_flop_per_s"] < 0.8 * row["flop_per_s"] for row in ceilings["compute"])


class Profile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.result = answer("--batch", "2", "--rounds", "9")

    def test_layers_hold_all_the_work_of_the_network(self):
        model = json.loads(deepgap("models", MODEL, "--json").stdout)[0]
        macs = sum(layer["macs"] or 0 for layer in self.result["layers"])
        self.assertEqual(macs, 2 * model["macs"])
        self.assertEqual(self.result["left_over"], [])
        fused = [layer for layer in self.result["layers"] if len(layer["nodes"]) > 1]
        self.assertGreater(len(fused), 5)
        for layer in self.result["layers"]:
            if layer["macs"]:
                self.assertGreater(layer["bytes"], 0)
                self.assertEqual(layer["precision"], "fp32")

    def test_sums_are_the_sums(self):
        result = self.result
        self.assertEqual(result["rounds"], 9)
        layers = sum(layer["ms"] for layer in result["layers"])
        self.assertAlmostEqual(layers, result["sum"]["ms"], places=6)
        self.assertAlmostEqual(result["whole_ms"] - layers, result["between_layers_ms"], places=6)
        self.assertAlmostEqual(sum(group["ms"] for group in result["by_operator"]), layers, places=6)
        self.assertAlmostEqual(sum(result["bounds"].values()), 1, places=6)
        off = abs(result["between_layers_ms"]) / result["whole_ms"]
        self.assertEqual(off > 0.05, any("of the time of the whole" in note for note in result["notes"]))
        print(f"layers take {100 * layers / result['whole_ms']:.1f} % of the whole")

    def test_no_layer_is_far_above_the_ceilings(self):
        # Both are measured, on a machine that others may use too: a ratio of two would be a wrong ceiling or wrong counts.
        best = 0
        for layer in self.result["layers"]:
            if layer["of_roof"] is None or layer["share"] < 0.01:
                continue
            self.assertGreater(layer["of_roof"], 0)
            self.assertIn(layer["bound"], ("compute", "cache", "memory"))
            best = max(best, layer["of_roof"])
        print(f"the best layer reaches {100 * best:.0f} % of its roof")
        self.assertGreater(best, 0)
        if is_disturbed(self.result["ceilings"]):
            print("the ceilings were measured beside something else: how far layers are above them tells nothing")
        else:
            self.assertLess(best, 2)

    def test_ceilings_are_kept(self):
        with tempfile.TemporaryDirectory(prefix="deepgap-profile-") as cache:
            first, again = (answer("--rounds", "1", cache=cache) for _ in range(2))
            kept = list(pathlib.Path(cache).glob("ceilings/*.json"))
        self.assertTrue(first["ceilings_measured_now"])
        if not is_disturbed(first["ceilings"]):
            self.assertEqual(again["ceilings"], first["ceilings"])
        self.assertEqual(again["ceilings_measured_now"], is_disturbed(first["ceilings"]))
        self.assertEqual(len(kept), 0 if is_disturbed(first["ceilings"]) and is_disturbed(again["ceilings"]) else 1)

    def test_ceilings_are_those_of_the_threads(self):
        other = answer("--rounds", "1", "--threads", "1", "--fresh-ceilings")
        self.assertTrue(other["ceilings_measured_now"])
        self.assertEqual(other["ceilings"]["threads"], 1)

    def test_the_table_fits(self):
        run = profile("--rounds", "2", "--top", "3")
        self.assertEqual(run.returncode, 0, run.stderr)
        lines = run.stdout.splitlines()
        self.assertIn("slowest 3 layers", run.stdout)
        self.assertIn("between layers", run.stdout)
        table = [line for line in lines if " % " in line and not line.endswith(".")]
        self.assertGreater(len(table), 6)
        for line in table:
            self.assertLessEqual(len(line), 120, line)

    def test_openvino_tells_too_where_it_is(self):
        names = [row["name"] for row in json.loads(deepgap("backends", "--json").stdout)]
        if "openvino" not in names or profile("--backend", "openvino", "--rounds", "1").returncode == 1:
            print("openvino is not here: its layers are not tried")
            return
        result = answer("--backend", "openvino", "--rounds", "3")
        model = json.loads(deepgap("models", MODEL, "--json").stdout)[0]
        self.assertEqual(sum(layer["macs"] or 0 for layer in result["layers"]), model["macs"])

    def refused(self, code, *arguments):
        run = deepgap("profile", *arguments, "--cache", CACHE)
        self.assertEqual(run.returncode, code, run.stderr)
        self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)
        return run.stderr

    def test_the_page_loads_nothing_and_says_why(self):
        with tempfile.TemporaryDirectory(prefix="deepgap-page-") as folder:
            page = pathlib.Path(folder) / "p.html"
            run = profile("--rounds", "2", "--output", str(page))
            self.assertEqual(run.returncode, 0, run.stderr)
            html = page.read_text()
            for part in ("Roofline", "Furthest from their bound", "By operator", "Measured peaks", "<svg"):
                self.assertIn(part, html)
            self.assertNotIn("http", html.replace("http-equiv", ""))
            self.assertNotIn("<script", html)

    def test_the_cpu_counts_or_says_why_not(self):
        counters = self.result["cpu_counters"]
        self.assertEqual(len(counters["counts"]) + len(counters["missing"]), 18)
        for reason in counters["missing"].values():
            self.assertTrue(reason)
        self.assertIsNone(self.result["device_work"])
        self.assertIsInstance(self.result["findings"], list)

    def test_an_engine_without_layer_times_is_refused(self):
        self.assertIn("null reports no times of its layers", self.refused(1, MODEL, "--backend", "null"))

    def test_wrong_input_is_one_line(self):
        self.assertIn("'native'", self.refused(2, MODEL, "--backend", "natve"))
        self.assertIn("'path'", self.refused(2, MODEL, "--option", "pth=fast"))
        self.assertIn("NAME=VALUE", self.refused(2, MODEL, "--option", "path"))
        self.assertIn("--batch", self.refused(2, MODEL, "--batch", "0"))
        self.assertIn("--rounds", self.refused(2, MODEL, "--rounds", "-3"))
        self.assertIn("fp33", self.refused(2, MODEL, "--precision", "fp33"))
        self.assertIn("resnet18", self.refused(2, "resnet19"))
        self.assertIn("fp16", self.refused(1, MODEL, "--precision", "fp16"))
        self.assertIn("--trace shows what a GPU did", self.refused(2, MODEL, "--trace", "t.json"))
        self.assertIn("folder /nowhere does not exist", self.refused(2, MODEL, "--output", "/nowhere/p.html"))
        self.assertIn("cannot open /nowhere.toml", self.refused(2, MODEL, "--families", "/nowhere.toml"))


class Kept(unittest.TestCase):
    """`run --profile`: taken after the timing, beside a Record, exported, compared, in the report."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="deepgap-kept-")
        cls.store = f"{cls.folder.name}/a.db"
        cls.done = cls.run_points()
        assert cls.done.returncode == 0, cls.done.stderr

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def run_points(cls, *arguments, batch="1,2"):
        return deepgap("run", MODEL, "--batch", batch, "--warmup", "1", "-n", "5", "--check", "off", "--cache", CACHE, "--store", cls.store,
                       "--profile", *arguments)

    def export(self, *arguments, store=None):
        run = deepgap("export", store or self.store, *arguments)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout

    def test_a_profile_for_each_point_after_all_was_timed(self):
        self.assertIn("2 profiles", self.done.stdout)
        records = json.loads(self.export("--format", "json"))
        profiles = json.loads(self.export("--profile", "--format", "json"))
        self.assertEqual({p["record_id"] for p in profiles}, {r["record_id"] for r in records})
        self.assertEqual([p["batch"] for p in sorted(profiles, key=lambda p: p["batch"])], [1, 2])
        with sqlite3.connect(self.store) as db:
            [(last,)] = db.execute("SELECT max(started_unix_ns) FROM records")
        for kept in profiles:
            self.assertGreater(kept["taken_unix_ns"], last)
            self.assertEqual(kept["model"], MODEL)
            self.assertTrue(kept["ceilings"])
            self.assertEqual(kept["left_over"], [])

    def test_rows_are_layers(self):
        rows = list(csv.DictReader(self.export("--profile").splitlines()))
        profiles = {p["record_id"]: p for p in json.loads(self.export("--profile", "--format", "json"))}
        self.assertEqual(len(rows), sum(len(p["layers"]) for p in profiles.values()))
        for record_id, kept in profiles.items():
            ms = sum(float(row["ms"]) for row in rows if row["record_id"] == record_id)
            self.assertAlmostEqual(ms, kept["sum"]["ms"], places=6)

    def test_a_point_that_has_one_gets_no_second(self):
        again = self.run_points("--resume")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("0 profiles, 2 points had one", again.stdout)
        self.assertEqual(len(json.loads(self.export("--profile", "--format", "json"))), 2)

    def test_copies_keep_it(self):
        before = self.export("--profile")
        for flag in ("--compact", "--anonymous"):
            copy = f"{self.folder.name}/copy{flag}.db"
            self.export(flag, "--format", "db", "--output", copy)
            self.assertEqual(self.export("--profile", store=copy), before, flag)
        self.assertTrue(self.export("--profile", "--anonymous"))

    def test_the_report_shows_it(self):
        page = pathlib.Path(self.folder.name) / "a.html"
        run = deepgap("report", self.store, "--output", str(page))
        self.assertEqual(run.returncode, 0, run.stderr)
        html = page.read_text()
        self.assertIn('<section id="profiles"', html)
        self.assertIn("Roofline with a bubble for each family", html)
        self.assertLess(len(html), 400_000)

    def test_two_profiles_are_held_beside_each_other(self):
        run = deepgap("compare", self.store, "--a", "batch=1", "--b", "batch=2", "--profile")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("ms a batch; a: batch=1, b: batch=2", run.stdout)
        self.assertRegex(run.stdout, r"whole +\d+\.\d{3} +\d+\.\d{3}")

    def test_a_point_without_layer_times_gets_a_note(self):
        store = f"{self.folder.name}/null.db"
        run = deepgap("run", MODEL, "--backend", "null", "-n", "5", "--cache", CACHE, "--store", store, "--profile")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("null reports no times of its layers", run.stderr)
        self.assertIn("0 profiles", run.stdout)
        export = deepgap("export", store, "--profile")
        self.assertIn("has no profiles", export.stderr)
        self.assertEqual(len(export.stdout.splitlines()), 1)
        compare = deepgap("compare", store, store, "--profile")
        self.assertIn("no point has a profile on both sides", compare.stdout)

    def test_wrong_use_is_one_line(self):
        for words, said in ((("run", MODEL, "--profile", "--duel", "batch", "-b", "1,2"), "measured alone"),
                            (("export", self.store, "--profile", "--telemetry"), "--profile writes the profiles alone"),
                            (("export", self.store, "--profile", "--format", "db", "--output", "x.db"), "--profile writes the profiles alone"),
                            (("export", self.store, "--profile", "--by", "point"), "--profile writes the profiles alone")):
            run = deepgap(*words)
            self.assertEqual(run.returncode, 2, run.stdout)
            self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)
            self.assertIn(said, run.stderr)


class Ceilings(unittest.TestCase):
    def test_a_device_without_any_says_why(self):
        run = deepgap("ceilings", "--device", "cuda:0", "--cache", CACHE)
        if run.returncode == 0:
            print("there is a GPU here: that one without is refused is not tried")
            return
        self.assertEqual(run.returncode, 1)
        self.assertIn("no measured peaks of cuda:0: ", run.stdout)
        self.assertEqual(deepgap("ceilings", "--device", "gpu7").returncode, 2)


class ImportNcu(unittest.TestCase):
    rows = (
        "==PROF== Connected to process 1\n"
        '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n'
        '"0","ampere_sgemm_128x64_nn","gpu__time_duration.sum","usecond","2,000"\n'
        '"0","ampere_sgemm_128x64_nn","dram__bytes_read.sum","Gbyte","1.5"\n'
        '"0","ampere_sgemm_128x64_nn","dram__bytes_write.sum","Mbyte","500"\n'
    )

    def imported(self, text, *arguments):
        with tempfile.TemporaryDirectory(prefix="deepgap-ncu-") as folder:
            file = pathlib.Path(folder) / "kernels.csv"
            file.write_text(text)
            return deepgap("import", "ncu", str(file), *arguments)

    def test_counts_become_the_studys_quantities(self):
        run = self.imported(self.rows, "--json")
        self.assertEqual(run.returncode, 0, run.stderr)
        result = json.loads(run.stdout)
        self.assertEqual(result["families"][0]["family"], "gemm")
        self.assertAlmostEqual(result["all"]["dram_gb_per_s"], 1000)
        self.assertIsNone(result["all"]["gflop_per_s"])
        table = self.imported(self.rows, "--top", "1")
        self.assertIn("ampere_sgemm_128x64_nn", table.stdout)

    def test_what_is_no_such_table_is_refused(self):
        for text, words in (("", "no kernels of Nsight Compute"), (self.rows.replace("1.5", "many"), "which is not a number")):
            run = self.imported(text)
            self.assertEqual(run.returncode, 2)
            self.assertIn(words, run.stderr)
            self.assertEqual(len(run.stderr.splitlines()), 1)
        self.assertEqual(deepgap("import", "ncu").returncode, 2)


if __name__ == "__main__":
    unittest.main()
