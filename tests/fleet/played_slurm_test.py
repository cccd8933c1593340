"""`deepgap fleet --scheduler slurm` within the limits of a site, by Slurm's commands played: whatever MaxArraySize, MaxSubmitJobs and MaxJobCount
are, every task is submitted in the end, and none while there is no room.

Usage: played_slurm_test.py PATH_OF_DEEPGAP [unittest arguments]
"""
import os

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

    def names(self, folder):
        return [f"s.fleet/scripts/{name}" for name in sorted(os.listdir(folder))]


if __name__ == "__main__":
    main()
