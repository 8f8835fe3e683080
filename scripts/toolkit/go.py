"""Components that Go builds, or downloads, from its registry."""

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from toolkit import TIMEOUT, ToolError

MODULES = Path(__file__).parents[2] / "tests" / "e2e" / "modules"


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
class GoEngine:
    """A program that a small Go module of ours pins, with all that it is made of.

    Its go.mod says what its authors' says, with versions in place of the folders that they point
    at; its go.sum is ours, and Go checks every download against it. The version stands there only.
    """

    name: str
    folder: str  # Under tests/e2e/modules.
    package: str
    program: str
    flags: str = ""  # For the linker; VERSION stands for the module's.
    scripts: tuple[str, ...] = ()  # Of its module, called at run time.
    group: str = "engines"

    @property
    def module(self) -> tuple[str, str]:
        """The path and version of the module that has the program."""
        text = (MODULES / self.folder / "go.mod").read_text(encoding="utf-8")
        for path, version in re.findall(r"(?m)^(?:require |\t)(\S+) (v\S+)$", text):
            if f"{self.package}/".startswith(f"{path}/"):
                return path, version
        raise ToolError(f"{MODULES / self.folder}/go.mod requires no module with {self.package}.")

    @property
    def pin(self) -> str:
        digest = hashlib.sha256()
        for name in ("go.mod", "go.sum"):
            digest.update((MODULES / self.folder / name).read_bytes())
        how = " ".join((self.program, self.flags, *self.scripts))
        return f"{self.package}@{self.module[1]} {how} {digest.hexdigest()[:16]}"

    def fill(self, stage: Path) -> None:
        path, version = self.module
        flags = f"-s -w {self.flags.replace('VERSION', version)}".strip()
        program = stage / "bin" / self.program
        args = ("-mod=readonly", "-trimpath", "-ldflags", flags, "-o", str(program))
        folder = str(MODULES / self.folder)
        go("-C", folder, "build", *args, self.package, env={"CGO_ENABLED": "0"})
        for script in self.scripts:
            source = json.loads(go("mod", "download", "-json", f"{path}@{version}"))["Dir"]
            shutil.copyfile(Path(source, script), stage / "bin" / Path(script).name)
            (stage / "bin" / Path(script).name).chmod(0o755)


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


def crds_of(text: str) -> Iterator[tuple[str, str, str]]:
    """Group, kind and text of each CRD in a file as controller-gen and Istio write them."""
    for document in re.split(r"(?m)^---.*\n", text):
        if re.search(r"(?m)^kind: CustomResourceDefinition$", document):
            group = re.search(r"(?m)^  group: ([\w.-]+)$", document)
            kind = re.search(r"(?m)^    kind: (\w+)$", document)
            if not group or not kind:
                raise ToolError("a CustomResourceDefinition without group or kind was found.")
            yield group[1], kind[1], document


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
