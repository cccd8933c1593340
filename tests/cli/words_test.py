"""Tests what people type first: a model without a flag, other tools' flags, names in any case, wrong requests for help.

Usage: words_test.py PATH_OF_DEEPGAP [unittest arguments]
"""
import json
import os
import subprocess
import sys
import unittest

from built_with import is_without
from store_case import PROGRAM, TINY, StoreCase

FEW = ["--warmup", "0", "--iterations", "3"]
NETWORK = TINY[1]


class WordsTest(StoreCase):
    backend = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.network = os.path.join(cls.dir, "net.onnx")
        cls.other = os.path.join(cls.dir, "other.onnx")  # a file of the same content would be the same model
        for network, path in ((NETWORK, cls.network), (NETWORK.replace("10", "11"), cls.other)):
            subprocess.run([PROGRAM, "models", network, "--shape", TINY[3], "--onnx", path], capture_output=True, check=True)

    def copy(self, name):
        path = os.path.join(os.fsencode(self.dir), name if isinstance(name, bytes) else name.encode())
        with open(self.network, "rb") as source, open(path, "wb") as target:
            target.write(source.read())
        return os.fsdecode(path)

    def models(self, *words, code=0):
        """The models of the Points that a run of these words would measure."""
        done = self.run_deepgap(*words, *FEW, "--dry-run", "--json", backend="null")
        self.assertEqual(done.returncode, code, done.stderr)
        return [point["point"]["model"] for point in json.loads(done.stdout)["points"]]

    def refused(self, *words, command=None):
        done = subprocess.run([PROGRAM, *(command or ["run"]), *words], capture_output=True, text=True, timeout=60, cwd=self.dir)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        return done.stderr

    # Models

    def test_a_word_is_a_model(self):
        self.assertEqual(self.models("resnet18"), ["resnet18"])
        self.assertEqual(self.models("resnet18", "ResNet-34"), ["resnet18", "resnet34"])
        self.assertEqual(self.models(self.network, "-b", "1,2"), [self.network] * 2)
        self.assertEqual(self.models("resnet18", "-m", "resnet34"), ["resnet34", "resnet18"])

    def test_a_word_is_a_study_by_its_name(self):
        study = os.path.join(self.dir, "two.toml")
        with open(study, "w") as f:
            f.write('[[grid]]\nmodel = "resnet18"\nbackend = "Null"\nbatch = [1, 2]\n')
        self.assertEqual(self.models(study), ["resnet18"] * 2)
        self.assertEqual(self.models(study, "resnet34"), ["resnet34"] * 2)
        self.assertIn("unexpected second study", self.refused(study, study))

    def test_files_with_commas(self):
        first, second = self.copy("a,b.onnx"), self.other
        self.assertEqual(self.models("-m", first), [first])
        self.assertEqual(self.models("-m", f"{first},{second}"), [first, second])
        self.assertEqual(self.models("-m", f"{second},{self.network}"), [second, self.network])

    def test_files_whose_names_are_no_utf8(self):
        path = self.copy(b"caf\xe9.onnx")
        done = subprocess.run(self.command(path, *FEW, backend="null"), capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"caf\xe9.onnx", done.stdout)
        again = subprocess.run(self.command(path, *FEW, "--resume", backend="null"), capture_output=True, timeout=60)
        self.assertIn(b"1 record is in", again.stderr)
        for verb in (["export", self.store], ["report", self.store, "-o", "-"], ["export", self.store, "--format", "json"]):
            self.assertEqual(subprocess.run([PROGRAM, *verb], capture_output=True).returncode, 0, verb)

    # Help and lists

    def test_short_help_keeps_the_whole_default(self):
        shown = " ".join(self.ok("tune", "-h").split())
        self.assertIn("Concurrent queries to try [default: 1, 2, 4, ... up to the threads]", shown)

    def test_options_are_listed_for_an_engine_that_is_named(self):
        self.assertNotIn("options\n", self.ok("backends"))
        self.assertIn("deepgap backends NAME", self.ok("backends"))
        self.assertRegex(self.ok("backends", "null"), r"\n  options\n    latency=1ms  +time of a query")

    def test_a_store_that_is_missing_is_not_taken_for_a_model(self):
        self.assertIn("cannot open store missing.db", subprocess.run([PROGRAM, "check", "missing.db"], capture_output=True, text=True).stderr)

    def ok(self, *words):
        return subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=True).stdout

    # Names

    def test_names_in_any_case_and_by_other_tools(self):
        done = self.run_deepgap("resnet18", "-e", "NULL", "-p", "FP32", "-d", "CPU", "-s", "SingleStream", "--dry-run", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        (point,) = [row["point"] for row in json.loads(done.stdout)["points"]]
        self.assertEqual((point["backend"], point["precision"], point["placement"]["devices"], point["scenario"]), ("null", "fp32", ["cpu"], "single-stream"))
        self.assertIn("'onnxruntim'", self.refused("resnet18", "-e", "onnxruntim"))

    def test_names_are_so_in_every_command(self):
        network = ["ResNet-18:width=0.125,classes=10", "--shape", TINY[3], "--cache", self.dir]
        for words in (["check", *network, "-e", "Native", "-p", "FP32", "-d", "CPU", "--against", "NATIVE"], ["profile", *network, "-e", "NATIVE", "-p", "float32"],
                      ["models", network[0]], ["quantize", *network, "-o", os.path.join(self.dir, "q.onnx"), "--samples", "2"]):
            with self.subTest(words):
                done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=300)
                self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("takes one engine", self.refused(self.network, "-e", "native,null", command=["check"]))

    def test_a_name_of_a_megabyte_is_not_quoted_in_full(self):
        study = os.path.join(self.dir, "long.toml")
        with open(study, "w", encoding="ascii") as file:
            file.write('[[grid]]\nmodel = "resnet18"\nbackend = "null"\n[grid.options]\n' + "a" * 1_000_000 + " = 1\n")
        said = self.refused(study)
        self.assertIn("unknown option", said)
        self.assertLess(len(said), 5000)

    def test_spellings_of_other_tools(self):
        done = self.run_deepgap(f"--onnx={self.network}", "--duration=0.05", "--shapes=input:Nx3x32x32", "--concurrency-range", "1:3:2", "-e", "null", "--warmup=0")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([row["scenario"] for row in self.rows()], ["concurrency"] * 2)

    def test_a_flag_of_another_tool_is_no_help(self):
        for words, part in ((["resnet18", "-hint"], "needs a value"), (["-m", "resnet18", "-hint", "latency", "-t", "3"], "--duration"),
                            (["resnet18", "-help_me"], "unknown flag '-help_me'"), (["resnet18", "--loadEngine=x"], "--model FILE.onnx")):
            with self.subTest(words):
                self.assertIn(part, self.refused(*words))

    def test_an_unknown_flag_is_answered_with_the_nearest_alone(self):
        self.assertIn("did you mean '--batch'?", self.refused("resnet18", "--bacth", "4"))
        far = self.refused("resnet18", "--frobnicate")
        self.assertIn("deepgap run --help", far)
        self.assertLess(len(far), 100)

    # Commands

    def test_unknown_commands(self):
        self.assertIn("did you mean 'run'?", self.refused(command=["rnu"]))
        self.assertIn("deepgap run resnet50", self.refused(command=["resnet50"]))
        self.assertIn(f"deepgap run {self.network}", self.refused(command=[self.network]))
        self.assertNotIn("__", self.refused(command=["frobnicate"]))
        self.assertIn("deepgap --help", self.refused(command=["frobnicate"]))

    def test_a_word_says_what_is_to_be_listed_or_tuned(self):
        def told(*words):
            return subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=True, timeout=60).stdout

        self.assertEqual([row["name"] for row in json.loads(told("backends", "NULL", "--json"))], ["null"])
        self.assertTrue(told("backends", "null").startswith("null "))
        self.assertEqual(told("backends", "list", "null"), told("backends", "null"))
        self.assertEqual(told("models", "list", "resnet18"), told("models", "resnet18"))
        self.assertIn("did you mean 'native'?", self.refused("natve", command=["backends"]))
        plan = told("tune", self.network, "-e", "null", "--threads", "1", "--batch", "1,2", "--dry-run")
        self.assertIn("2 configurations, 2 of them tried", plan)
        self.assertEqual(told("tune", "--model", self.network, "-e", "null", "--threads", "1", "--batch", "1,2", "--dry-run"), plan)
        self.assertIn("'a.toml' is a study; tune takes a model", self.refused("a.toml", command=["tune"]))

    def test_help_is_at_most_80_columns_wide_and_lists_no_internals(self):
        pages = [subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=True).stdout
                 for words in (["help"], ["--help"], ["help", "run"], ["run", "--help"], ["run", "-h"], ["tune", "--help"], ["check", "--help"])]
        self.assertEqual(pages[0], pages[1])
        self.assertEqual(pages[2], pages[3])
        self.assertLess(pages[4].count("\n"), 50, "-h is one screen of common flags")
        self.assertIn("deepgap run --help shows all", pages[4])
        for page in pages:
            self.assertNotIn("__", page)
            for line in page.splitlines():
                self.assertLessEqual(len(line), 80, line)
        self.assertIn("Examples:", pages[0])
        self.assertLess(pages[0].index("Measure:"), pages[0].index("Decide:"))
        self.assertIn("deepgap run resnet50", pages[2])
        self.assertIn("did you mean 'run'", self.refused("rn", command=["help"]))

    def test_version(self):
        said = [subprocess.run([PROGRAM, word], capture_output=True, text=True, check=True).stdout for word in ("version", "--version")]
        self.assertEqual(said[0], said[1])
        self.assertEqual(subprocess.run([PROGRAM, "-V"], capture_output=True, text=True, check=True).stdout, said[0])

    def test_quiet_and_verbose(self):
        quiet = self.run_deepgap(self.network, *FEW, "-q", "-e", "null")
        self.assertEqual((quiet.returncode, quiet.stderr), (0, ""))
        self.assertRegex(quiet.stdout, r"(?m)^\S*net\.onnx +null .* no target$")
        verbose = self.run_deepgap(self.network, *FEW, "-v", "-e", "null", "--axis", "crash_at=2", "--axis", "stderr=last words")
        self.assertEqual(verbose.returncode, 1)
        self.assertIn("| last words", verbose.stderr)

    def test_the_summary_in_a_file(self):
        path = os.path.join(self.dir, "summary.json")
        done = self.run_deepgap(self.network, *FEW, "-e", "null", "--export-json", path)
        self.assertRegex(done.stdout, r"(?m)^\S*net\.onnx +null .* no target$")
        with open(path) as f:
            self.assertEqual(json.load(f)["records"], 1)

    def test_what_cannot_be_written_is_said_before_anything_is_measured(self):
        for flags in (["--export-json", "/proc/nowhere/x.json"], ["--save-weights", "/proc/nowhere/x.safetensors", "--task", "train", "-e", "libtorch"]):
            with self.subTest(flags):
                if is_without(PROGRAM, "run", *flags):
                    continue
                lost = self.run_deepgap(self.network, *FEW, *([] if "-e" in flags else ["-e", "null"]), *flags)
                self.assertEqual((lost.returncode, lost.stdout), (2, ""), lost.stderr)
                self.assertIn(flags[0], lost.stderr)
                self.assertIn("folder /proc/nowhere does not exist", lost.stderr)
                self.assertFalse(os.path.exists(self.store))
        self.assertIn("folder /proc/nowhere does not exist", self.refused(self.network, "-o", "/proc/nowhere/q.onnx", command=["quantize"]))

    def test_a_folder_that_is_gone_or_has_no_name_is_one_line(self):
        gone = os.path.join(self.dir, "gone")
        os.mkdir(gone)
        for words in (["run", self.network, "--backend", "null", "--cache", "c", "--dry-run"], ["backends", "--libtorch", "torch"],
                      ["quantize", self.network, "-o", "q.onnx"]):
            with self.subTest(words):
                done = subprocess.run(["sh", "-c", 'rmdir "$1" && shift && exec "$@"', "sh", gone, PROGRAM, *words], capture_output=True, text=True,
                                      timeout=60, cwd=gone)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertEqual(done.stderr, "deepgap: the current folder no longer exists: change to another one, or give absolute paths\n")
                os.mkdir(gone)
        self.assertIn("--libtorch is empty", self.refused("--libtorch", "", command=["backends"]))

    # What is generated

    def test_completion_of_bash(self):
        script = os.path.join(self.dir, "completion.bash")
        with open(script, "w") as f:
            subprocess.run([PROGRAM, "completion", "bash"], stdout=f, check=True)

        def completed(*words):
            line = f'source {script}; COMP_WORDS=({" ".join(words)}); COMP_CWORD={len(words) - 1}; _deepgap 2>/dev/null; echo "${{COMPREPLY[@]}}"'
            return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True, cwd=self.dir).stdout.split()

        self.assertEqual(completed("deepgap", "ru"), ["run"])
        self.assertIn("--batch", completed("deepgap", "run", "--ba"))
        self.assertEqual(completed("deepgap", "run", "--backend", "onn"), ["onnxruntime"])
        self.assertIn("resnet18", completed("deepgap", "run", "resnet1"))
        self.assertEqual(completed("deepgap", "backends", "onn"), ["onnxruntime"])
        self.assertEqual(completed("deepgap", "cache", "cl"), ["clear"])
        self.assertIn("net.onnx", completed("deepgap", "run", "-m", "ne"))
        self.assertEqual(completed("deepgap", "run", "--batch", "x"), [])
        self.assertNotIn("__worker", completed("deepgap", "'__'"))

    def test_completion_of_zsh(self):
        script = subprocess.run([PROGRAM, "completion", "zsh"], capture_output=True, text=True, check=True).stdout
        self.assertTrue(script.startswith("#compdef deepgap"))
        self.assertIn("--batch", script)
        self.assertNotIn("__worker", script)
        self.assertIn("invalid value 'fish' for SHELL: expected bash or zsh", self.refused("fish", command=["completion"]))

    def test_the_manual_is_one(self):
        page = subprocess.run([PROGRAM, "manual"], capture_output=True, text=True, check=True).stdout
        self.assertTrue(page.startswith(".TH DEEPGAP 1"))
        for command in ("run", "check", "report"):
            self.assertIn(f".SS deepgap {command}", page)
        for line in page.splitlines():
            self.assertFalse(line.startswith("'"), line)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
