"""Whom the conformance suite blames: a plug-in passes for an engine and answers wrongly, and what stands for the engine's own interface is right,
wrong, dies or is not there. Usage: suite_test.py SUITE FAULTY_PLUGIN"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SUITE, PLUGIN = (os.path.abspath(path) for path in sys.argv[1:3])
del sys.argv[1:3]

RIGHT = 'for f in "$1"/test_data_set_0/output_*.pb; do cp "$f" "$1/plain_${f##*_}"; done'
WRONG = 'cp "$1/test_data_set_0/input_0.pb" "$1/plain_0.pb"'
DIES = "kill -SEGV $$"
FAILS = "echo 'no such kernel' >&2; exit 3"


class Suite(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="deepgap_suite_"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.faults = self.folder / "faults"

    def run_suite(self, tests, plain, *flags, engine="onnxruntime"):
        os.makedirs(self.folder / "plugins", exist_ok=True)
        link = self.folder / "plugins" / f"deepgap_{engine}.so"
        if not link.exists():
            link.symlink_to(PLUGIN)
        if plain:
            script = self.folder / f"deepgap_plain_{engine}"
            script.write_text(f"#!/bin/sh\n{plain}\n")
            script.chmod(0o755)
        environment = {name: value for name, value in os.environ.items() if name not in ("DEEPGAP_STRICT_ENGINES", "DEEPGAP_LONG_TESTS")}  # more draws
        environment.update(DEEPGAP_PLUGINS=str(self.folder / "plugins"), DEEPGAP_TEST_ENGINE=engine, DEEPGAP_PLAIN_ENGINES=str(self.folder),
                           OMP_WAIT_POLICY="passive")
        return subprocess.run([SUITE, "--backend", engine, "--faults", str(self.faults), "--rounds", "1", f"--gtest_filter={tests}", *flags],
                              capture_output=True, text=True, timeout=300, env=environment)

    def assert_ended(self, done, code):
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)

    def test_an_engines_own_fault_is_named_and_kept_and_fails_nothing(self):
        done = self.run_suite("All/Operators*/Relu_float32:All/Operators*/Neg_float32", WRONG)
        self.assert_ended(done, 0)
        self.assertIn("FAULT onnxruntime: ", done.stdout)
        self.assertIn("by its own interface is wrong, too", done.stdout)
        (kept,) = self.faults.iterdir()
        self.assertIn("Relu_float32", kept.name)
        self.assertEqual({path.name for path in kept.iterdir()}, {"model.onnx", "case.txt", "fault.txt", "test_data_set_0", "plain_0.pb"})
        self.assertIn(f"--try {kept}", done.stdout)

    def test_an_engine_that_fails_by_itself_is_at_fault(self):
        done = self.run_suite("All/Operators*/Relu_float32", FAILS)
        self.assert_ended(done, 0)
        self.assertIn("fails: no such kernel", done.stdout)

    def test_strict_engines_fails_for_it(self):
        self.assert_ended(self.run_suite("All/Operators*/Relu_float32", WRONG, "--strict-engines"), 1)

    def test_where_the_engine_is_right_by_itself_the_adapter_is_wrong(self):
        done = self.run_suite("All/Operators*/Relu_float32", RIGHT)
        self.assert_ended(done, 1)
        self.assertIn("by its own interface is right", done.stdout)

    def test_what_cannot_be_told_fails(self):
        done = self.run_suite("All/Operators*/Relu_float32", None)
        self.assert_ended(done, 1)
        self.assertIn("is not here to ask", done.stdout)
        self.assert_ended(self.run_suite("All/Operators*/Relu_float32", "echo lost >&2; exit 2"), 1)

    def test_what_native_gets_wrong_fails(self):
        self.assert_ended(self.run_suite("All/Operators*/Relu_float32", WRONG, engine="native"), 1)

    def test_a_crash_is_the_engines_where_it_dies_by_itself_and_the_rest_is_tried(self):
        done = self.run_suite("All/Operators*/Sigmoid_float32:All/Operators*/Tanh_float32:All/Operators*/Neg_float32", DIES)
        self.assert_ended(done, 0)
        self.assertRegex(done.stdout, r"FAULT onnxruntime: killed by SIGSEGV in .*Sigmoid_float32")
        self.assertRegex(done.stdout, r"\[ +OK \] All/Operators.EqualsTheEvaluator/Tanh_float32")

    def test_a_crash_is_the_adapters_where_the_engine_answers(self):
        done = self.run_suite("All/Operators*/Sigmoid_float32:All/Operators*/Tanh_float32", "exit 0")
        self.assert_ended(done, 1)
        self.assertRegex(done.stdout, r"FAILED onnxruntime: killed by SIGSEGV in .*Sigmoid_float32")


if __name__ == "__main__":
    unittest.main()
