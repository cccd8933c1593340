"""Tests of features that a build can be without, such as CMake's DEEPGAP_MLPERF=OFF."""
import subprocess
import unittest


def is_without(program, *words):
    """Whether the program was built without what the words ask for. They must be refused in every build."""
    return "was built without" in subprocess.run([program, *words], capture_output=True, text=True).stderr


def needs(program, *words):
    """Leaves a test out where is_without() holds."""
    return unittest.skipIf(is_without(program, *words), f"left out: the program was built without {' '.join(words)}")
