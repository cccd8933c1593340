"""Tests commands whose output cannot be written, whose signals are ignored, or whose processes others kill.

Usage: output_test.py PATH_OF_DEEPGAP [unittest arguments]
"""
import csv
import io
import json
import os
import resource
import signal
import stat
import subprocess
import sys
import time
import unittest

from store_case import PROGRAM, TINY, StoreCase

FEW = ["--warmup", "0", "--iterations", "3"]


def children_of(pid):
    found = []
    for other in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{other}/stat") as f:
                fields = f.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(other))
    return found


class OutputTest(StoreCase):
    flags = TINY + FEW

    def shell(self, script, *arguments):
        """`script` with our command line as "$@"."""
        return subprocess.run(["bash", "-c", script, "bash", *self.command(*arguments)], capture_output=True, text=True, timeout=120)

    def outcomes(self):
        return [row["outcome"] for row in self.rows()]

    # Other users

    def strangers_link(self, target):
        """A link in a folder like /tmp that another user made."""
        if os.geteuid() != 0:
            self.skipTest("only root can make another user's link")
        shared = os.path.join(self.dir, "shared")
        os.mkdir(shared)
        os.chmod(shared, 0o1777)
        link = os.path.join(shared, "link")
        os.symlink(target, link)
        os.lchown(link, 65534, 65534)
        return link

    def test_another_users_link_in_a_shared_folder_is_not_written_through(self):
        victim = os.path.join(self.dir, "victim")
        link = self.strangers_link(victim)
        self.run_deepgap("--batch", "1")
        for command in (["export", self.store, "-o", link], ["report", self.store, "-o", link], ["merge", self.store, "-o", link],
                        ["run", "resnet18:width=0.125,classes=10", "-e", "null", "--store", link, *FEW]):
            with self.subTest(command[0]):
                done = subprocess.run([PROGRAM, *command], capture_output=True, text=True, timeout=120)
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertIn("is a link that another user put into a shared folder", done.stderr)
                self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
                self.assertFalse(os.path.exists(victim))

    # Timings

    def test_each_timed_query_is_a_row(self):
        done = self.run_deepgap("--batch", "1,2", "--export-timings", os.path.join(self.dir, "t.json"))
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(self.dir, "t.json")) as file:
            rows = json.load(file)
        self.assertEqual(len(rows), 6)
        text = subprocess.run([PROGRAM, "export", self.store, "--timings"], capture_output=True, text=True, check=True).stdout
        table = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual([{key: "" if value is None else str(value) for key, value in row.items()} for row in rows], table)
        for record in self.rows():
            latencies = sorted(float(row["latency_ms"]) for row in table if row["record_id"] == record["record_id"])
            self.assertEqual((latencies[0], latencies[1], latencies[2]), (record["latency_min_ms"], record["latency_p50_ms"], record["latency_max_ms"]))
            for row in table:
                self.assertEqual((int(row["done_ns"]) - int(row["due_ns"])) / 1e6, float(row["latency_ms"]))
        for flags in (["--by", "point"], ["--telemetry"], ["--format", "db", "-o", "x.db"]):
            done = subprocess.run([PROGRAM, "export", self.store, "--timings", *flags], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn("--timings writes the timed queries alone", done.stderr)

    # Progress

    def test_a_reader_of_the_progress_that_leaves_ends_nothing(self):
        done = self.shell('"$@" 2>&1 | head -1', "--batch", "1..6")
        self.assertEqual(done.stderr, "")
        self.assertEqual(self.outcomes(), ["ok"] * 6)

    def test_progress_that_cannot_be_written_is_no_error(self):
        for number, end in enumerate(("2>&-", "2>/dev/full", "0<&- 2>&-")):
            with self.subTest(end):
                done = self.shell(f'"$@" {end}', "--batch", "1..3", "--study", str(number))
                self.assertEqual(done.returncode, 0)
                self.assertEqual(done.stdout.count("no target\n"), 3)
        self.assertEqual(self.outcomes(), ["ok"] * 9)

    def test_a_note_that_cannot_be_written_is_no_error(self):
        """No cache at home: a note says where it is, or nothing does."""
        for end in ("2>&-", "2>/dev/full"):
            for command in ('cache', 'run resnet18:width=0.125,classes=10 --backend null --warmup 0 --iterations 3 --store "$2"'):
                with self.subTest(end, command=command):
                    script = f'HOME=/proc/nowhere XDG_CACHE_HOME= "$1" {command} {end}'
                    done = subprocess.run(["bash", "-c", script, "bash", PROGRAM, self.store], capture_output=True, text=True, timeout=120)
                    self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)

    def test_a_folder_for_temporary_files_that_is_none_is_not_used(self):
        script = 'HOME=/proc/nowhere XDG_CACHE_HOME= TMPDIR=/proc/nowhere "$1" cache'
        done = subprocess.run(["bash", "-c", script, "bash", PROGRAM], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("the cache is /tmp/deepgap-cache-", done.stderr)

    # What programs read

    def test_a_full_disk_is_a_failure(self):
        self.assertEqual(self.run_deepgap().returncode, 0)
        commands = [self.command(), self.command("--json"), self.command("--dry-run"), self.command("--dry-run", "--json"),
                    [PROGRAM, "models"], [PROGRAM, "models", "--json"], [PROGRAM, "backends"], [PROGRAM, "--help"], [PROGRAM, "run", "--help"],
                    [PROGRAM, "--version"], [PROGRAM, "export", self.store], [PROGRAM, "report", self.store, "-o", "-"]]
        for command in commands:
            with self.subTest(command), open("/dev/full", "w") as full:
                done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
                self.assertEqual(done.returncode, 3)
                self.assertIn("cannot write standard output: No space left on device", done.stderr)

    def test_a_closed_standard_output_is_a_failure(self):
        done = self.shell('"$@" >&-', "--json")
        self.assertEqual(done.returncode, 3)
        self.assertIn("cannot write standard output: Bad file descriptor", done.stderr)
        self.assertEqual(self.outcomes(), ["ok"])

    def test_a_reader_that_had_enough_is_no_error(self):
        self.assertEqual(self.run_deepgap().returncode, 0)
        for command in ([PROGRAM, "models"], [PROGRAM, "run", "--help"], [PROGRAM, "export", self.store], self.command("--json")):
            with self.subTest(command):
                read, write = os.pipe()
                os.close(read)
                done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, timeout=120)
                os.close(write)
                self.assertEqual(done.returncode, -signal.SIGPIPE, done.stderr)
                self.assertNotIn("deepgap:", done.stderr)

    def test_a_named_output_is_not_replaced_where_it_is_no_regular_file(self):
        self.assertEqual(self.run_deepgap().returncode, 0)
        commands = {"report": [PROGRAM, "report", self.store, "-o"], "export": [PROGRAM, "export", self.store, "-o"],
                    "models": [PROGRAM, "models", "resnet18:width=0.125,classes=10", "--onnx"], "run": self.command("--export-json")}
        for name, command in commands.items():
            folder = os.path.join(self.dir, f"{self.id()}-{name}")
            os.makedirs(folder + "/there")
            link, pipe = folder + "/link", folder + "/pipe"
            os.symlink("there/target", link)
            for _ in range(2):  # to nothing yet, then to a file
                self.assert_written(command, link)
                self.assertTrue(os.path.islink(link))
                self.assertGreater(os.path.getsize(folder + "/there/target"), 100)
                os.truncate(folder + "/there/target", 0)
            os.mkfifo(pipe)
            reader = subprocess.Popen(["wc", "-c", pipe], stdout=subprocess.PIPE, text=True)
            self.assert_written(command, pipe)
            self.assertGreater(int(reader.communicate(timeout=60)[0].split()[0]), 100)
            os.symlink("/proc/self/fd/1", folder + "/stdout")  # as /dev/stdout is
            self.assertGreater(len(self.assert_written(command, folder + "/stdout").stdout), 100)
            self.assertTrue(os.path.islink(folder + "/stdout"))
            self.assertEqual(sorted(os.listdir(folder)), ["link", "pipe", "stdout", "there"])
            for number, code in ((3, 0), (7, 2)):  # as /dev/null and /dev/full
                self.write_to_device(command, folder + f"/device-{number}", number, code)

    def assert_written(self, command, output, code=0):
        with self.subTest(command, output=output):
            done = subprocess.run([*command, output], capture_output=True, timeout=120)
            self.assertEqual(done.returncode, code, done.stderr)
        return done

    def write_to_device(self, command, path, number, code):
        try:
            os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, number))
            os.close(os.open(path, os.O_WRONLY))
        except OSError as error:
            return print(f"not with a device: {error}", file=sys.stderr)
        done = self.assert_written(command, path, code)
        self.assertTrue(stat.S_ISCHR(os.stat(path).st_mode))
        if code != 0:
            self.assertIn(f"cannot write {path}: No space left on device", done.stderr.decode())

    # Signals and limits

    def test_nohup_holds(self):
        run = subprocess.Popen(self.command("--batch", "1..8", "--axis", "latency=20ms", "--iterations", "20"), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        run.stderr.readline()  # the first Record is there
        run.send_signal(signal.SIGHUP)
        out, err = run.communicate(timeout=120)
        self.assertEqual(run.returncode, 0, err)
        self.assertEqual(self.outcomes(), ["ok"] * 8)

    def test_a_file_size_limit_leaves_nothing_behind(self):
        folder = os.path.join(self.dir, "limited")
        os.mkdir(folder)
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
        done = subprocess.run([PROGRAM, "models", "resnet18", "--onnx", os.path.join(folder, "m.onnx")], preexec_fn=limit, capture_output=True,
                              text=True, timeout=120)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("File too large", done.stderr)
        self.assertEqual(os.listdir(folder), [])

    def test_a_pipe_as_a_study_is_refused(self):
        study = os.path.join(self.dir, "pipe.toml")
        os.mkfifo(study)
        done = subprocess.run([PROGRAM, "run", study], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn("it is not a regular file", done.stderr)

    def test_a_worker_that_could_not_be_started_is_measured_by_resume(self):
        seen = set()
        for limit in range(6, 40):
            limited = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
            done = subprocess.run(self.command("--resume"), preexec_fn=limited, capture_output=True, text=True, timeout=120)
            found = self.outcomes() if os.path.exists(self.store) else []
            seen.update(found)
            self.assertNotIn("crashed", found, f"{limit} descriptors: {done.stderr}")
            if "ok" in found:
                break
        self.assertIn("interrupted", seen, "no limit let the inspection pass and the worker fail")
        self.assertEqual(self.run_deepgap("--resume").returncode, 0)
        self.assertEqual(self.outcomes()[-1], "ok")

    # Others who kill

    def killed(self, times):
        run = subprocess.Popen(self.command("--dry-run", "--json", "--batch", "1..8000"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        killed = set()
        end = time.time() + 60
        while len(killed) < times and run.poll() is None and time.time() < end:
            for child in set(children_of(run.pid)) - killed:
                os.kill(child, signal.SIGKILL)
                killed.add(child)
        out, err = run.communicate(timeout=120)
        self.assertEqual(len(killed), times)
        return run.returncode, out, err

    def test_an_inspection_that_others_kill_is_made_again(self):
        code, out, err = self.killed(1)
        self.assertEqual(code, 0, err)
        plan = json.loads(out)
        self.assertEqual({point["plan"] for point in plan["points"]}, {"run"})

    def test_an_inspection_that_others_kill_again_and_again_says_so(self):
        code, out, err = self.killed(3)
        self.assertEqual(code, 3, err)
        self.assertIn("killed by SIGKILL", err)
        self.assertIn("by something outside deepgap", err)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
