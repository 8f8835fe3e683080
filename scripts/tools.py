"""Installs the programs and schemas that tests compare us with, in a cache outside the repository.

    python scripts/tools.py               everything a test may want
    python scripts/tools.py kustomize     one component, or a group of them (crds)
    python scripts/tools.py --check       says what is there, installs nothing

The product needs none of this: only tests and benches do. COMPONENTS is the whole truth: what,
which version, how. A component fills an empty staging folder; the files are then renamed into the
cache one by one and a stamp with the pin is written last, so a killed run leaves nothing that looks
finished, and a second run does nothing. This is the only place that downloads: a test never does.

Standard library only, since it runs before anything is installed.
"""

import argparse
import contextlib
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

# Seconds for one run of Go: a network that hangs must not hang CI.
TIMEOUT = 1800


class ToolError(Exception):
    """One component can't be had; the text says why and what to do."""


class Component(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def group(self) -> str: ...
    @property
    def pin(self) -> str:
        """All that decides the result: when it changes, the component is installed again."""

    def fill(self, stage: Path) -> None:
        """Put files into `stage` under the paths that they will have in the cache."""


# ------------------------------------------------------------------------------ kinds of components


@dataclass(frozen=True)
class GoProgram:
    """A program that `go install` can build: its module has no `replace`."""

    name: str
    module: str
    version: str
    group: str = "programs"

    @property
    def pin(self) -> str:
        return f"{self.module}@{self.version}"

    def fill(self, stage: Path) -> None:
        go("install", self.pin, env={"GOBIN": str(stage / "bin")})
        if not (stage / "bin" / self.name).is_file():
            raise ToolError(f"go install {self.pin} made no program called {self.name}.")


@dataclass(frozen=True)
class GoServer:
    """A server whose module has `replace`: built from a module of our own that says the same.

    Its go.mod and go.sum are the server's, so the build has exactly the versions that its authors
    pinned. What it reads at run time lies in the module beside the code, and is copied.
    """

    name: str
    module: str
    version: str
    tags: str
    folders: tuple[str, ...]  # Read at run time; they come to share/<name>.
    group: str = "programs"

    @property
    def pin(self) -> str:
        return f"{self.module}@{self.version} {self.tags} {' '.join(self.folders)}"

    def fill(self, stage: Path) -> None:
        at = f"{self.module}@{self.version}"
        folder = Path(json.loads(go("mod", "download", "-json", at))["Dir"])
        with tempfile.TemporaryDirectory() as build:
            text = (folder / "go.mod").read_text(encoding="utf-8")
            text = re.sub(r"(?m)^module .*", "module build", text)
            text = re.sub(r"(?m)^tool .*", "", text)
            Path(build, "go.mod").write_text(f"{text}\nrequire {self.module} {self.version}\n")
            Path(build, "go.sum").write_text((folder / "go.sum").read_text(encoding="utf-8"))
            flags = f"-s -w -X main.Version={self.version.removeprefix('v')}"
            program = str(stage / "bin" / self.name)
            args = ("-mod=mod", "-trimpath", "-tags", self.tags, "-ldflags", flags, "-o", program)
            go("-C", build, "build", *args, self.module, env={"CGO_ENABLED": "1"})
        # File by file: folders of the module cache are read-only, and a copy would be, too.
        for path in (path for name in self.folders for path in (folder / name).rglob("*")):
            if path.is_file():
                target = stage / "share" / self.name / path.relative_to(folder)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)


@dataclass(frozen=True)
class GoCrds:
    """CustomResourceDefinitions that ship inside a Go module; downloaded, never built."""

    name: str
    module: str
    version: str
    files: str  # A glob inside the module.
    kinds: Sequence[str]  # What we rely on; the module's other kinds are taken too.
    group: str = "crds"
    folder: str = "crds"  # Where in the cache.

    @property
    def pin(self) -> str:
        return f"{self.module}@{self.version} {self.files} {' '.join(self.kinds)}"

    def fill(self, stage: Path) -> None:
        folder = Path(
            json.loads(go("mod", "download", "-json", f"{self.module}@{self.version}"))["Dir"]
        )
        (stage / self.folder).mkdir()
        found = set()
        for path in sorted(folder.glob(self.files)):
            for group, kind, text in crds_of(path.read_text(encoding="utf-8")):
                (stage / self.folder / f"{group}_{kind}.yaml").write_text(text, encoding="utf-8")
                found.add(kind)
        if missing := sorted(set(self.kinds) - found):
            raise ToolError(
                f"{self.module}@{self.version} has no CRD for {', '.join(missing)} in {self.files}."
            )


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


def crds_of(text: str) -> Iterator[tuple[str, str, str]]:
    """Group, kind and text of each CRD in a file as controller-gen and Istio write them."""
    for document in re.split(r"(?m)^---.*\n", text):
        if re.search(r"(?m)^kind: CustomResourceDefinition$", document):
            group = re.search(r"(?m)^  group: ([\w.-]+)$", document)
            kind = re.search(r"(?m)^    kind: (\w+)$", document)
            if not group or not kind:
                raise ToolError("a CustomResourceDefinition without group or kind was found.")
            yield group[1], kind[1], document


COMPONENTS: tuple[Component, ...] = (
    # 5.8.x is the line that Argo CD and Flux embed; v5.8.3 asks for Go 1.27.
    GoProgram("kustomize", "sigs.k8s.io/kustomize/kustomize/v5", "v5.8.2"),
    # What Prometheus itself says of our rules.
    DebianPrograms("prometheus", "prometheus", ("prometheus", "promtool")),
    # A real forge, for pull requests; v1.27 changed its module path.
    GoServer(
        "gitea",
        "code.gitea.io/gitea",
        "v1.26.0",
        "sqlite sqlite_unlock_notify",
        ("options", "templates"),
    ),
    # Real Git servers: http-backend behind a web server, and an ssh server. The last library lets
    # sshd find the user that it wants without one being made on this machine.
    DebianPrograms("nginx", "nginx", ("nginx",)),
    DebianPrograms("fcgiwrap", "fcgiwrap", ("fcgiwrap",), ("libfcgi0ldbl",)),
    DebianPrograms("sshd", "openssh-server", ("sshd",), ("libwrap0", "libnss-wrapper")),
    # The preview's page, in the engine that most people read it with.
    DebianBrowser(
        "chromium",
        ("chromium-headless-shell", "fonts-dejavu-core"),
        ("chromium-headless-shell", "chromium", "google-chrome"),
    ),
    GoCrds(
        "gateway-api",
        "sigs.k8s.io/gateway-api",
        "v1.6.3",
        "config/crd/standard/*.yaml",
        ("BackendTLSPolicy", "GRPCRoute", "Gateway", "GatewayClass", "HTTPRoute", "ReferenceGrant"),
    ),
    # Other releases of the same CRDs, for what one release changes of the other.
    GoCrds(
        "gateway-api-before",
        "sigs.k8s.io/gateway-api",
        "v1.3.0",
        "config/crd/standard/*.yaml",
        ("GRPCRoute", "Gateway", "GatewayClass", "HTTPRoute", "ReferenceGrant"),
        folder="crds-before",
    ),
    GoCrds(
        "prometheus-operator-after",
        "github.com/prometheus-operator/prometheus-operator",
        "v0.93.0",
        "example/prometheus-operator-crd/*.yaml",
        ("PodMonitor", "PrometheusRule", "ServiceMonitor"),
        folder="crds-after",
    ),
    GoCrds(
        "istio",
        "istio.io/api",
        "v1.31.1",
        "kubernetes/customresourcedefinitions.gen.yaml",
        ("DestinationRule", "Gateway", "VirtualService"),
    ),
    GoCrds(
        "traefik",
        "github.com/traefik/traefik/v3",
        "v3.6.12",
        "docs/content/reference/dynamic-configuration/traefik.io_*.yaml",
        ("IngressRoute", "Middleware", "TraefikService"),
    ),
    GoCrds(
        "keda",
        "github.com/kedacore/keda/v2",
        "v2.21.0",
        "config/crd/bases/*.yaml",
        ("ScaledObject", "TriggerAuthentication"),
    ),
    GoCrds(
        "prometheus-operator",
        "github.com/prometheus-operator/prometheus-operator",
        "v0.85.0",
        "example/prometheus-operator-crd/*.yaml",
        ("PodMonitor", "PrometheusRule", "ServiceMonitor"),
    ),
    GoCrds(
        "argo-cd",
        "github.com/argoproj/argo-cd/v3",
        "v3.5.6",
        "manifests/crds/*-crd.yaml",
        ("AppProject", "Application", "ApplicationSet"),
    ),
    # source-controller starts only when all of its kinds exist.
    GoCrds(
        "flux-source",
        "github.com/fluxcd/source-controller",
        "v1.9.4",
        "config/crd/bases/*.yaml",
        ("Bucket", "GitRepository", "HelmChart", "HelmRepository", "OCIRepository"),
    ),
    GoCrds(
        "flux-kustomize",
        "github.com/fluxcd/kustomize-controller",
        "v1.9.5",
        "config/crd/bases/*.yaml",
        ("Kustomization",),
    ),
    GoCrds(
        "flux-helm",
        "github.com/fluxcd/helm-controller",
        "v1.6.3",
        "config/crd/bases/*.yaml",
        ("HelmRelease",),
    ),
)


# --------------------------------------------------------------------------------------- running Go


def go(*args: str, env: dict[str, str] | None = None) -> str:
    """Run Go away from any module of ours; its refusals become one sentence."""
    program = shutil.which("go")
    if not program:
        raise ToolError("Go is not on the PATH. Install Go 1.26 or newer from https://go.dev/dl.")
    # A workspace or a foreign target of the caller must not leak in.
    inherited = {k: v for k, v in os.environ.items() if k not in ("GOOS", "GOARCH", "GOBIN")}
    with tempfile.TemporaryDirectory() as empty:
        try:
            done = subprocess.run(
                [program, *args],
                cwd=empty,
                env=inherited | {"GOWORK": "off"} | (env or {}),
                capture_output=True,
                text=True,
                timeout=TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise ToolError(f"`go {' '.join(args)}` did not end in {TIMEOUT} s.") from None
    if done.returncode:
        raise ToolError(explain(args[-1], done.stdout, done.stderr))
    return done.stdout


def explain(what: str, stdout: str, stderr: str) -> str:
    with contextlib.suppress(ValueError, KeyError, TypeError):
        stderr = json.loads(stdout)["Error"]  # `go mod download -json` reports there.
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    reason = "\n    ".join(lines[-6:]) or "it gave no reason"
    text = " ".join(lines)
    if "requires go >=" in text:
        remedy = "Install a newer Go, or set GOTOOLCHAIN=auto to let Go fetch one."
    elif re.search(
        r"no such host|dial tcp|GOPROXY=off|connection refused|i/o timeout|network is unreach", text
    ):
        remedy = "There is no way to the Go registry: check the network and GOPROXY."
    elif re.search(
        r"unknown revision|not found|\b40[34]\b|\b410\b|not available|no matching versions", text
    ):
        remedy = (
            "The registry (GOPROXY) does not offer this version: pin another in scripts/tools.py."
        )
    else:
        remedy = f"Try it by hand: go install {what}"
    return f"Go could not get {what}:\n    {reason}\n  {remedy}"


# ---------------------------------------------------------------------------------------- the cache


@dataclass(frozen=True)
class Cache:
    root: Path

    @property
    def stamps(self) -> Path:
        return self.root / "stamps"

    def stamp(self, component: Component) -> dict[str, list[str] | str]:
        try:
            stamp = json.loads((self.stamps / f"{component.name}.json").read_text())
        except (OSError, ValueError):
            return {}
        return stamp if isinstance(stamp, dict) and "files" in stamp else {}

    def has(self, component: Component) -> bool:
        stamp = self.stamp(component)
        return stamp.get("pin") == component.pin and all(
            (self.root / name).is_file() for name in stamp["files"]
        )

    def install(self, component: Component) -> None:
        with tempfile.TemporaryDirectory(prefix=".stage-", dir=self.root) as folder:
            stage = Path(folder)
            component.fill(stage)
            files = sorted(str(p.relative_to(stage)) for p in stage.rglob("*") if p.is_file())
            stamp = self.stamps / f"{component.name}.json"
            old = self.stamp(component).get("files", ())
            stamp.unlink(missing_ok=True)
            for name in set(old) - set(files):
                (self.root / name).unlink(missing_ok=True)
            for name in files:
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                (stage / name).replace(self.root / name)
            new = stage / "stamp"
            new.write_text(json.dumps({"pin": component.pin, "files": files}, indent=1))
            new.replace(stamp)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """One run at a time; the second waits and then finds the work done."""
        self.stamps.mkdir(parents=True, exist_ok=True)
        with (self.root / ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say("waiting for another run of this script")
                fcntl.flock(lock, fcntl.LOCK_EX)
            for left in self.root.glob(".stage-*"):  # By a run that was killed.
                shutil.rmtree(left, ignore_errors=True)
            yield


def cache_root() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "gati-gitops" / "tools"


# ----------------------------------------------------------------------------------------- the verb


def say(text: str, end: str = "\n") -> None:
    print(f"tools: {text}", end=end, flush=True)


def chosen(names: Sequence[str]) -> list[Component]:
    known = {name for c in COMPONENTS for name in (c.name, c.group)}
    if unknown := sorted(set(names) - known):
        raise SystemExit(f"tools: no {', '.join(unknown)}; there are {', '.join(sorted(known))}")
    return [c for c in COMPONENTS if not names or c.name in names or c.group in names]


def install(cache: Cache, wanted: Sequence[Component]) -> list[Component]:
    """Install what is not there yet; returns what could not be had, having said why."""
    failed: list[Component] = []
    reasons: set[str] = set()
    if all(cache.has(c) for c in wanted):
        return failed
    with cache.locked():
        for component in wanted:
            if cache.has(component):
                continue
            say(f"{component.pin.split()[0]} ... ", end="")
            start = time.monotonic()
            try:
                cache.install(component)
            except ToolError as error:
                print(
                    "failed", *(() if str(error) in reasons else (error,)), sep="\n  ", flush=True
                )
                reasons.add(str(error))
                failed.append(component)
            else:
                print(f"{time.monotonic() - start:.1f} s", flush=True)
    return failed


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", help="components or groups; all without any")
    parser.add_argument("--check", action="store_true", help="say what is there; install nothing")
    parser.add_argument(
        "--optional",
        action="store_true",
        help="exit 0 though something is missing, unless GATI_REQUIRE_TOOLS=1",
    )
    args = parser.parse_args(argv)
    wanted = chosen(args.names)
    cache = Cache(cache_root())
    if args.check:
        for component in wanted:
            state = "there" if cache.has(component) else "missing"
            print(f"{component.name:20} {state:8} {component.pin.split()[0]}")
        return 0 if all(cache.has(c) for c in wanted) else 1
    try:
        missing = install(cache, wanted)
    except OSError as error:
        say(f"{cache.root} can't be written: {error}. Set XDG_CACHE_HOME to a folder that can.")
        missing = [c for c in wanted if not cache.has(c)]
    if not missing:
        return 0
    required = os.environ.get("GATI_REQUIRE_TOOLS") == "1" or not args.optional
    say(f"missing: {', '.join(c.name for c in missing)}")
    if not required:
        say("going on; tests that need them are skipped. `make tools` tries again.")
    return 1 if required else 0


if __name__ == "__main__":
    sys.exit(main())
