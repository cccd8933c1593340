"""Hosts for tests of `--scheduler ssh`: a real sshd of this machine, or a stand-in for ssh where there is none.

`Sshd` is OpenSSH's server with a configuration and keys of its own in the test's folder, on high ports of the loopback. Each host is a port of it;
what is called there runs in a folder that stands for the host's home. Nothing of the user's or the system's ssh is read or written, nor what the
user's shell would read at each connection.
"""
import getpass
import os
import shutil
import signal
import socket
import subprocess
import time

from free_ports import free_ports

HERE = os.path.dirname(os.path.abspath(__file__))
SYSTEM = os.environ["PATH"] + ":/usr/sbin:/sbin"
CHEAP_KEYS = "curve25519-sha256"  # of the exchange at each connection; OpenSSH's first choice takes several times as long to compute
UNPACKED = os.path.abspath(HERE + "/../../.venv/sshd")  # by tools/setup


def children_of(pid):
    """Processes below this one, deepest last."""
    found = []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/stat") as file:
                parent = int(file.read().rsplit(")", 1)[1].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        if parent == pid:
            found += [int(name), *children_of(int(name))]
    return found


class Sshd:
    def __init__(self, folder, hosts, node_environment):
        self.folder, self.hosts = folder + "/sshd", hosts
        os.makedirs(self.folder)
        os.makedirs(folder + "/hosts.d")
        self.ports = dict(zip(hosts, range(free_ports(len(hosts) + 1), 65536)))
        self.nobody = max(self.ports.values()) + 1  # a port where nobody listens
        for key in ("host_key", "key", "other_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{self.folder}/{key}"], check=True)
        self.write_server(folder, node_environment)
        self.write_client()
        self.environment = {}  # for whoever calls ssh
        self.server = None
        self.begin()

    def write(self, name, text, mode=0o600):
        with open(f"{self.folder}/{name}", "w") as file:
            file.write(text)
        os.chmod(f"{self.folder}/{name}", mode)

    def read(self, name):
        with open(f"{self.folder}/{name}") as file:
            return file.read()

    def write_server(self, folder, node_environment):
        given = " ".join(f"{key}={value}" for key, value in node_environment.items())
        self.write("enter", f'#!/bin/sh\nmkdir -p {folder}/hosts.d/$1 && cd {folder}/hosts.d/$1 || exit 255\n'
                            f'exec env {given} HOME="$PWD" /bin/sh -c "$SSH_ORIGINAL_COMMAND"\n', 0o755)
        self.write("authorized_keys", self.read("key.pub"))
        text = "".join(f"Port {port}\n" for port in self.ports.values())
        text += f"""ListenAddress 127.0.0.1
HostKey {self.folder}/host_key
PidFile {self.folder}/pid
SetEnv HOME={self.folder}
KexAlgorithms {CHEAP_KEYS}
AuthorizedKeysFile {self.folder}/authorized_keys
PubkeyAuthentication yes
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
MaxStartups 100
"""
        for host, port in self.ports.items():
            text += f"Match LocalPort {port}\n  ForceCommand {self.folder}/enter {host}\n"
        self.write("sshd_config", text)

    def write_client(self):
        self.write("known_hosts", "deepgap-test " + self.read("host_key.pub"))
        first = next(iter(self.ports.values()))
        aliases = [(host, port, "key", "deepgap-test") for host, port in {**self.ports, "gone": self.nobody}.items()]
        aliases += [("locked", first, "other_key", "deepgap-test"), ("unknown", first, "key", "another-name")]
        text = "".join(f"Host {host}\n  Port {port}\n  IdentityFile {self.folder}/{key}\n  HostKeyAlias {name}\n"
                       for host, port, key, name in aliases)
        text += f"""Host *
  HostName 127.0.0.1
  User {getpass.getuser()}
  IdentitiesOnly yes
  KexAlgorithms {CHEAP_KEYS}
  StrictHostKeyChecking yes
  UserKnownHostsFile {self.folder}/known_hosts
  GlobalKnownHostsFile /dev/null
"""
        self.write("ssh_config", text)
        self.program = self.folder + "/ssh"
        self.write("ssh", f'#!/bin/sh\nexec {shutil.which("ssh")} -F {self.folder}/ssh_config "$@"\n', 0o755)

    def begin(self):
        with open(self.folder + "/log", "a") as log:
            self.server = subprocess.Popen([*sshd_command(), "-D", "-e", "-f", self.folder + "/sshd_config"], stderr=log)
        for _ in range(200):
            try:
                for port in self.ports.values():
                    socket.create_connection(("127.0.0.1", port), 5).close()
                return
            except OSError:
                if self.server.poll() is not None:
                    break
                time.sleep(0.05)
        raise RuntimeError("sshd does not begin: " + self.read("log"))

    def cut(self):
        """Acts as if the cable was pulled: the server and its sessions end, and what they have begun goes on."""
        sessions = children_of(self.server.pid)
        for pid in [self.server.pid, *sessions]:
            try:
                with open(f"/proc/{pid}/comm") as file:
                    if file.read().startswith("sshd"):
                        os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
        self.server.wait()

    def end(self):
        if self.server.poll() is None:
            below = children_of(self.server.pid)
            self.server.terminate()
            self.server.wait()
            for pid in below:
                try:
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    continue


class StandIn:
    """Does what ssh does, without a network."""

    def __init__(self, folder, _, node_environment):
        self.program = HERE + "/stand_in_ssh"
        self.environment = {**node_environment, "STAND_IN_HOSTS": folder + "/hosts.d"}

    def end(self):
        pass


def sshd_command():
    """Empty where there is none."""
    installed = shutil.which("sshd", path=SYSTEM)
    if installed:
        return [installed]
    libraries = [root for root, _, names in os.walk(UNPACKED) if any(name.startswith("libwrap.so") for name in names)]
    program = UNPACKED + "/usr/sbin/sshd"
    if not os.access(program, os.X_OK):
        return []
    preloaded = ["LD_PRELOAD=" + os.environ["DEEPGAP_SSHD_USER"]] if "DEEPGAP_SSHD_USER" in os.environ else []  # sshd_user.cpp
    return ["env", "LD_LIBRARY_PATH=" + ":".join(libraries), *preloaded, program]


def why_no_sshd():
    for program in ("ssh", "ssh-keygen"):
        if shutil.which(program) is None:
            return f"{program} is not installed (Debian: openssh-client)"
    if not sshd_command():
        return "there is no sshd (./check unpacks Debian's openssh-server)"
    if os.geteuid() == 0:
        os.makedirs("/run/sshd", mode=0o755, exist_ok=True)  # as root sshd wants it, empty; Debian makes it when its service begins
    return ""
