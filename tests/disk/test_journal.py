"""A journal is carried out only when it is whole, and only inside our folders."""

import hashlib

import pytest

from gati_gitops.disk.paths import PRIVATE
from gati_gitops.errors import Refused
from tests.disk.test_crash import COMMIT
from tests.disk.world import CHANGES, OLD, after, finish, found, killed, put, write


@pytest.fixture
def root(tmp_path):
    """A folder whose run was killed right after its commit."""
    root = put(tmp_path / "out", OLD)
    killed(root, lambda: write(root, CHANGES), COMMIT + 1)
    return root


def journal(root):
    return root / PRIVATE / "journal"


def signed(body: bytes) -> bytes:
    return body + hashlib.sha256(body).hexdigest().encode() + b"\n"


def refused(root):
    before = found(root)
    with pytest.raises(Refused) as refusal:
        finish(root)
    left = found(root)
    assert left == {path: left[path] for path in before if not path.endswith("/lock")}
    return refusal.value


def test_the_format_is_what_its_description_says(root):
    data = journal(root).read_bytes()
    lines = data.split(b"\n")
    assert lines[0] == b"gati-gitops journal 1"
    assert b"- crds/gone.yaml" in lines and b"3 overlays/dev/new.yaml" in lines
    assert data == signed(data[:-65])


@pytest.mark.parametrize("at", range(0, 500, 7))
def test_one_wrong_bit_anywhere_is_refused(root, at):
    data = bytearray(journal(root).read_bytes())
    data[at % len(data)] ^= 1
    journal(root).write_bytes(data)
    error = refused(root)
    assert error.exit_code == 5
    assert "damaged" in error.message or "another version" in error.message


@pytest.mark.parametrize("size", [0, 1, 30, 64, 65, 200, -1])
def test_a_short_journal_is_refused(root, size):
    journal(root).write_bytes(journal(root).read_bytes()[:size])
    error = refused(root)
    assert str(journal(root)) in error.message
    assert "restore the folder from Git" in error.remedy


def test_after_its_removal_a_run_goes_on(root):
    journal(root).write_bytes(b"nonsense")
    refused(root)
    journal(root).unlink()
    write(root, CHANGES)
    assert found(root) == after(OLD, CHANGES)


def test_a_journal_of_another_version_is_left_to_it(root):
    data = journal(root).read_bytes()[:-65].replace(b"journal 1", b"journal 2")
    journal(root).write_bytes(signed(data))
    assert "another version" in refused(root).message


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"gati-gitops journal 1\n",
        b"gati-gitops journal 1\n\n\n",
        b"gati-gitops journal 1\nx base/a\n\nx",
        b"gati-gitops journal 1\n-5 base/a\n\nx",
        b"gati-gitops journal 1\n5 base/a\n\nx",
        b"gati-gitops journal 1\n1 base/a\n\nxx",
        b"gati-gitops journal 1\n1 base/\xff\n\nx",
        b"gati-gitops journal 1\n1 ../a\n\nx",
        b"gati-gitops journal 1\n1 .git/hooks/post-commit\n\nx",
        b"gati-gitops journal 1\n1 /etc/cron.d/a\n\nx",
        b"gati-gitops journal 1\n- README.md\n\n",
        b"gati-gitops journal 1\n1 README.md\n\nx",
    ],
)
def test_a_forged_journal_does_nothing(root, body):
    journal(root).write_bytes(signed(body))
    assert refused(root).remedy


def test_a_journal_that_is_a_link_is_not_read(root, tmp_path):
    journal(root).rename(tmp_path / "elsewhere")
    journal(root).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Refused):
        finish(root)


def test_what_was_not_committed_is_thrown_away(tmp_path):
    root = put(tmp_path / "out", OLD)
    killed(root, lambda: write(root, CHANGES), COMMIT)
    assert (root / PRIVATE / "journal.new").exists()
    assert not finish(root)
    assert found(root) == OLD
