"""Finds the deepgap program, and the engine libraries of this interpreter's packages that the program should use."""
from __future__ import annotations

import importlib.util
import os
import pathlib
import platform
import shutil
import sys

# The oldest glibc that the program of a wheel runs with; the wheel's platform tag (tools/wheel) says the same.
LEAST_GLIBC = (2, 36)

PREFIX = pathlib.Path(__file__).resolve().parent / "_prefix"

# Variable of the program, package, and a file of that package that shows that the library is there.
ENGINES = (
    ("DEEPGAP_ONNXRUNTIME", "onnxruntime/capi", "libonnxruntime.so*"),
    ("DEEPGAP_LIBTORCH", "torch", "lib/libtorch_cpu.so"),
    ("DEEPGAP_TENSORFLOW", "tensorflow", "libtensorflow_cc.so*"),
)
# Variables that name one file: NVIDIA's libraries where torch, beside which the program looks, did not bring them.
NVIDIA_LIBRARIES = (
    ("DEEPGAP_NVRTC", "libnvrtc.so.1[23]"),
    ("DEEPGAP_CUBLASLT", "libcublasLt.so.1[23]"),
    ("DEEPGAP_CUDNN", "libcudnn.so.9"),
    ("DEEPGAP_NCCL", "libnccl.so.2"),
    ("DEEPGAP_CUPTI", "libcupti.so.1[23]"),
)


class ProgramError(RuntimeError):
    """The program is missing, or this machine cannot run it. The message is one line that says what to do."""


def machine_defect() -> str:
    """Returns why this machine cannot run the program of a wheel, or an empty text."""
    need = f"it needs Linux on x86-64 with glibc {LEAST_GLIBC[0]}.{LEAST_GLIBC[1]} or newer"
    if sys.platform != "linux":
        return f"{need}; this system is {sys.platform}"
    if platform.machine() not in ("x86_64", "AMD64"):
        return f"{need}; this machine is {platform.machine()}"
    version = _glibc_version()
    if not version:
        return f"{need}; this system's C library is not glibc (such as Alpine's musl)"
    if version < LEAST_GLIBC:
        return f"{need}; this system has glibc {'.'.join(map(str, version))}"
    return ""


def _glibc_version() -> tuple[int, ...]:
    try:
        text = os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (AttributeError, OSError, ValueError):  # another C library does not know the name
        return ()
    try:
        return tuple(int(part) for part in text.split()[-1].split(".")[:2]) if text.startswith("glibc") else ()
    except ValueError:
        return ()


def program() -> pathlib.Path:
    """Returns the program: the file of DEEPGAP_PROGRAM, else that of this package, else the first on PATH that is not a script such as ours."""
    named = os.environ.get("DEEPGAP_PROGRAM")
    if named:
        path = pathlib.Path(named)
        if path.is_file() and os.access(path, os.X_OK):
            return path.absolute()
        raise ProgramError(f"invalid value '{named}' for DEEPGAP_PROGRAM: expected the deepgap program, an executable file")
    bundled = PREFIX / "bin" / "deepgap"
    if bundled.is_file():
        defect = machine_defect()
        if defect:
            raise ProgramError(f"cannot run {bundled}: {defect}")
        if not os.access(bundled, os.X_OK):
            raise ProgramError(f"cannot run {bundled}: the file is not executable; reinstall the wheel with pip, or run chmod +x on the file")
        return bundled
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        found = folder and shutil.which("deepgap", path=folder)
        if found and _is_elf(found):
            return pathlib.Path(found).absolute()
    raise ProgramError("the deepgap program is neither in this Python package nor on PATH; install a wheel that has it, or set DEEPGAP_PROGRAM to it")


def _is_elf(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def site_folders() -> list[pathlib.Path]:
    """Returns the folders of packages of this interpreter, first the one that holds this package. The working directory is not one of them."""
    here = os.getcwd() if os.path.isdir(".") else ""
    folders = [PREFIX.parent.parent]
    for entry in sys.path:
        path = pathlib.Path(entry)
        if path.is_absolute() and str(path) != here and path.is_dir() and path not in folders:
            folders.append(path)
    return folders


def _first(folders: list[pathlib.Path], pattern: str) -> pathlib.Path | None:
    for folder in folders:
        for path in sorted(folder.glob(pattern)):
            return path
    return None


def pip_install() -> str:
    """Returns the command that installs packages for this interpreter, which may be without pip, as environments of uv are."""
    python = sys.executable or "python3"
    if importlib.util.find_spec("pip") is not None:
        return f"{python} -m pip install"
    if shutil.which("uv"):
        return f"uv pip install --python {python}"
    return f"{python} -m ensurepip && {python} -m pip install"


def environment() -> dict[str, str]:
    """Returns this process's environment, with the engine libraries that the interpreter's packages have. What the user has set stays."""
    result = dict(os.environ)
    result["DEEPGAP_PIP_INSTALL"] = pip_install()
    folders = site_folders()
    for variable, package, file in ENGINES:
        found = None if result.get(variable) else _first(folders, f"{package}/{file}")
        if found is not None:
            result[variable] = str(found.parent.parent if file.startswith("lib/") else found.parent)
    for variable, file in NVIDIA_LIBRARIES:
        found = None if result.get(variable) or result.get("DEEPGAP_LIBTORCH") else _first(folders, f"nvidia/*/lib/{file}")
        if found is not None:
            result[variable] = str(found)
    # The plug-in of OpenVINO is linked with it, so the dynamic linker has to find it.
    openvino = _first(folders, "openvino/libs/libopenvino.so.*")
    if openvino is not None:
        others = result.get("LD_LIBRARY_PATH", "")
        result["LD_LIBRARY_PATH"] = f"{openvino.parent}:{others}" if others else str(openvino.parent)
    return result
