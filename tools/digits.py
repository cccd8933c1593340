#!/usr/bin/env python3
"""Makes data/digits out of the handwritten digits that the package scikit-learn carries: 1,797 grey pictures of 8x8 pixels.

Every fifth picture is held out; the others, which are for training, are put into an order drawn once (seed 0), since the package has
them sorted by writer. Pixels of 0 to 16 become 0 to 1. Standard library only: scikit-learn itself is not imported. Does nothing when the
result is there already.

    digits.py PACKAGE_FOLDER DATA_FOLDER     .../site-packages/sklearn  data/digits
"""

import gzip
import hashlib
import os
import random
import struct
import sys

CSV_SHA256 = "6ebb3d2fee246a4e99363262ddf8a00a3c41bee6014c373ed9d9216ba7f651b8"
HELD_OUT = 5  # every fifth


def read_digits(package):
    path = os.path.join(package, "datasets", "data", "digits.csv.gz")
    with gzip.open(path, "rb") as file:
        text = file.read()
    if hashlib.sha256(text).hexdigest() != CSV_SHA256:
        raise SystemExit(f"digits.py: {path} is not the file that this tool knows")
    rows = [[float(number) for number in line.split(",")] for line in text.decode("ascii").splitlines()]
    return [(row[:64], int(row[64])) for row in rows]


def write_npy(path, kind, shape, data):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape!r}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path + ".part", "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode("ascii") + data)
    os.replace(path + ".part", path)


def write_part(folder, name, digits):
    pixels = [value / 16 for picture, _ in digits for value in picture]
    write_npy(os.path.join(folder, name + ".npy"), "<f4", (len(digits), 1, 8, 8), struct.pack(f"<{len(pixels)}f", *pixels))
    labels = [label for _, label in digits]
    write_npy(os.path.join(folder, name + "_labels.npy"), "<i8", (len(labels),), struct.pack(f"<{len(labels)}q", *labels))


def main(package, folder):
    if os.path.exists(os.path.join(folder, "held_out_labels.npy")):
        return
    digits = read_digits(package)
    os.makedirs(folder, exist_ok=True)
    training = [digit for i, digit in enumerate(digits) if i % HELD_OUT != HELD_OUT - 1]
    random.Random(0).shuffle(training)
    write_part(folder, "train", training)
    write_part(folder, "held_out", digits[HELD_OUT - 1 :: HELD_OUT])


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(sys.argv[1], sys.argv[2])
