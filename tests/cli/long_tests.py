"""Tests that ./check leaves out and --full runs."""
import os
import sys
import unittest


def long(test):
    if os.environ.get("DEEPGAP_LONG_TESTS"):
        return test
    print(f"{test.__name__} is left out: it is long, DEEPGAP_LONG_TESTS=1 runs it", file=sys.stderr)
    return unittest.skip("long: DEEPGAP_LONG_TESTS=1")(test)
