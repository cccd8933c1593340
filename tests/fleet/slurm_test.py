"""`deepgap fleet --scheduler slurm` on a real Slurm of 16 virtual nodes, which this test starts and stops itself.

Usage: slurm_test.py PATH_OF_DEEPGAP [unittest arguments]
Skipped, with the reason printed and exit code 77, where Slurm is not installed or cannot run here.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from fleet_case import FleetCase, main
from free_ports import free_ports

NODES = 16
HERE = os.path.dirname(os.path.abspath(__file__))


class SlurmTest(FleetCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = tempfile.mkdtemp(prefix="deepgap-slurm-")
        for attempt in range(3):  # somebody else may take a port meanwhile
            cls.slurm_environment = {**os.environ, "PORT": str(free_ports(NODES + 1)), "SLURM_CONF": cls.cluster + "/slurm.conf"}
            try:
                return cls.nodes("start", str(NODES))
            except subprocess.SubprocessError:
                cls.tearDownClass()
                if attempt == 2:
                    raise

    @classmethod
    def tearDownClass(cls):
        cls.nodes("stop")
        shutil.rmtree(cls.cluster, ignore_errors=True)

    @classmethod
    def nodes(cls, verb, *arguments):
        subprocess.run([HERE + "/slurm_nodes", verb, cls.cluster, *arguments], check=True, env=cls.slurm_environment, timeout=600)

    def slurm(self, *command):
        return subprocess.run(command, check=True, env=self.slurm_environment, capture_output=True, text=True, timeout=300).stdout

    def setUp(self):
        super().setUp()
        self.environment.update({key: self.slurm_environment[key] for key in ("PORT", "SLURM_CONF")})

    def submit(self, *flags, study="s.toml", code=0):
        return self.fleet(study, "--scheduler", "slurm", "--cpus-per-task", "1", "--detach", *flags, code=code)

    def until(self, holds, what):
        for _ in range(6000):
            if holds():
                return
            time.sleep(0.1)
        self.fail(f"never: {what}\n" + self.slurm("squeue"))

    def running(self):
        """Nodes that run tasks of the fleet, by task."""
        lines = self.slurm("squeue", "-h", "-r", "-t", "R", "-o", "%K %N").split("\n")
        return {int(line.split()[0]): line.split()[1] for line in lines if line and line.split()[0].isdigit()}

    def test_arrays_run_and_are_gathered(self):
        self.study(points=24)
        told = json.loads(self.fleet("s.toml", "--scheduler", "slurm", "--cpus-per-task", "1", "--task-time", "10s", "--partition", "main",
                                     "--common-runs", "0", "--dry-run", "--json"))
        self.assertEqual((told["points"], told["records"]), (24, 48))
        self.assertGreaterEqual(told["tasks"], 8)
        self.submit("--task-time", "10s", "--partition", "main", "--max-jobs", "6")
        self.assertTrue(any("probe" in name for name in os.listdir(self.dir + "/s.fleet/scripts")))
        self.fleet("wait", "s.fleet")
        self.assert_exactly_once()
        [script] = [name for name in os.listdir(self.dir + "/s.fleet/scripts") if "probe" not in name]
        self.assertIn("#SBATCH --array=0-", self.text("s.fleet/scripts/" + script))
        self.assertIn("%6", self.text("s.fleet/scripts/" + script))

    def test_kinds_each_measure_the_whole_plan(self):
        self.study(points=4, repeats=1)
        self.submit("--constraint", "even,odd", "--common-runs", "0")
        told = json.loads(self.fleet("wait", "s.fleet", "--json"))
        self.assertEqual((told["planned"], told["records"]), (8, 8))

    def test_nodes_that_die_lose_only_what_they_measured(self):
        self.study(points=16, repeats=2, iterations=60, latency="10ms")
        self.submit("--task-time", "8s", "--hand-in", "100ms")
        self.until(lambda: len(self.running()) >= 4, "four tasks run")
        crashed, lost = list(self.running().values())[:2]
        self.nodes("crash", crashed)  # without power
        self.nodes("kill", lost)  # split brain: it runs on, and so does its copy elsewhere
        waiter = subprocess.Popen(self.command("wait", "s.fleet"), cwd=self.dir, env=self.environment, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        time.sleep(3)
        waiter.send_signal(signal.SIGKILL)  # the coordinator too
        waiter.wait()
        self.fleet("wait", "s.fleet")
        self.nodes("begin", crashed)
        self.nodes("begin", lost)
        self.assert_exactly_once()
        self.until(lambda: self.slurm("sinfo", "-h", "-N", "-p", "main", "-t", "idle", "-o", "%N").count("n") == NODES, "all nodes are back")

    def test_a_preempted_task_goes_on(self):
        def attempts():
            return [name for _, _, names in os.walk(self.dir + "/s.fleet/parts") for name in names if name.endswith(".json")]

        # Each task measures for six seconds and more, so those that have begun still run when Slurm preempts them.
        self.study(points=6, repeats=2, iterations=300, latency="10ms")
        self.submit("--task-time", "8s", "--partition", "low", "--hand-in", "100ms")
        self.until(lambda: attempts() and len(self.running()) >= 2, "two tasks run and one of them has written its attempt")
        self.slurm("sbatch", "--parsable", "-p", "high", f"--nodes={NODES}", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 2")
        self.fleet("wait", "s.fleet")
        self.assert_exactly_once()
        self.assertGreater(len(attempts()), len(os.listdir(self.dir + "/s.fleet/parts")))

    def test_a_cancelled_array_is_told_and_submitted_again(self):
        self.study(points=8, iterations=60, latency="10ms")
        self.submit("--task-time", "8s")
        self.until(lambda: self.running(), "a task runs")
        self.fleet("cancel", "s.fleet")
        self.until(lambda: not self.slurm("squeue", "-h"), "the queue is empty")
        self.assertIn("no node works on task", self.fleet("status", "s.fleet", code=1))
        self.fleet("submit", "s.fleet")
        self.assert_exactly_once()

    def test_a_program_that_does_not_run_there_holds_the_rest(self):
        self.study(points=4)
        self.submit("--task-time", "1s", "--directory", self.dir + "/gone", code=0)
        self.until(lambda: json.loads(subprocess.run(self.command("status", "s.fleet", "--json"), cwd=self.dir, env=self.environment,
                                                     capture_output=True, text=True).stdout)["held"] == 4, "four tasks are held")
        told = self.fleet("wait", "s.fleet", code=1)
        self.assertIn("the probe reported", told)
        self.assertIn("/gone is not there", told)
        self.fleet("cancel", "s.fleet")

    @staticmethod
    def on_gpus(study, device="cuda"):
        return study.replace("repeats =", f'device = "{device}"\nrepeats =')

    def test_points_on_gpus_ask_for_nodes_that_have_them(self):
        self.study(points=4)
        self.write(self.on_gpus(self.text(), "cuda:1"))
        self.submit("--task-time", "1s", "--partition", "main,plain")
        for script in os.listdir(self.dir + "/s.fleet/scripts"):
            self.assertIn("#SBATCH --gres=gpu:2\n", self.text("s.fleet/scripts/" + script))
        self.assertIn("gres:gpu:2", self.slurm("scontrol", "show", "job"))
        # The devices are files such as /dev/null, so nothing can compute there, and the probe of such a node says that.
        self.until(lambda: json.loads(subprocess.run(self.command("status", "s.fleet", "--json"), cwd=self.dir, env=self.environment,
                                                     capture_output=True, text=True).stdout)["held"] == 4, "four tasks are held")
        told = self.fleet("status", "s.fleet", code=1)
        self.assertRegex(told, r"the probe reported: n\d+: it can do nothing of task 0: null has no device cuda:1 here")
        self.assertNotIn(f"reported: n{NODES - 1}:", told)  # which has no GPU
        self.fleet("cancel", "s.fleet")

    def test_what_slurm_does_not_have_is_said_before_anything_is_submitted(self):
        self.study()
        text = self.text()
        cases = [
            (text, ["--partition", "mian"], "invalid value 'mian' for --partition: expected "),
            (text, ["--constraint", "evn"], "did you mean 'even'?"),
            (text, ["--time", "soon"], "invalid value 'soon' for --time"),
            (text, ["--partition", "short", "--time", "1h"], "--time 1h: the partition allows 0-00:02:00"),
            (text.replace("repeats = 2", "repeats = 500"), ["--partition", "short"], "is too short: what is compared stays together"),
            (text, ["--hosts", "h"], "scheduler slurm has no option --hosts"),
            (self.on_gpus(text), ["--partition", "plain"], "partition plain has no GPUs (no gres gpu)"),
            (self.on_gpus(text), ["--constraint", "none"], "no node of partition main with none has GPUs"),
            (self.on_gpus(text, "cuda:3"), [], "points name 4 GPUs of a node, and the most that one of partition main has is 2"),
        ]
        for study, flags, words in cases:
            self.write(study)
            self.assertIn(words, self.submit(*flags, code=2))
            self.assertFalse(os.path.exists(self.dir + "/s.fleet"))
        self.write(text)
        for flags in ([], ["--dry-run"]):  # Slurm alone knows its nodes
            self.assertIn("Invalid node name specified", self.submit("--exclude", "nX", *flags, code=2))
            self.assertFalse(os.path.exists(self.dir + "/s.fleet"))
        self.environment["PATH"] = "/nowhere"
        self.write(text)
        self.assertIn("sinfo is not in $PATH", self.submit(code=2))


def reason_to_skip():
    for program in ("slurmctld", "slurmd", "munged", "sbatch"):
        if shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin:/sbin") is None:
            return f"{program} is not installed (Debian: slurm-wlm, munge)"
    return "" if os.geteuid() == 0 else "virtual nodes need root"


reason = reason_to_skip()
if reason:
    print("skipped: " + reason)
    sys.exit(77)
os.environ["PATH"] += ":/usr/sbin:/sbin"
main()
