"""Tests `deepgap report` and `deepgap export` on several stores at once, and on those of earlier versions (docs/results).

Usage: stores_test.py PATH_OF_DEEPGAP [unittest arguments]
"""
import csv
import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv[1])
H200 = os.path.abspath("docs/results/h200-libtorch/h200.db")
TWO_GPUS = os.path.abspath("docs/results/h200-native/two-gpus.db")


def deepgap(*arguments, code=0):
    result = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=900)
    assert result.returncode == code, f"{arguments}: {result.returncode}\n{result.stderr}"
    return result.stdout if code == 0 else result.stderr


def rows(*arguments):
    return list(csv.DictReader(io.StringIO(deepgap("export", *arguments))))


class StoresTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="deepgap-test-")
        # The same study as if measured on another card, 0.7 times as fast.
        cls.other = os.path.join(cls.dir, "other.db")
        shutil.copy(H200, cls.other)
        with sqlite3.connect(cls.other) as database:
            database.execute("UPDATE environments SET json = replace(json, 'NVIDIA H200', 'NVIDIA H100 80GB HBM3')")
            database.execute("UPDATE records SET record_id = 'other' || substr(record_id, 6)")
            database.execute("UPDATE metric_values SET value = value * 0.7, low = low * 0.7, high = high * 0.7 WHERE metric = "
                             "(SELECT id FROM metric_names WHERE name = 'throughput')")
        database.close()

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    def test_an_old_store_tells_its_devices(self):
        names = {(row["device"], row["device_name"]) for row in rows(H200, "--by", "point")}
        self.assertEqual(names, {("cuda:0", "NVIDIA H200"), ("cpu", "Intel(R) Xeon(R) Processor (family 6 model 207), 16 CPUs")})
        for row in rows(H200):
            self.assertIn("16 cores", row["machine"])

    def test_a_point_on_two_devices_is_two_results(self):
        points = {}
        for row in rows(H200, self.other, "--by", "point"):
            if row["device"] == "cuda:0":
                points.setdefault(row["point_id"], {})[row["device_name"]] = float(row["throughput"])
        self.assertEqual(len(points), 264)
        for found in points.values():
            self.assertEqual(set(found), {"NVIDIA H200", "NVIDIA H100 80GB HBM3"})
            self.assertAlmostEqual(found["NVIDIA H100 80GB HBM3"] / found["NVIDIA H200"], 0.7, 6)

    def test_the_ratio_is_said(self):
        text = deepgap("report", H200, self.other, "--format", "md", "-o", "-")
        self.assertRegex(text, r"NVIDIA H200 gives 1\.43 \([0-9.]+ to [0-9.]+\) (to 1\.43 \(.*?\) )?times the throughput of NVIDIA H100 80GB HBM3")
        page = deepgap("report", H200, self.other, "-o", "-")
        self.assertIn("<h2>One device over another</h2>", page)
        self.assertIn("NVIDIA H100 80GB HBM3 and NVIDIA H200, measured", page)
        self.assertIn("h200.db, other.db", page)

    def test_a_record_that_two_stores_hold_counts_once(self):
        self.assertEqual(len(rows(H200, H200)), len(rows(H200)))

    def test_throughput_per_device(self):
        two = [row for row in rows(TWO_GPUS) if row["device_count"] == "2"]
        self.assertTrue(two)
        for row in two:
            self.assertEqual(row["device_name"], "NVIDIA H200")
            self.assertAlmostEqual(float(row["throughput_per_device"]) * 2, float(row["throughput"]), 6)

    def test_stores_are_merged(self):
        out = os.path.join(self.dir, "merged.db")
        told = json.loads(deepgap("merge", "--json", out, H200, self.other, H200))
        finished = [row for row in rows(H200) if row["outcome"] != "interrupted"]  # the three others were run again
        on_the_card = [row for row in rows(self.other) if "H100" in row["device_name"] and row["outcome"] != "interrupted"]
        self.assertEqual(told["records"], len(finished) + len(on_the_card))
        self.assertEqual(told["same"], len(rows(H200)))
        self.assertEqual(told["doubled"], 3 + len(rows(self.other)) - len(on_the_card))  # of the same CPU of the same host
        self.assertEqual(len(rows(out)), told["records"])
        self.assertIn("it exists already", deepgap("merge", out, H200, code=2))
        self.assertIn("records of 2 stores", deepgap("merge", "--replace", "--all-runs", out, out, self.other))
        self.assertEqual(len(rows(out)), len(finished) + len(rows(self.other)))
        newer = os.path.join(self.dir, "newer.db")
        shutil.copy(H200, newer)
        with sqlite3.connect(newer) as database:
            database.execute("UPDATE meta SET value = '99' WHERE key = 'schema'")
        database.close()
        self.assertIn("newer.db: made by a newer deepgap", deepgap("merge", os.path.join(self.dir, "none.db"), H200, newer, code=2))
        self.assertFalse(os.path.exists(os.path.join(self.dir, "none.db")))
        self.assertIn("no stores to read", deepgap("merge", out, code=2))

    def test_percentiles_are_columns(self):
        store = os.path.join(self.dir, "null.db")
        deepgap("run", "--cache", self.dir, "--store", store, "--backend", "null", "--model", "resnet18:width=0.125,classes=10", "--shape",
                "input:Nx3x32x32", "--iterations", "200", "--warmup", "5", "--axis", "null.latency=1ms")
        [row] = rows(store, "--percentile", "90,p97,99.5")
        values = [float(row[column]) for column in ("latency_p90_ms", "latency_p97_ms", "latency_p99_ms", "latency_p995_ms")]
        self.assertEqual(values, sorted(values))
        [point] = rows(store, "--by", "point", "--percentile", "97")
        self.assertEqual(point["latency_p97_ms"], row["latency_p97_ms"])
        self.assertEqual(rows(H200, "--percentile", "97")[0]["latency_p97_ms"], "")  # a compact Store
        self.assertIn("invalid value 'x' in --percentile", deepgap("export", store, "--percentile", "90,x", code=2))

    def test_check_tells_what_the_records_say(self):
        told = json.loads(deepgap("check", "--json", H200, self.other))
        self.assertTrue(told["pass"])
        self.assertEqual({point["device_name"] for point in told["points"] if point["device"] == "cuda:0"},
                         {"NVIDIA H200", "NVIDIA H100 80GB HBM3"})
        self.assertTrue(all(point["sqnr_db"] >= point["min_sqnr_db"] for point in told["points"]))
        wrong = os.path.join(self.dir, "wrong.db")
        shutil.copy(H200, wrong)
        with sqlite3.connect(wrong) as database:
            database.execute("UPDATE records SET check_pass = 0, check_sqnr_db = 3 WHERE id = (SELECT min(id) FROM records WHERE outcome = 'ok')")
        database.close()
        result = subprocess.run([PROGRAM, "check", wrong], capture_output=True, text=True)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stdout.count("DIFFERS"), 1)
        self.assertIn("check takes one model, or stores", deepgap("check", "resnet18", H200, code=2))
        self.assertIn("leave out --against", deepgap("check", H200, "--against", "native", code=2))

    def test_a_copy_is_of_one_store(self):
        self.assertIn("a store is made from one store", deepgap("export", H200, TWO_GPUS, "-o", os.path.join(self.dir, "x.db"), code=2))
        self.assertIn("is the store itself", deepgap("export", H200, self.other, "-o", self.other, "--format", "csv", code=2))
        self.assertIn("cannot open store", deepgap("report", H200, os.path.join(self.dir, "none.db"), "-o", "-", code=2))

    def test_texts_of_a_store_command_no_terminal(self):
        """A Store from anybody: each of its texts holds what a terminal would obey."""
        few = ["--backend", "null", "--warmup", "0", "--iterations", "3", "--cache", self.dir]
        network = ["resnet18:width=0.125,classes=10", "--shape", "input:Nx3x32x32", "--batch", "1,2"]
        store, evil = os.path.join(self.dir, "good.db"), os.path.join(self.dir, "evil.db")
        deepgap("run", *network, *few, "--repeats", "2", "--store", store)
        mark = "\x1b[31mE\x9b31m\u202e"

        def texts(row, **also):
            return json.dumps({key: value + mark if isinstance(value, str) else value for key, value in json.loads(row).items()} | also)

        def points(database):
            database.execute("UPDATE points SET json = mark_point(json)")

        def around(database):
            database.execute("UPDATE environments SET json = mark(json)")
            database.execute("UPDATE runs SET study = ?", [mark])

        def records(outcome):
            def change(database):
                database.execute("UPDATE records SET reason = ? || char(10) || 'and more', stderr_tail = ?, check_against = ?, check_pass = 0, check_sqnr_db = 3, "
                                 "facts = mark(facts), outcome = ?", [mark, mark, mark, outcome])
                database.execute("INSERT INTO remarks SELECT id, 'note', ? FROM records", [mark])
            return change

        first = rows(store)[0]["record_id"]
        for change in (points, around, records("ok"), records("crashed"), records("refused")):
            shutil.copy(store, evil)
            with sqlite3.connect(evil) as database:
                database.create_function("mark", 1, texts)
                database.create_function("mark_point", 1, lambda row: json.dumps(json.loads(row) | {"model": "net" + mark, "backend": "e" + mark, "options": {"rate": mark}}))
                change(database)
            database.close()
            for command in (["export", evil], ["export", evil, "--by", "point"], ["export", evil, "--telemetry"], ["compare", evil, store],
                            ["compare", evil, store, "--format", "md"], ["compare", evil, "--a", "batch=1", "--b", "batch=2"], ["trend", evil],
                            ["recommend", evil, "--rate", "10"], ["tag", evil], ["note", evil], ["check", evil], ["report", evil, "--format", "md", "-o", "-"], ["report", evil, "-o", "-"],
                            ["rerun", first, "--from", evil, "--store", os.path.join(self.dir, "again.db")],
                            ["run", *network, *few, "--repeats", "2", "--resume", "-v", "--store", evil]):
                with self.subTest(command, change=change.__name__):
                    done = subprocess.run([PROGRAM, *command], capture_output=True, text=True, timeout=900)
                    self.assertNotIn(done.returncode, (3, -6, -11), done.stderr)
                    for control in ("\x1b", "\x9b", "\u202e"):
                        self.assertNotIn(control, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
