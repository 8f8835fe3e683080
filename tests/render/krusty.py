"""Folders that kustomize's own tests build, taken out of its Go sources at test time.

The tests write files into memory and run builds: `th.WriteK("base", `...`)`, `th.Run("overlay", ...)`.
This follows those calls function by function, through helpers that are given the harness, and keeps the
files as they are at each run. What it cannot follow (loops over tables, formatted strings, plugins) is
left out. Nothing of those sources is stored here.
"""

import contextlib
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

HEADER = "\napiVersion: kustomize.config.k8s.io/{}\nkind: {}\n"
FUNCTION = re.compile(r"^func (?:\([^)]*\) )?(\w+)\(([^)]*)\)[^{\n]*\{$", re.MULTILINE)
TOKEN = re.compile(
    r'`[^`]*`|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|//[^\n]*|/\*.*?\*/', re.DOTALL
)
CALL = re.compile(
    r"\b(?:\w+\.)?(WriteK|WriteF|WriteC|WriteFile|RunWithErr|Run|RemoveAll|WriteLegacyConfigs)\("
    r"|^\s*(\w+)\((th\w*)\b|\b(\w+) :?= (?=[`\"])",
    re.MULTILINE,
)
CONSTANT = re.compile(r"^\s*(?:const |var )?(\w+)(?: string)? = (?=[`\"])", re.MULTILINE)


class Unfollowable(Exception):
    """A part of a test that cannot be read off its source."""


@dataclass(frozen=True)
class Case:
    name: str
    path: str
    files: dict[str, str] = field(hash=False)


def sources() -> Path | None:
    """The folder of kustomize's tests in the Go module cache."""
    cache = os.environ.get("GOMODCACHE")
    if not cache:
        try:
            cache = subprocess.check_output(["go", "env", "GOMODCACHE"], text=True).strip()
        except OSError:
            cache = str(Path.home() / "go/pkg/mod")
    found = sorted(Path(cache).glob("sigs.k8s.io/kustomize/api@*/krusty"))
    return found[-1] if found else None


def cases(folder: Path) -> Iterator[Case]:
    for file in sorted(folder.glob("*_test.go")):
        yield from _File(file).cases()


def masked(text: str) -> str:
    """The text with the insides of strings and comments blanked out."""
    return TOKEN.sub(
        lambda m: m[0][0] + " " * (len(m[0]) - 2) + m[0][-1] if m[0][0] != "/" else " " * len(m[0]),
        text,
    )


class _File:
    def __init__(self, file: Path) -> None:
        self.name = file.stem.removesuffix("_test")
        self.text = file.read_text()
        self.masked = masked(self.text)
        self.functions: dict[str, tuple[int, int, str]] = {}
        self.constants: dict[str, str] = {}
        for match in FUNCTION.finditer(self.masked):
            end = self.masked.find("\n}", match.end())
            self.functions[match[1]] = (match.end(), end, match[2])
        for match in CONSTANT.finditer(self.masked):
            if not any(start <= match.start() < end for start, end, _ in self.functions.values()):
                try:
                    self.constants[match[1]] = self._value(self._expression(match.end()), {})
                except Unfollowable:
                    continue

    def cases(self) -> Iterator[Case]:
        for name in self.functions:
            if not name.startswith("Test"):
                continue
            found: list[Case] = []
            with contextlib.suppress(Unfollowable):
                self._run(name, {}, found, name)
            yield from found

    def _run(
        self, name: str, files: dict[str, str], found: list[Case], test: str, depth: int = 0
    ) -> None:
        start, end, _ = self.functions[name]
        local: dict[str, str] = {}
        for match in CALL.finditer(self.masked, start, end):
            verb, helper, _, assigned = match.groups()
            if assigned:
                try:
                    local[assigned] = self._value(self._expression(match.end()), local)
                except Unfollowable:
                    continue
            elif helper:
                if helper in self.functions and depth < 5 and helper != name:
                    arguments = self._arguments(match.start(3))
                    names = [
                        p.split()[0] for p in self.functions[helper][2].split(",") if p.strip()
                    ]
                    if len(arguments) != 1 or len(names) != 1:
                        raise Unfollowable(helper)
                    self._run(helper, files, found, test, depth + 1)
            elif verb in ("WriteLegacyConfigs", "RemoveAll"):
                raise Unfollowable(verb)
            else:
                arguments = self._arguments(match.end())
                if not arguments:
                    continue
                if verb in ("Run", "RunWithErr"):
                    if (
                        not re.match(r"[`\"]", arguments[0])
                        and arguments[0] not in local
                        and arguments[0] not in self.constants
                    ):
                        continue
                    if len(arguments) > 1 and "func(" in arguments[1]:
                        raise Unfollowable("subtest")
                    path = self._value(arguments[0], local)
                    found.append(Case(f"{self.name}/{test}/{len(found)}", clean(path), dict(files)))
                else:
                    self._write(verb, arguments, files, local)

    def _write(
        self, verb: str, arguments: list[str], files: dict[str, str], local: dict[str, str]
    ) -> None:
        path = self._value(arguments[0], local)
        content = arguments[1]
        if content.startswith("[]byte("):
            content = content[7:-1]
        text = self._value(content, local)
        if verb == "WriteK":
            path, text = (
                f"{path}/kustomization.yaml",
                HEADER.format("v1beta1", "Kustomization") + text,
            )
        elif verb == "WriteC":
            path, text = f"{path}/kustomization.yaml", HEADER.format("v1alpha1", "Component") + text
        files[clean(path)] = text

    def _arguments(self, start: int) -> list[str]:
        """The arguments of a call whose opening parenthesis ends at `start`."""
        depth, at, begin = 0, start, start
        result = []
        while True:
            char = self.masked[at]
            if char in "([{":
                depth += 1
            elif char in ")]}" and depth:
                depth -= 1
            elif char == ")" or (char == "," and not depth):
                result.append(self.text[begin:at].strip())
                begin = at + 1
                if char == ")":
                    return [argument for argument in result if argument]
            at += 1

    def _expression(self, start: int) -> str:
        """A string expression up to the end of its line, strings of several lines included."""
        at = start
        while True:
            at = self.masked.index("\n", at)
            inside = [m for m in TOKEN.finditer(self.text, start) if m.start() < at < m.end()]
            if not inside and not self.masked[start:at].rstrip().endswith("+"):
                return self.text[start:at].strip()
            at = inside[0].end() if inside else at + 1

    def _value(self, expression: str, local: dict[str, str]) -> str:
        if match := re.fullmatch(r"filepath\.Join\((.*)\)", expression, re.DOTALL):
            return "/".join(self._value(part.strip(), local) for part in match[1].split(","))
        result = ""
        at = 0
        expression = expression.strip()
        while at < len(expression):
            match = re.compile(
                r'\s*(?:(`[^`]*`)|("(?:[^"\\\n]|\\.)*")|(\w+))\s*(\+|$)\s*', re.DOTALL
            ).match(expression, at)
            if match is None:
                raise Unfollowable(expression[:40])
            raw, quoted, name, _ = match.groups()
            if raw is not None:
                result += raw[1:-1]
            elif quoted is not None:
                result += quoted[1:-1].encode().decode("unicode_escape")
            elif name in local:
                result += local[name]
            elif name in self.constants:
                result += self.constants[name]
            else:
                raise Unfollowable(name)
            at = match.end()
        return result


def clean(path: str) -> str:
    cleaned = os.path.normpath(path).lstrip("/")
    return "" if cleaned == "." else cleaned
