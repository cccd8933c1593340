"""Optional packages: imported when they are needed, with one line where they are missing."""
from __future__ import annotations

import importlib
from typing import Any

from deepgap._errors import MissingPackage


def optional(module: str, what_for: str) -> Any:
    """Imports a package; `what_for` begins the message if it is missing: "frame() needs"."""
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if error.name is not None and error.name.partition(".")[0] != package:
            raise MissingPackage(f"{what_for} {package}, which does not load: {error}") from error
        raise MissingPackage(f"{what_for} {package}: pip install {package}") from error
    except OSError as error:  # a shared library that the package needs
        raise MissingPackage(f"{what_for} {package}, which does not load: {error}") from error
