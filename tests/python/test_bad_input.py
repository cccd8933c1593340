"""One clear line each: missing and foreign programs, stores that are not, unknown keywords, missing packages."""
import os
import sqlite3
import subprocess

import pytest
from conftest import PROGRAM

import deepgap
from deepgap import _call


def message(kind, call):
    with pytest.raises(kind) as caught:
        call()
    text = str(caught.value)
    assert text and "\n" not in text
    return text


@pytest.fixture
def program(monkeypatch, tmp_path):
    """Puts a script in place of the program."""

    def put(text):
        path = tmp_path / "deepgap-script"
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        monkeypatch.setenv("DEEPGAP_PROGRAM", str(path))
        return path

    return put


def test_unknown_keywords_have_a_suggestion():
    assert message(TypeError, lambda: deepgap.run("resnet18", bacth=1)) == "run() got an unexpected keyword argument 'bacth'; did you mean 'batch'?"
    assert message(TypeError, lambda: deepgap.run("resnet18", xyzzy=1)) == "run() got an unexpected keyword argument 'xyzzy'; `deepgap run --help` lists the flags"
    assert "use deepgap.plan()" in message(TypeError, lambda: deepgap.run("resnet18", dry_run=True))


def test_values_that_are_wrong():
    assert message(deepgap.UsageError, lambda: deepgap.run("resnet18", quick="yes")) == "invalid value 'yes' for quick: expected True or False"
    assert "expected at least one value" in message(deepgap.UsageError, lambda: deepgap.run("resnet18", batch=[]))
    assert "for --duration: expected a time" in message(deepgap.UsageError, lambda: deepgap.run("resnet18", duration="soon"))
    assert "did you mean 'resnet50'" in message(deepgap.UsageError, lambda: deepgap.run("resnet5"))
    assert "expected True, False or 'auto'" in message(deepgap.UsageError, lambda: deepgap.run("resnet18", progress="no"))


def test_errors_have_the_exit_code_and_are_of_one_kind():
    with pytest.raises(deepgap.UsageError) as caught:
        deepgap.run("no-such-network")
    assert caught.value.exit_code == 2 and isinstance(caught.value, (deepgap.Error, ValueError))


def test_a_program_that_is_missing(monkeypatch):
    monkeypatch.setenv("DEEPGAP_PROGRAM", "/nowhere/deepgap")
    assert "invalid value '/nowhere/deepgap' for DEEPGAP_PROGRAM" in message(deepgap.ProgramError, lambda: deepgap.run("resnet18"))
    monkeypatch.delenv("DEEPGAP_PROGRAM")
    monkeypatch.setenv("PATH", "/nowhere")
    if not (_call._program.PREFIX / "bin/deepgap").exists():
        assert "set DEEPGAP_PROGRAM" in message(deepgap.ProgramError, lambda: deepgap.run("resnet18"))


def test_a_program_that_is_another(program):
    program("echo hello\n")
    assert "is not the deepgap program" in message(deepgap.ProgramError, lambda: deepgap.run("resnet18"))


def test_versions_that_differ_are_a_warning(program, monkeypatch):
    path = program(f'[ "$1" = version ] && echo deepgap 9.8.7 && exit\nexec {PROGRAM} "$@"\n')
    monkeypatch.setattr("importlib.metadata.version", lambda name: "0.1.0")
    with pytest.warns(UserWarning, match=f"^the program {path} is deepgap 9.8.7 and this package is 0.1.0: "):
        deepgap.program()
    assert _call.release("0.1.0-5-gabc") == _call.release("0.1.0.dev3+x") == ("0", "1", "0")


def test_a_program_that_dies(program):
    program(f'[ "$1" = run ] && kill -SEGV $$\nexec {PROGRAM} "$@"\n')
    assert message(deepgap.InternalError, lambda: deepgap.run("resnet18", progress=False)) == "the program was ended by SIGSEGV"
    program(f'[ "$1" = run ] && echo {{broken && exit\nexec {PROGRAM} "$@"\n')
    assert "other than JSON" in message(deepgap.InternalError, lambda: deepgap.run("resnet18", progress=False))


def test_stores_that_are_not(tmp_path):
    assert message(deepgap.UsageError, lambda: deepgap.open("none.db")) == "cannot open none.db: No such file or directory"
    assert "cannot open" in message(deepgap.UsageError, lambda: deepgap.open(tmp_path))
    (tmp_path / "text.db").write_text("text, text, text")
    assert "it is not a store" in message(deepgap.UsageError, lambda: deepgap.open("text.db"))
    assert "needs at least one store" in message(TypeError, deepgap.open)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_store_that_cannot_be_read(tmp_path):
    (tmp_path / "closed.db").write_text("")
    (tmp_path / "closed.db").chmod(0)
    assert message(deepgap.UsageError, lambda: deepgap.open("closed.db")) == "cannot open closed.db: Permission denied"


def test_a_store_of_a_newer_version(measured, tmp_path):
    newer = tmp_path / "newer.db"
    subprocess.run([PROGRAM, "export", str(measured.stores[0]), "--format", "db", "--output", str(newer)], check=True, capture_output=True)
    with sqlite3.connect(newer) as database:
        database.execute("UPDATE meta SET value = '99' WHERE key = 'schema'")
        database.execute("PRAGMA user_version = 99")
    assert "newer.db" in (text := message(deepgap.UsageError, lambda: deepgap.open(newer))) and "newer" in text.replace("newer.db", "")


def test_selections_that_choose_nothing(measured):
    assert "known: 16, 8" in message(deepgap.UsageError, lambda: measured.select(batch=3)).replace("8, 16", "16, 8")
    assert "no record has a bakend" in message(deepgap.UsageError, lambda: measured.select(bakend="null"))
    assert "without | and ;" in message(deepgap.UsageError, lambda: measured.select(batch="8|16"))


def test_comparisons_that_are_none(measured):
    assert "the same results twice" in message(deepgap.UsageError, lambda: measured.compare(measured))
    assert "needs Results" in message(TypeError, lambda: measured.compare("other.db"))
    one, two = measured.select(batch=8), measured.select(batch=16)
    assert "did you mean 'margin'" in message(TypeError, lambda: one.compare(two, margn="1%"))
    assert "same since and until" in message(deepgap.UsageError, lambda: one.compare(two.select(since="2020-01-01")))


@pytest.mark.parametrize(("package", "call"), [("pandas", lambda r: r.frame()), ("polars", lambda r: r.frame("polars"))])
def test_missing_packages(package, call, measured, without_package):
    without_package(package)
    assert f"needs {package}: pip install {package}" in message(deepgap.MissingPackage, lambda: call(measured))
    assert len(measured) == 4 and "<table>" in measured._repr_html_(), "the rest works without"


def test_frames_of_other_kinds(measured):
    assert "expected 'pandas' or 'polars'" in message(deepgap.UsageError, lambda: measured.frame("arrow"))
    assert "expected 'point' or 'record'" in message(deepgap.UsageError, lambda: measured.frame(by="run"))
