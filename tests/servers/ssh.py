"""Git over ssh: a real sshd with keys of its own, for the user who runs the tests.

Run by root, sshd wants a user called `sshd` and a folder in /run. The user is told to it by a library
laid over it, so none is made on this machine; the folder is made if it can be.
"""

import os
import pwd
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from tests.servers.process import Process, free_port, started
from tests.tools import find, missing, tool

CONFIG = """
Port {port}
ListenAddress 127.0.0.1
{host_keys}
PidFile none
AuthorizedKeysFile {folder}/authorized
StrictModes no
UsePAM no
PubkeyAuthentication yes
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
UseDNS no
MaxStartups 500
MaxSessions 500
LogLevel INFO
"""
PRIVILEGES = Path("/run/sshd")


class Ssh:
    """An ssh server: ``key`` opens it, ``known_hosts`` knows it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.user = pwd.getpwuid(os.getuid()).pw_name
        self.key = folder / "key"
        public = new_key(self.key)
        (folder / "authorized").write_text(f"{public}\n")
        self.host_keys = [
            new_key(folder / "host_ed25519"),
            new_key(folder / "host_ecdsa", "ecdsa"),
        ]
        self._server = started(5, self._start)
        self.known_hosts = folder / "known_hosts"
        self.known_hosts.write_text("".join(f"{self.host} {key}\n" for key in self.host_keys))

    @property
    def host(self) -> str:
        return f"[127.0.0.1]:{self.port}"

    def url(self, path: Path) -> str:
        return f"ssh://{self.user}@127.0.0.1:{self.port}{path}"

    @property
    def environ(self) -> dict[str, str]:
        return {"GATI_SSH_KEY": str(self.key), "GATI_SSH_KNOWN_HOSTS": str(self.known_hosts)}

    @property
    def git_environ(self) -> dict[str, str]:
        """What makes the git command line reach the server."""
        options = f"-i {self.key} -o UserKnownHostsFile={self.known_hosts} -o IdentitiesOnly=yes"
        return {"GIT_SSH_COMMAND": f"{tool('ssh')} -F /dev/null {options}"}

    def end(self) -> None:
        self._server.end()

    def log(self) -> str:
        return self._server.said()

    def _start(self):
        self.port = free_port()
        config = self.folder / "sshd_config"
        keys = "\n".join(f"HostKey {self.folder / name}" for name in ("host_ed25519", "host_ecdsa"))
        config.write_text(CONFIG.format(port=self.port, folder=self.folder, host_keys=keys))
        process = Process(
            [tool("sshd"), "-D", "-e", "-f", config],
            self.folder / "sshd.log",
            env=self._as_root() if os.getuid() == 0 else None,
        )
        return process if process.answers(("127.0.0.1", self.port)) else None

    def _as_root(self) -> dict[str, str]:
        try:
            PRIVILEGES.mkdir(mode=0o755, exist_ok=True)
        except OSError:
            missing(str(PRIVILEGES))
        try:
            pwd.getpwnam("sshd")
            return {}
        except KeyError:
            pass
        library = tool("sshd").parent.parent / "sshd" / "libnss_wrapper.so"
        if not library.is_file():
            missing("libnss-wrapper")
        users, groups = self.folder / "passwd", self.folder / "group"
        users.write_text(
            "sshd:x:65534:65534::/nonexistent:/usr/sbin/nologin\n"
            f"{self.user}:x:{os.getuid()}:{os.getgid()}::{self.folder}:/bin/sh\n"
        )
        groups.write_text(f"nogroup:x:65534:\n{self.user}:x:{os.getgid()}:\n")
        return {
            "LD_PRELOAD": str(library),
            "NSS_WRAPPER_PASSWD": str(users),
            "NSS_WRAPPER_GROUP": str(groups),
        }


def has_ssh() -> bool:
    return find("sshd") is not None


def new_key(path: Path, kind: str = "ed25519", passphrase: str = "") -> str:
    """Write a private key as ssh-keygen does; the public one in a line."""
    made = {
        "ed25519": ed25519.Ed25519PrivateKey.generate,
        "ecdsa": lambda: ec.generate_private_key(ec.SECP256R1()),
        "rsa": lambda: rsa.generate_private_key(65537, 2048),
    }[kind]()
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH
    cipher = serialization.NoEncryption()
    if passphrase:  # Few rounds: it guards nothing.
        cipher = form.encryption_builder().kdf_rounds(1).build(passphrase.encode())
    path.write_bytes(made.private_bytes(encoding, form, cipher))
    path.chmod(0o600)
    public = made.public_key().public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    )
    path.with_name(f"{path.name}.pub").write_bytes(public + b"\n")
    return public.decode()
