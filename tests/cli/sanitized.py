"""Finds the sanitizer that a program was built with. Sanitizers end a process whose memory does not suffice instead of letting it say so."""


def sanitizer_of(program):
    """Its name, or None."""
    with open(program, "rb") as f:
        content = f.read()
    for mark, name in ((b"__asan_init", "AddressSanitizer"), (b"__tsan_init", "ThreadSanitizer")):
        if mark in content:
            return name
    return None
