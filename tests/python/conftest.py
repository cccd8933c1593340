"""Parts that the tests share: a folder of their own, a network that `null` answers in virtual time, and one store that is measured once."""
import os
import sys

import pytest

import deepgap

PROGRAM = os.environ["DEEPGAP_PROGRAM"]
MODEL = "resnet18:width=0.125,classes=10"
TINY = {"backend": "null", "shape": {"input": ["N", 3, 32, 32]}, "progress": False}
VIRTUAL = {"clock": "virtual"}


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    return str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))


@pytest.fixture(scope="session")
def measured(tmp_path_factory, cache):
    """Two latencies at two batches, three times each: 8 and 16 samples per ms in the best case."""
    store = tmp_path_factory.mktemp("store") / "measured.db"
    axis = {**VIRTUAL, "latency": ["1ms", "2ms"], "distribution": "normal", "sigma": "0.01"}
    return deepgap.run(MODEL, batch=[8, 16], axis=axis, iterations=200, warmup=1, repeats=3, store=store, cache=cache, **TINY)


@pytest.fixture
def without_package(monkeypatch):
    """Makes a package look as if it were not installed."""

    def hide(name):
        for module in [module for module in sys.modules if module.partition(".")[0] == name]:
            monkeypatch.delitem(sys.modules, module)
        monkeypatch.setitem(sys.modules, name, None)

    return hide
