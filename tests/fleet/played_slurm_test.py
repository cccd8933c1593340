"""`deepgap fleet --scheduler slurm` within the limits of a site, by Slurm's commands played: whatever MaxArraySize, MaxSubmitJobs and MaxJobCount
are, every task is submitted in the end, and none while there is no room.

Usage: played_slurm_test.py PATH_OF_DEEPGAP [unittest arguments]
"""
import os
import subprocess

from fleet_case import FleetCase, main
from played_slurm import PlayedSlurm


class PlayedSlurmTest(FleetCase):
    def played(self, *flags, **limits):
        slurm = PlayedSlurm(self.dir + "/slurm", **limits)
        self.environment.update(slurm.environment)
        self.fleet(self.study(points=12, repeats=1, iterations=2), "--scheduler", "slurm", "--cpus-per-task", "1", "--task-time", "1s",
                   "--common-runs", "0", "--detach", *flags)
        self.fleet("wait", "s.fleet")  # while nothing has run yet, and there may be no room
        self.assert_exactly_once()
        told = slurm.told()
        self.assertEqual((told["ended"], told["jobs"]), (12, []))
        return told

    def test_arrays_are_no_larger_than_a_site_allows(self):
        told = self.played(nodes=8, max_array=5)
        self.assertEqual(told["largest_array"], 5)
        self.assertEqual(told["accepted"], 4)  # 5, 5, 2, and the probe
        self.assertEqual(told["refused"], 0)

    def test_an_array_that_is_larger_than_what_a_user_may_submit_goes_in_pieces(self):
        told = self.played(nodes=8, max_submit=4)
        self.assertEqual(told["most"], 4)  # all the room that there is
        self.assertGreater(told["refused"], 0)
        scripts = self.dir + "/s.fleet/scripts"
        text = "".join(self.text(name) for name in self.names(scripts) if "probe" not in name)
        self.assertEqual(text.count("#SBATCH --array="), told["accepted"] - 1, "what was submitted is kept, and nothing else")

    def test_a_controller_that_takes_no_more_jobs_is_waited_for(self):
        told = self.played(nodes=8, max_jobs=5)
        self.assertEqual(told["most"], 5)

    def test_a_bundle_that_does_not_run_is_told_with_what_it_said(self):
        def archive(name, script=None):
            os.makedirs(f"{self.dir}/{name}/deepgap/bin")
            if script:
                self.write(script, f"{name}/deepgap/bin/deepgap")
                os.chmod(f"{self.dir}/{name}/deepgap/bin/deepgap", 0o755)
            subprocess.run(["tar", "-cf", f"{self.dir}/{name}.tar", "-C", f"{self.dir}/{name}", "deepgap"], check=True)

        archive("empty")
        archive("host:empty")  # a name that tar takes for one on another machine
        archive("unloadable", "#!/bin/sh\necho 'deepgap: libfoo.so.1: cannot open shared object file' >&2\nexit 127\n")
        archive("silent", "#!/bin/sh\nexit 1\n")
        self.write("no archive " * 1000, "text.tar")
        for name, words in [("text", "cannot be unpacked: tar: This does not look like a tar archive"), ("empty", "holds no FOLDER/bin/deepgap"),
                            ("host:empty", "holds no FOLDER/bin/deepgap"), ("none", "is not a file")]:
            message = self.fleet(self.study(), "--scheduler", "slurm", "--bundle", name + ".tar", code=2)
            self.assertRegex(message, rf"^deepgap: --bundle: {name}.tar {words} \(cmake")
        # After the submission, and before a node reads it, somebody replaces the archive.
        replaced = {"cut": "text", "emptied": "empty"}
        for name in replaced:
            archive(name, "#!/bin/sh\n")
        cases = [("cut", r"reported: \S*/cut.tar cannot be unpacked: tar: This does not look like a tar archive"),
                 ("emptied", r"reported: \S*/emptied.tar holds no FOLDER/bin/deepgap"),
                 ("unloadable", "reported: deepgap: libfoo.so.1: cannot open shared object file"), ("silent", "failed without a message")]
        for name, words in cases:
            with self.subTest(name):
                slurm = PlayedSlurm(f"{self.dir}/slurm-{name}")
                self.environment.update(slurm.environment)
                self.fleet(self.study(name=name, points=2), "--scheduler", "slurm", "--cpus-per-task", "1", "--bundle", name + ".tar", "--detach")
                if name in replaced:
                    os.replace(f"{self.dir}/{replaced[name]}.tar", f"{self.dir}/{name}.tar")
                self.fleet("status", name + ".fleet")  # the probe runs
                for verb in ("status", "wait"):
                    told = self.fleet(verb, name + ".fleet", code=1)
                    self.assertRegex(told, r"is held: DependencyNeverSatisfied; the probe " + words)
                    self.assertRegex(told, rf"\({self.dir}/{name}.fleet/logs/probe-0-1.log\)")
                left = [folder for folder in os.listdir(self.dir + "/node") if folder.startswith("deepgap-")]
                self.assertEqual(len(left), 1 if name == "silent" else 0, left)  # one that begins may work next time

    def test_what_slurm_refuses_leaves_no_fleet_in_the_way(self):
        slurm = PlayedSlurm(self.dir + "/slurm")
        self.environment.update(slurm.environment)
        command = [self.study(points=2), "--scheduler", "slurm", "--cpus-per-task", "1", "--detach"]
        refusal = r"^deepgap: sbatch: Batch job submission failed: Invalid node name specified \(of deepgap-\w+-probe-0.sbatch\)"
        self.assertRegex(self.fleet(*command, "--exclude", "nX", code=2), refusal + "; nothing was submitted\n$")
        self.assertFalse(os.path.exists(self.dir + "/s.fleet"))
        os.makedirs(self.dir + "/s.fleet/logs")
        self.write("of somebody", "s.fleet/logs/kept")
        self.fleet(*command, "--exclude", "nX", code=2)
        self.assertEqual((os.listdir(self.dir + "/s.fleet"), os.listdir(self.dir + "/s.fleet/logs")), (["logs"], ["kept"]))
        self.fleet(*command, "--exclude", "n0")
        self.fleet("wait", "s.fleet")
        self.assert_exactly_once()

    def test_a_dry_run_says_what_slurm_says(self):
        slurm = PlayedSlurm(self.dir + "/slurm")
        self.environment.update(slurm.environment)
        command = [*self.command(self.study(points=2)), "--scheduler", "slurm", "--cpus-per-task", "1", "--dry-run"]
        told = subprocess.run(command, cwd=self.dir, env=self.environment, capture_output=True, text=True, timeout=300)
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertIn("deepgap: note: Slurm reports: Job 1 to start at 2026-01-02T03:04:05 using 1 processors on nodes n0", told.stderr)
        self.assertIn("Invalid node name", self.fleet(*command[2:], "--exclude", "nX", code=2))
        self.assertEqual((slurm.told()["accepted"], os.listdir(self.dir + "/node")), (0, []))

    def test_programs_without_a_cluster_are_told_in_a_line(self):
        os.makedirs(self.dir + "/bin")
        self.write("#!/bin/sh\necho 'sinfo: error: fetch_config: DNS SRV lookup failed' >&2\n"
                   "echo 'sinfo: fatal: Could not establish a configuration source' >&2\nexit 1\n", "bin/sinfo")
        os.chmod(self.dir + "/bin/sinfo", 0o755)
        self.environment["PATH"] = self.dir + "/bin:" + os.environ["PATH"]
        told = self.fleet(self.study(), "--scheduler", "slurm", code=2)
        self.assertRegex(told, "^deepgap: sinfo finds no Slurm cluster: Could not establish a configuration source; set SLURM_CONF.*\n$")

    def names(self, folder):
        return [f"s.fleet/scripts/{name}" for name in sorted(os.listdir(folder))]


if __name__ == "__main__":
    main()
