"""The command `deepgap` of an installed package: becomes the program, with the interpreter's engines."""
from __future__ import annotations

import os
import sys

from deepgap._program import ProgramError, environment, program


def main() -> int:
    try:
        path = program()
        os.execve(path, [str(path), *sys.argv[1:]], environment())
    except ProgramError as error:
        print(f"deepgap: {error}", file=sys.stderr)
    except OSError as error:
        print(f"deepgap: cannot run {path}: {error.strerror}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
