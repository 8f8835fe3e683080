"""One run at a time, with real processes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gati_gitops.disk import lock
from gati_gitops.disk.paths import PRIVATE
from gati_gitops.disk.writer import locked
from gati_gitops.errors import Outside, Refused
from tests.disk.world import CHANGES, OLD, after, found, in_child, put, write

HOLD = """
import sys
from pathlib import Path
from gati_gitops.disk.writer import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    put(tmp_path / "out", OLD)
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, tmp_path / "out"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    with process:
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


def test_a_second_run_is_refused_and_told_who_is_first(tmp_path, holder):
    with pytest.raises(Refused) as refusal:
        write(tmp_path / "out", CHANGES)
    assert f"process {holder.pid} on {os.uname().nodename}" in refusal.value.message
    assert refusal.value.exit_code == 5 and refusal.value.remedy
    holder.stdin.close()
    assert holder.wait() == 0
    assert found(tmp_path / "out") == OLD


def test_a_lock_dies_with_its_process(tmp_path, holder):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert (tmp_path / "out" / PRIVATE / "lock").exists()
    write(tmp_path / "out", CHANGES)
    assert found(tmp_path / "out") == after(OLD, CHANGES)


def test_the_same_process_is_refused_too(tmp_path):
    with locked(tmp_path), pytest.raises(Refused), locked(tmp_path):
        pass
    assert found(tmp_path) == {}


def test_the_lock_goes_after_an_error(tmp_path):
    with pytest.raises(ZeroDivisionError), locked(tmp_path):
        raise ZeroDivisionError
    with locked(tmp_path):
        pass
    assert found(tmp_path) == {}


def test_folders_that_are_not_there_are_made_for_as_long_as_they_are_used(tmp_path):
    with locked(tmp_path / "a" / "b") as held:
        assert held.is_dir()
    assert found(tmp_path) == {}


def test_a_file_that_was_deleted_while_we_reached_for_it_is_no_lock(tmp_path, monkeypatch):
    real, calls = lock.fcntl.flock, []

    def late(file, how):
        if not calls:
            (tmp_path / PRIVATE / "lock").unlink()  # What the run before us does as it ends.
        calls.append(how)
        return real(file, how)

    monkeypatch.setattr(lock.fcntl, "flock", late)
    with locked(tmp_path):
        assert len(calls) == 2
        with pytest.raises(Refused), locked(tmp_path):
            pass


def test_a_file_system_that_never_shows_the_same_file_twice_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(os.path, "samestat", lambda *_: False)
    with pytest.raises(Outside, match="vanishes") as failure, locked(tmp_path):
        pass
    assert failure.value.remedy


def test_a_lock_that_is_a_link_is_not_written_through(tmp_path):
    put(tmp_path, {"theirs": b"theirs", f"out/{PRIVATE}/.gitignore": b""})
    (tmp_path / "out" / PRIVATE / "lock").symlink_to(tmp_path / "theirs")
    with pytest.raises(Refused), locked(tmp_path / "out"):
        pass
    assert (tmp_path / "theirs").read_bytes() == b"theirs"


def test_never_two_at_a_time_though_the_file_comes_and_goes(tmp_path):
    """Whoever locked a file that had just been deleted must not believe that it holds the lock."""
    (tmp_path / "count").write_text("0")

    def count() -> None:
        done = 0
        while done < 150:
            try:
                with locked(tmp_path / "out"):
                    number = int((tmp_path / "count").read_text())
                    os.sched_yield()
                    (tmp_path / "count").write_text(str(number + 1))
                done += 1
            except Refused:
                os.sched_yield()

    def all_at_once() -> None:
        workers = []
        for _ in range(4):
            worker = os.fork()
            if not worker:
                os._exit(in_child(count))
            workers.append(worker)
        assert [os.waitpid(worker, 0)[1] for worker in workers] == [0] * 4

    assert in_child(all_at_once) == 0
    assert (tmp_path / "count").read_text() == "600"
    assert set(found(tmp_path)) <= {"count", "out/"}
