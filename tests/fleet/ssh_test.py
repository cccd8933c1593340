"""`deepgap fleet --scheduler ssh` over a real sshd, which this test starts and stops itself; where there is none, with a stand-in for ssh that runs
the commands in folders of this machine.

Usage: ssh_test.py PATH_OF_DEEPGAP [unittest arguments]
"""
import json
import os
import signal
import subprocess
import time
import unittest

from fleet_case import FleetCase, main
from ssh_hosts import Sshd, StandIn, why_no_sshd

NO_SSHD = why_no_sshd()


class SshTest(FleetCase):
    def setUp(self):
        super().setUp()
        of_node = {name: self.environment[name] for name in ("XDG_CACHE_HOME", "TMPDIR")}
        self.hosts = (StandIn if NO_SSHD else Sshd)(self.dir, ["one", "two"], of_node)
        self.environment.update(self.hosts.environment)
        self.write("one   # the first\ntwo\n\n# nobody\n", "hosts")

    def tearDown(self):
        self.hosts.end()
        super().tearDown()

    def ssh(self, *flags, code=0):
        return self.fleet("s.toml", "--scheduler", "ssh", "--ssh", self.hosts.program, "--hosts", "hosts", *flags, code=code)

    def test_hosts_share_no_disk(self):
        self.study(points=8)
        self.ssh("--task-time", "8s", "--hand-in", "100ms")
        self.assert_exactly_once()
        self.assertEqual(sorted(os.listdir(self.dir + "/hosts.d")), ["one", "two"])
        nodes = {json.loads(self.text(f"s.fleet/parts/{task}/{name}"))["node"] for task in os.listdir(self.dir + "/s.fleet/parts")
                 for name in os.listdir(f"{self.dir}/s.fleet/parts/{task}") if name.endswith(".json")}
        self.assertEqual(nodes, {"one", "two"})

    def test_a_host_that_is_not_reached_is_told_and_the_others_do_its_work(self):
        self.study(points=6)
        self.write("one\ngone\n", "hosts")
        self.assertIn("gone is not reached by ssh: ssh: connect to host ", self.ssh("--task-time", "8s"))
        self.assert_exactly_once()

    def test_a_killed_relay_loses_nothing(self):
        self.study(points=6, repeats=3, iterations=40, latency="10ms")
        self.ssh("--detach", "--task-time", "1000s", "--hand-in", "100ms")
        waiter = subprocess.Popen(self.command("wait", "s.fleet"), cwd=self.dir, env=self.environment, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        while not any(name.endswith(".db") for _, _, names in os.walk(self.dir + "/hosts.d") for name in names):
            time.sleep(0.05)
        waiter.send_signal(signal.SIGKILL)
        waiter.wait()
        self.fleet("wait", "s.fleet")
        self.assert_exactly_once()

    @unittest.skipIf(NO_SSHD, NO_SSHD)
    def test_keys_that_do_not_fit_are_told_in_the_words_of_ssh(self):
        self.study(points=6)
        self.write("one\nlocked\nunknown\n", "hosts")
        told = self.ssh("--task-time", "8s")
        self.assertIn("locked is not reached by ssh:", told)
        self.assertIn("Permission denied (publickey)", told)
        self.assertIn("unknown is not reached by ssh:", told)
        self.assertIn("Host key verification failed", told)
        self.assert_exactly_once()

    @unittest.skipIf(NO_SSHD, NO_SSHD)
    def test_a_network_that_is_cut_loses_nothing(self):
        self.study(points=6, repeats=3, iterations=40, latency="10ms")
        self.ssh("--detach", "--task-time", "30s", "--hand-in", "100ms")
        waiter = subprocess.Popen(self.command("wait", "s.fleet", "--submissions", "1"), cwd=self.dir, env=self.environment,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        while not any(name.endswith(".db") for _, _, names in os.walk(self.dir + "/hosts.d") for name in names):
            time.sleep(0.05)
        self.hosts.cut()
        told, _ = waiter.communicate(timeout=600)
        self.assertEqual(waiter.returncode, 1, told)
        self.assertIn("is not reached by ssh", told)
        self.hosts.begin()
        self.fleet("wait", "s.fleet")
        self.assert_exactly_once()

    def test_bad_hosts_are_one_line(self):
        self.study()
        for text, words in [("", "names no host"), ("-oProxyCommand=x\n", "hosts:1: invalid host '-oProxyCommand=x'"), ("a\na\n", "hosts:2: a is listed twice"),
                            ("a; rm\n", "invalid host")]:
            self.write(text, "hosts")
            self.assertIn(words, self.ssh(code=2))
        self.assertIn("needs --hosts FILE", self.fleet("s.toml", "--scheduler", "ssh", code=2))
        self.assertIn("/none is not in $PATH", self.fleet("s.toml", "--scheduler", "ssh", "--hosts", "hosts", "--ssh", "/none", code=2) if
                      not self.write("a\n", "hosts") else "")


if NO_SSHD:
    print("a stand-in for ssh, since " + NO_SSHD)
main()
