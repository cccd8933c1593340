"""Files are looked at by a process that can do nothing else, and a file that asks for too much is told which limit it broke.

Usage: confined_test.py PATH_OF_DEEPGAP [unittest arguments]
"""
import json
import os
import resource
import socket
import struct
import subprocess
import sys
import unittest

from store_case import PROGRAM, TINY, StoreCase

CHANNEL = 3


def frame(header):
    text = json.dumps(header).encode()
    return b"DGF1" + struct.pack("<II", len(text), 0) + text


class Reader:
    """`deepgap __read` as a parent starts it."""

    def __init__(self, **limits):
        self.ours, theirs = socket.socketpair()
        limit = {getattr(resource, name): value for name, value in limits.items()}

        def prepare():
            for which, value in limit.items():
                resource.setrlimit(which, (value, value))
            os.dup2(theirs.fileno(), CHANNEL)

        self.process = subprocess.Popen([PROGRAM, "__read"], preexec_fn=prepare, pass_fds=[CHANNEL], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        theirs.close()

    def ask(self, header):
        self.ours.sendall(frame(header))
        answer = b""
        while part := self.ours.recv(65536):
            answer += part
        self.process.wait(timeout=120)
        self.ours.close()
        self.process.stdout.close()
        if not answer:
            return None
        size = struct.unpack("<I", answer[4:8])[0]
        return json.loads(answer[12:12 + size])

    def state(self):
        with open(f"/proc/{self.process.pid}/status") as f:
            return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)


class ConfinedTest(StoreCase):
    flags = TINY

    def walls(self):
        """Returns doctor's finding about the limits: (all are in force, the line)."""
        done = subprocess.run([PROGRAM, "doctor", "--json"], capture_output=True, text=True, timeout=120)
        rows = [row for row in json.loads(done.stdout) if row["subject"] == "reading files"]
        self.assertEqual(len(rows), 1)
        return rows[0]["level"] == "ok", rows[0]["finding"]

    def model(self):
        path = os.path.join(self.dir, "m.onnx")
        done = subprocess.run([PROGRAM, "models", "resnet18:width=0.125,classes=10", "--onnx", path], capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path

    def inputs(self, model):
        return {"kind": "inputs", "request": {
            "model": {"name": model, "weights": "onnx", "seed": 1, "shapes": {}, "numbers": {}, "test_set": "", "cache_dir": "", "data_dir": "", "task": "infer"}, "backend": "native", "checked": "",
            "device": "cpu", "precision": "fp32", "precision_of_file": False, "dataset": "seeded", "samples": 1, "threads": 1, "cache_dir": "", "options": {}, "quantize": {}}}

    def test_the_reader_stands_behind_its_walls(self):
        stand, finding = self.walls()
        reader = Reader()
        self.assertEqual(reader.ask(self.inputs(self.model())), {"kind": "read"})
        if not stand:
            self.skipTest(f"left out: {finding}")
        # It reads its request only when it is confined, so an answer that never comes would show in ask(). Its state, before it is asked:
        reader = Reader()
        for _ in range(1000):
            state = reader.state()
            if state["Seccomp"] == "2":
                break
            os.sched_yield()
        self.assertEqual((state["NoNewPrivs"], state["Seccomp"]), ("1", "2"))
        reader.ask({"kind": "study", "path": "/nowhere.toml"})

    def test_memory_is_named(self):
        if "sanitizer" in self.walls()[1]:
            self.skipTest("left out under a sanitizer: memory is not limited there")
        model = os.path.join(self.dir, "wide.onnx")
        subprocess.run([PROGRAM, "models", "resnet18", "--onnx", model], check=True, capture_output=True, timeout=600)
        answer = Reader(RLIMIT_DATA=30 << 20).ask(self.inputs(model))
        self.assertEqual(answer["kind"], "error")
        self.assertIn("it needs more than the 30.0 MiB of memory that it may take", answer["message"])

    def test_what_is_wrong_comes_back_as_one_line(self):
        study = os.path.join(self.dir, "s.toml")
        with open(study, "w") as f:
            f.write("x = [")
        answer = Reader().ask({"kind": "study", "path": study})
        self.assertIn("s.toml:1", answer["message"])
        done = subprocess.run([PROGRAM, "run", study], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(len(done.stderr.strip().split("\n")), 1)
        self.assertIn("s.toml:1", done.stderr)

    def test_commands_over_stores_write_beside_what_they_are_told_to_write(self):
        self.assertEqual(self.run_deepgap("--warmup", "0", "--iterations", "3").returncode, 0)
        real, link = os.path.join(self.dir, "real"), os.path.join(self.dir, "link")
        os.mkdir(real)
        os.symlink(real, link)
        for arguments in (["report", self.store, "-o", f"{link}/r.html"], ["report", self.store], ["export", self.store, "--output", f"{link}/e.csv"],
                          ["export", self.store, "--compact", "--output", f"{real}/c.db"], ["check", self.store]):
            with self.subTest(arguments):
                done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120)
                self.assertIn(done.returncode, (0, 1), done.stderr)
                self.assertEqual(done.stderr, "")
        self.assertEqual(sorted(os.listdir(real)), ["c.db", "e.csv", "r.html"])
        for arguments in (["export", self.store, "--format", "csv"], ["report", self.store, "-o", "-"]):
            with open(os.path.join(self.dir, "out"), "w") as out:
                self.assertEqual(subprocess.run([PROGRAM, *arguments], stdout=out, timeout=120).returncode, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
