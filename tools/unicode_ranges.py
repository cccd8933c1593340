#!/usr/bin/env python3
"""Writes src/model/decoder/unicode_ranges.inc: the letters and the numbers of Unicode, as ranges of code points.

    python3 tools/unicode_ranges.py > src/model/decoder/unicode_ranges.inc"""
import textwrap
import unicodedata


def ranges(category):
    found = []
    for code in range(0x110000):
        if unicodedata.category(chr(code))[0] != category:
            continue
        if found and found[-1][1] == code - 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    return found


def main():
    print(f"// Made by tools/unicode_ranges.py of Unicode {unicodedata.unidata_version}: first and last code point of each range.")
    for name, category in ("letter_ranges", "L"), ("number_ranges", "N"):
        print(f"constexpr CodeRange {name}[] = {{")
        print(textwrap.fill(" ".join(f"{{0x{a:x},0x{b:x}}}," for a, b in ranges(category)), 138, initial_indent="    ", subsequent_indent="    "))
        print("};")


if __name__ == "__main__":
    main()
