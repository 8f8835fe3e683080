"""Each file of tests/bad says in its first lines what must be found in it: that, and nothing else."""

import re
from pathlib import Path

import pytest

from gati_gitops.errors import SpecsInvalid
from gati_gitops.spec.load import load

BAD = sorted((Path(__file__).parent.parent / "bad").glob("*.yaml"))
WANT = re.compile(r"# want: (\S+) (\d+):(\d+) (.+)")


def wanted(content: bytes) -> list[tuple[str, int, int, str]]:
    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    found = []
    for line in content.decode(encoding, errors="replace").splitlines():
        match = WANT.fullmatch(line)
        if match is None:
            break
        found.append((match[1], int(match[2]), int(match[3]), match[4]))
    return found


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_bad_file(path: Path) -> None:
    content = path.read_bytes()
    expected = wanted(content)
    assert expected, "the file does not say what is wrong with it"

    with pytest.raises(SpecsInvalid) as caught:
        load([(path.name, content)])

    found = [(p.code, p.place.line, p.place.column, p.message) for p in caught.value.problems]
    assert [problem[:3] for problem in found] == [want[:3] for want in expected], found
    for (*_, message), (*_, part) in zip(found, expected, strict=True):
        assert part in message
    for problem in caught.value.problems:
        assert problem.remedy, f"{problem.code} has no remedy"
        assert not problem.remedy.startswith("correct "), "a rule of the models has no remedy"
        assert problem.is_error
        assert problem.place.file == (path.name if problem.place.line else ".")


def test_every_row_of_the_catalogue_has_a_file() -> None:
    rows = {path.stem[:3] for path in BAD}
    # 12 (collisions after shortening) needs the plan, 16 is about rendering.
    assert rows >= {f"y{row:02}" for row in range(1, 20) if row not in (12, 16)}
