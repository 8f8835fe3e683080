"""Components out of Debian packages, beside the system."""

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from toolkit import TIMEOUT, ToolError


@dataclass(frozen=True)
class DebianPrograms:
    """Programs out of a Debian package, unpacked beside the system and not installed into it."""

    name: str
    package: str
    programs: tuple[str, ...]
    libraries: tuple[str, ...] = ()  # Packages of shared libraries that few machines have.
    group: str = "programs"

    @property
    def pin(self) -> str:
        return " ".join((f"{self.package}:", *self.programs, *self.libraries))

    def fill(self, stage: Path) -> None:
        if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
            raise ToolError(
                f"{', '.join(self.programs)} come from Debian's package {self.package}, and this"
                " is not Debian. Install them yourself, somewhere on the PATH."
            )
        with tempfile.TemporaryDirectory() as folder:
            download = ["apt-get", "download", "-qq", self.package, *self.libraries]
            if _run(download, folder):
                _run(["apt-get", "update", "-qq"], folder)  # no list yet, or an old one
                if problem := _run(download, folder):
                    raise ToolError(f"apt-get could not get {self.package}:\n    {problem}")
            for archive in sorted(Path(folder).glob("*.deb")):
                if problem := _run(["dpkg-deb", "-x", str(archive), "unpacked"], folder):
                    raise ToolError(f"{archive.name} can't be unpacked:\n    {problem}")
            self._keep(Path(folder, "unpacked"), stage)

    def _keep(self, unpacked: Path, stage: Path) -> None:
        (stage / "bin").mkdir(parents=True, exist_ok=True)
        own = stage / self.name if self.libraries else stage / "bin"
        own.mkdir(exist_ok=True)
        for program in self.programs:
            (found,) = unpacked.glob(f"usr/*bin/{program}")
            shutil.copy2(found, own)
            if self.libraries:
                starter = stage / "bin" / program
                starter.write_text(STARTER.replace("NAME", self.name))
                starter.chmod(0o755)
        for library in (*unpacked.glob("lib/*/*.so*"), *unpacked.glob("usr/lib/*/*.so*")):
            if self.libraries:
                shutil.copy2(library, own)  # A link becomes a file of that name.


STARTER = """#!/bin/sh
here=$(CDPATH= cd -- "$(dirname -- "$0")/../NAME" && pwd)
export LD_LIBRARY_PATH="$here${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec "$here/$(basename -- "$0")" "$@"
"""


@dataclass(frozen=True)
class DebianBrowser:
    """A headless browser with the libraries that this machine lacks, beside the system as well.

    What is missing is what apt would install here. A browser that is on the PATH already serves as
    it is; other systems than Debian have no package like this one.
    """

    name: str
    packages: tuple[str, ...]
    own: tuple[str, ...]  # Programs that serve as well.
    group: str = "programs"

    @property
    def pin(self) -> str:
        return " ".join(self.packages)

    def fill(self, stage: Path) -> None:
        (stage / "bin").mkdir(parents=True, exist_ok=True)
        program = stage / "bin" / self.name
        if own := next(filter(None, map(shutil.which, self.own)), None):
            program.write_text(f'#!/bin/sh\nexec {own} "$@"\n')
        else:
            self._unpack(stage / self.name)
            program.write_text(BROWSER.replace("NAME", self.name))
        program.chmod(0o755)

    def _unpack(self, folder: Path) -> None:
        if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
            raise ToolError(
                f"{self.name} comes from Debian's package {self.packages[0]}, and this is not"
                f" Debian. Install {' or '.join(self.own)} yourself, somewhere on the PATH."
            )
        with tempfile.TemporaryDirectory() as scratch:
            download = ["apt-get", "download", "-qq", *self._wanted(scratch)]
            if problem := _run(download, scratch):
                raise ToolError(f"apt-get could not get {self.packages[0]}:\n    {problem}")
            for archive in sorted(Path(scratch).glob("*.deb")):
                if problem := _run(["dpkg-deb", "-x", str(archive), "unpacked"], scratch):
                    raise ToolError(f"{archive.name} can't be unpacked:\n    {problem}")
            for part in ("lib", "usr/lib", "usr/share/fonts"):
                if (found := Path(scratch, "unpacked", part)).is_dir():
                    shutil.copytree(found, folder / part, symlinks=True)
        (folder / "fonts.conf").write_text(FONTS)

    def _wanted(self, scratch: str) -> list[str]:
        """The packages and whatever of their dependencies is not on this machine."""
        for refresh in (False, True):
            if refresh:  # no list yet, or an old one
                _run(["apt-get", "update", "-qq"], scratch)
            done = subprocess.run(
                ["apt-get", "-s", "install", "--no-install-recommends", *self.packages],
                capture_output=True,
                text=True,
                timeout=TIMEOUT,
                check=False,
            )
            if not done.returncode:
                return re.findall(r"(?m)^Inst (\S+)", done.stdout)
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        reason = "\n    ".join(lines[-6:])
        raise ToolError(
            f"apt-get offers no {self.packages[0]}:\n    {reason}\n"
            f"  Install {' or '.join(self.own)} yourself, somewhere on the PATH."
        )


BROWSER = """#!/bin/sh
here=$(CDPATH= cd -- "$(dirname -- "$0")/../NAME" && pwd)
for folder in "$here"/lib/*-linux-gnu* "$here"/usr/lib/*-linux-gnu* "$here"/usr/lib/*/pulseaudio; do
  LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
done
export LD_LIBRARY_PATH
[ -e /etc/fonts/fonts.conf ] || export FONTCONFIG_FILE="$here/fonts.conf"
exec "$here/usr/lib/chromium/chromium-headless-shell" "$@"
"""
FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir prefix="relative">usr/share/fonts</dir><dir>/usr/share/fonts</dir></fontconfig>
"""


def _run(command: list[str], folder: str) -> str:
    """Why a command failed; nothing if it did not."""
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    return ("\n    ".join(lines[-6:]) or "it gave no reason") if done.returncode else ""
