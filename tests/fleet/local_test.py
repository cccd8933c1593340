"""`deepgap fleet` on one machine: how a plan is cut, tasks that die, that run twice, waiters that are killed, full disks, bad input.

Usage: local_test.py PATH_OF_DEEPGAP [unittest arguments]
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

from fleet_case import PROGRAM, FleetCase, main

FAULTS = os.environ.get("DEEPGAP_NODE_FAULTS")  # node_faults.cpp


class LocalTest(FleetCase):
    def test_first_result_in_one_command(self):
        text = self.fleet(self.study(), "--task-time", "10s", "--max-jobs", "2", "--common-runs", "0")
        self.assertIn("24 of 24 records are in", text)
        self.assert_exactly_once()
        self.assertEqual(os.listdir(self.dir + "/node"), [])  # nothing stays on the node
        self.assertTrue(all(len([f for f in os.listdir(f"{self.dir}/s.fleet/parts/{task}") if f.endswith(".db")]) == 1
                            for task in os.listdir(self.dir + "/s.fleet/parts")))
        before = self.gathered()
        self.fleet("gather", "s.fleet")  # again, at any time
        self.assertEqual(self.gathered(), before)
        self.assertEqual(json.loads(self.fleet("status", "s.fleet", "--json"))["missing"], [])
        records = json.loads(subprocess.run([PROGRAM, "export", self.dir + "/s.fleet/gathered.db", "--format", "json"], check=True,
                                            capture_output=True, text=True).stdout)
        self.assertEqual({record["study"] for record in records}, {"s"})

    def test_dry_run_tells_and_writes_nothing(self):
        told = json.loads(self.fleet(self.study(points=4), "--dry-run", "--json"))
        self.assertEqual((told["points"], told["records"], told["tasks"]), (4, 8, 1))
        self.assertGreater(told["node_hours"], 0)
        self.assertFalse(os.path.exists(self.dir + "/s.fleet"))

    def test_repeats_and_precisions_of_a_point_stay_together(self):
        self.study(points=6, repeats=3)
        self.write(self.text().replace("check = false", 'precision = ["fp32", "bf16"]'))
        self.fleet("s.toml", "--detach", "--task-time", "1s", "--common-runs", "0")
        tasks = 0
        for name in os.listdir(self.dir + "/s.fleet/tasks"):
            if name.endswith(".json"):
                points = json.loads(self.text(f"s.fleet/tasks/{name}"))["points"]
                self.assertEqual({point["point"]["precision"] for point in points}, {"fp32", "bf16"})
                self.assertTrue(all(len(point["runs"]) == 3 for point in points))
                tasks += 1
        self.assertEqual(tasks, 6)

    def test_a_killed_waiter_is_of_no_account(self):
        self.fleet(self.study(points=8, latency="20ms"), "--detach", "--task-time", "8s", "--hand-in", "100ms")
        for kills in range(4):
            waiter = subprocess.Popen(self.command("wait", "s.fleet"), cwd=self.dir, env=self.environment, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)
            time.sleep(0.3 + 0.3 * kills)
            waiter.send_signal(signal.SIGKILL)
            waiter.wait()
        self.fleet("wait", "s.fleet")
        self.assert_exactly_once()

    def test_an_interrupted_waiter_ends_its_tasks_in_order(self):
        self.fleet(self.study(points=8, repeats=4, latency="20ms"), "--detach", "--task-time", "1000s", "--hand-in", "100s")
        waiter = subprocess.Popen(self.command("wait", "s.fleet"), cwd=self.dir, env=self.environment, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        while not os.path.exists(self.dir + "/s.fleet/parts/000000") or waiter.poll() is not None:
            time.sleep(0.05)
        while not any(os.path.getsize(root + "/run.db-wal") > 200_000 for root, _, files in os.walk(self.dir + "/node")
                      if "run.db-wal" in files):
            time.sleep(0.05)
        waiter.send_signal(signal.SIGINT)
        _, told = waiter.communicate(timeout=300)
        self.assertEqual(waiter.returncode, 130)
        self.assertIn("deepgap fleet wait", told)
        [name] = [f for f in os.listdir(self.dir + "/s.fleet/parts/000000") if f.endswith(".json")]
        attempt = json.loads(self.text(f"s.fleet/parts/000000/{name}"))
        self.assertEqual(attempt["state"], "interrupted")
        self.fleet("gather", "s.fleet", code=1)
        self.assertGreaterEqual(len(self.gathered()), attempt["records"])
        self.fleet("wait", "s.fleet")
        self.assert_exactly_once()

    def test_a_task_that_runs_twice_is_one_result_and_a_note(self):
        self.fleet(self.study(points=3), "--detach", "--hand-in", "100s")
        twice = [subprocess.Popen(self.command("task", "s.fleet", "0"), cwd=self.dir, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  env={**self.environment, "DEEPGAP_NODE": node}) for node in ("n1", "n2")]
        self.assertEqual([task.wait() for task in twice], [0, 0])
        told = json.loads(self.fleet("gather", "s.fleet", "--json"))
        self.assertEqual((told["planned"], told["records"]), (6, 6))
        attempts = [json.loads(self.text(f"s.fleet/parts/000000/{name}")) for name in os.listdir(self.dir + "/s.fleet/parts/000000")
                    if name.endswith(".json")]
        self.assertEqual(self.with_others_left_out(), sum(attempt["records"] for attempt in attempts) - 6)
        self.assertIn("2 attempts have ended with all of it", " ".join(told["notes"]))
        self.assert_exactly_once()

    def test_a_full_shared_disk_is_told_by_node_and_nothing_is_lost(self):
        self.fleet(self.study(points=3), "--detach")
        shutil.rmtree(self.dir + "/s.fleet/parts")
        open(self.dir + "/s.fleet/parts", "w").close()  # nothing can be handed in
        self.fleet("task", "s.fleet", "0", code=2)
        os.remove(self.dir + "/s.fleet/parts")
        os.makedirs(self.dir + "/s.fleet/parts/000000")
        limited = subprocess.run(["bash", "-c", 'ulimit -f 100; exec "$@"', "-", *self.command("task", "s.fleet", "0", "--tries", "1")], cwd=self.dir,
                                 env={**self.environment, "DEEPGAP_NODE": "n7"}, capture_output=True, text=True)
        self.assertIn(limited.returncode, (3, 74), limited.stderr)
        self.assertIn("n7", limited.stderr)
        self.fleet("wait", "s.fleet")
        self.assert_exactly_once()

    def test_cancelled_it_says_so_and_submitted_again_it_goes_on(self):
        self.fleet(self.study(points=4), "--detach", "--task-time", "1s")
        self.fleet("cancel", "s.fleet")
        self.assertIn("no node works on task", self.fleet("wait", "s.fleet", code=1))
        self.fleet("submit", "s.fleet")
        self.assert_exactly_once()

    def task(self, number, node, *before, **environment):
        """One task as if it ran on that node."""
        result = subprocess.run([*before, *self.command("task", "s.fleet", str(number))], cwd=self.dir, capture_output=True, text=True,
                                env={**self.environment, "DEEPGAP_NODE": node, **environment})
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_a_task_whose_words_nobody_takes_measures_all_the_same(self):
        gone = self.dir + "/gone"
        os.mkdir(gone)
        self.fleet(self.study(points=2), "--detach", "--directory", gone)
        os.rmdir(gone)  # which the task notes
        for end in ("2>/dev/full", "2>&-"):
            done = subprocess.run(["bash", "-c", f'"$@" {end}', "bash", *self.command("task", "s.fleet", "0")], cwd=self.dir, env=self.environment, timeout=300)
            self.assertEqual(done.returncode, 0, end)
        self.fleet("wait", "s.fleet")
        self.assert_exactly_once()

    def notes(self, verb="status"):
        return json.loads(self.fleet(verb, "s.fleet", "--json"))["notes"]

    def change_attempts(self, node, change):
        """Tests what a node reports about itself."""
        for root, _, names in os.walk(self.dir + "/s.fleet/parts"):
            for path in (os.path.join(root, name) for name in names if name.endswith(".json")):
                with open(path) as file:
                    attempt = json.load(file)
                if attempt["node"] != node:
                    continue
                change(attempt)
                with open(path, "w") as file:
                    json.dump(attempt, file)

    @unittest.skipIf(FAULTS is None, "the library of faults is not named by DEEPGAP_NODE_FAULTS")
    def test_clocks_that_differ_and_slow_disks_are_told_by_node(self):
        self.fleet(self.study(points=3, repeats=1), "--detach", "--task-time", "1s")
        self.task(0, "n0")
        self.assertEqual(self.notes(), [])
        self.task(1, "n1", LD_PRELOAD=FAULTS, FAULT_CLOCK_AHEAD_S="90")
        self.task(2, "n2", LD_PRELOAD=FAULTS, FAULT_SLOW_DISK_S="31")
        for verb in ("status", "gather"):
            told = " ".join(self.notes(verb))
            self.assertRegex(told, r"n1: its clock is (89|90|91)\.\d s ahead of the shared disk's")
            self.assertRegex(told, r"n2: the shared disk took up to 3\d\.\d s to store its results")
        self.assert_exactly_once()

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one CPU alone: a node with fewer cannot be played")
    def test_a_node_with_another_device_is_told_by_node(self):
        self.fleet(self.study(points=3, repeats=1), "--detach", "--task-time", "1s", "--cpus-per-task", "1")
        self.task(0, "n0")
        self.task(1, "n1")
        self.task(2, "n2", "taskset", "-c", str(min(os.sched_getaffinity(0))))
        told = " ".join(self.notes())
        self.assertRegex(told, "n2: it has .*, 1 CPU, most of its kind have .* CPUs; its results stay apart")
        self.assertNotIn("n0:", told)

    def test_every_task_measures_one_point_so_that_a_slow_node_is_told(self):
        told = json.loads(self.fleet(self.study(points=8, repeats=1), "--dry-run", "--json", "--task-time", "1s"))
        self.assertEqual((told["tasks"], told["records"], told["common"]), (8, 8 + 15, 15))  # two runs in each; one is in the plan
        without = json.loads(self.fleet("s.toml", "--dry-run", "--json", "--task-time", "1s", "--common-runs", "0"))
        self.assertEqual((without["records"], without["common"]), (8, 0))
        self.fleet("s.toml", "--detach", "--task-time", "1s")
        for task in range(8):
            self.task(task, f"n{task}")
        self.fleet("gather", "s.fleet")
        self.assert_exactly_once()
        measured = {}
        for node in range(8):
            self.change_attempts(f"n{node}", lambda attempt: measured.update({attempt["node"]: attempt["common"]}))
        self.assertTrue(all(len(values) == 2 for values in measured.values()), measured)
        for node in range(8):  # nothing depends on how fast this machine is
            even = [1000 + node, 1001 - node]
            self.change_attempts(f"n{node}", lambda attempt: attempt.update(common=even if node != 5 else [0.9 * value for value in even]))
        for verb in ("status", "gather"):
            [note] = self.notes(verb)
            self.assertRegex(note, r"n5: outlier node: 10\.0 % slower \(.*\) than the 7 others of its kind, by 2 runs")

    def test_another_device_than_meant_measures_nothing(self):
        text = self.fleet(self.study(points=2), "--device-kind", "H100", "--submissions", "1", code=1)
        self.assertIn("not H100: nothing was measured", text)
        self.assertEqual(self.gathered(), [])

    def test_what_is_wrong_is_found_before_anything_is_written(self):
        self.study()
        text = self.text()
        cases = [
            ('model = "resnet18', 'model = "/data/x.onnx,resnet18', [], "s.toml:3: '/data/x.onnx' is an absolute path"),
            ('model = "resnet18:', 'model = "resnet81:', [], "s.toml:3: unknown model 'resnet81', did you mean"),
            ("check = false", "find_peak = true", [], "a fleet measures grids"),
            ("", "", ["--scheduler", "lokal"], "did you mean 'local'"),
            ("", "", ["--max-jobs", "0"], "invalid value '0' for --max-jobs"),
            ("", "", ["--bundle", "none.tar"], "--bundle: none.tar is not a file"),
            ("", "", ["--task-time", "soon"], "invalid value 'soon' for --task-time: expected a time"),
        ]
        for old, new, flags, words in cases:
            self.write(text.replace(old, new) if old else text)
            self.assertIn(words, self.fleet("s.toml", *flags, code=2))
            self.assertFalse(os.path.exists(self.dir + "/s.fleet"))
        self.assertIn("did you mean 'status'", self.fleet("statsu", code=2))
        self.assertIn("is not the folder of a fleet", self.fleet("status", ".", code=2))
        self.assertIn("needs the fleet's folder", self.fleet("gather", code=2))
        self.write(text)
        self.fleet("s.toml", "--detach")
        self.assertIn("holds a fleet already", self.fleet("s.toml", code=2))
        self.assertIn("has no task 7", self.fleet("task", "s.fleet", "7", code=2))
        self.write("{}", "s.fleet/fleet.json")
        self.assertIn("fleet.json: damaged fleet", self.fleet("status", "s.fleet", code=2))


main()
