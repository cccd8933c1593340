import os
import socket


def free_ports(count):
    """The first of so many ports of the loopback in a row that nobody listens on. Programs that ask at the same time begin to look at different places."""
    firsts = range(17000, 60000 - count, count + 7)
    begin = os.getpid() * 31 % len(firsts)
    for first in [*firsts[begin:], *firsts[:begin]]:
        try:
            for port in range(first, first + count):
                with socket.socket() as listener:
                    listener.bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
    raise RuntimeError("no free ports")
