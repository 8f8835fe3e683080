"""Code blocks of our documents, and what a reader would do with them.

A reader types every ```sh line and every `$` line of a ```console block, in order, in one shell. A
comment right above a block says what else it is: `<!-- file: PATH -->` a file that the reader saves,
`<!-- not run: REASON -->` something that cannot run here. `exit=N` after the language is the exit code
that the last command ends with. In expected output a line of three dots stands for any lines,
and the sign … for any text in a line.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "ARCHITECTURE.md",
    ROOT / "examples/shop/README.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>file|not run): (?P<about>[^\n]+?) -->\n)?"
    r"^```(?P<language>\w*)(?: exit=(?P<exit>\d+))?\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Command:
    """Something to type, and what it should print; None when the document does not say."""

    text: str
    exit: int = 0
    output: str | None = None


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    language: str
    body: str
    line: int
    exit: int = 0
    file: str = ""
    not_run: str = ""

    @property
    def commands(self) -> list[Command]:
        if self.not_run or self.language not in ("sh", "console"):
            return []
        found = list(_shell(self.body) if self.language == "sh" else _console(self.body))
        last = found[-1]
        return [*found[:-1], Command(last.text, self.exit, last.output)]


def blocks(document: Path) -> list[Block]:
    text = document.read_text()
    return [
        Block(
            match["language"],
            match["body"],
            text.count("\n", 0, match.start("language")) + 1,
            int(match["exit"] or 0),
            match["about"] if match["mark"] == "file" else "",
            match["about"] if match["mark"] == "not run" else "",
        )
        for match in _BLOCK.finditer(text)
    ]


def _shell(body: str) -> Iterator[Command]:
    for line in body.replace("\\\n", "").splitlines():
        if line.strip() and not line.startswith("#"):
            yield Command(line)


def _console(body: str) -> Iterator[Command]:
    for part in re.split(r"(?m)^\$ ", body)[1:]:
        text, _, output = part.partition("\n")
        yield Command(text, 0, output)


def matches(expected: str, printed: str) -> bool:
    """Whether output is as the document shows it."""
    pattern = "".join(
        r"(?:.*\n)*?" if line == "..." else re.escape(line).replace("…", ".*") + r" *\n"
        for line in expected.splitlines()
    )
    return re.fullmatch(pattern, printed) is not None
