"""The control plane that other tests build on does what they rely on, and leaves nothing behind."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.api import ApiError
from tests.e2e.processes import Place, until
from tests.servers.process import free_port

ROOT = Path(__file__).parents[2]


def test_it_answers_and_its_controllers_work(control_plane):
    control_plane.namespace("answers")
    assert control_plane.api.request("GET", "/version")["gitVersion"].startswith("v1.")
    account = ("v1", "ServiceAccount", "answers", "default")
    until("the account", lambda: control_plane.api.find(*account), within=20)
    assert "answers" in control_plane.kubectl("get", "namespaces")


def test_an_account_may_do_what_its_rules_say(control_plane):
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}]
    reader = control_plane.account("reader", rules)
    seen = type(control_plane.api)(control_plane.server, reader.token, control_plane.authority)
    assert seen.items("v1", "ConfigMap", "kube-system")
    with pytest.raises(ApiError, match="cannot list resource") as refused:
        seen.items("v1", "Secret", "kube-system")
    assert refused.value.status == 403


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


KILLED = """
import os, sys, pathlib
from tests.e2e.processes import Place
place = Place(pathlib.Path(sys.argv[1]), apart=sys.argv[2] == "apart")
# Two that would stay: one in a group that the warden knows, one that left its group.
first = place.start("first", "sleep", "600")
second = place.start("second", "setsid", "--fork", "sleep", sys.argv[3])
print(first.pid, flush=True)
os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("where", ["here", "apart"])
def test_nothing_is_left_of_a_run_that_was_killed(tmp_path, where):
    if where == "apart":
        Place(tmp_path / "probe", apart=True).close()  # Skips where that can't be.
    long = f"601.{os.getpid()}"  # Nobody else's.
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "run"), where, long],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr
    until("the end", lambda: not alive(int(done.stdout)), within=10)
    if where == "apart":
        until("the other's", lambda: not sleepers(long), within=10)
    for pid in sleepers(long):  # Outside a namespace of its own, a program may escape.
        os.kill(pid, signal.SIGKILL)


def sleepers(seconds: str) -> list[int]:
    wanted = f"sleep\0{seconds}\0".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += [int(path.parent.name)] if path.read_bytes() == wanted else []
        except OSError:
            continue
    return found


LISTENS = """
import socket, sys, time
servers = [socket.create_server((host, int(sys.argv[1]))) for host in ("127.0.0.1", "10.244.7.7")]
time.sleep(60)
"""


def test_places_apart_do_not_see_each_other(tmp_path):
    port = free_port()
    server = (sys.executable, "-c", LISTENS, port)
    one, two = Place(tmp_path / "one", apart=True), Place(tmp_path / "two", apart=True)
    try:
        first, second = one.start("server", *server), two.start("server", *server)
        for place in (one, two):
            with place.inside():
                until("its pod", lambda: connects("10.244.7.7", port), within=10)
        assert not connects("127.0.0.1", port)
        first.end()
        with one.inside():
            assert not connects("127.0.0.1", port)
        with two.inside():
            assert connects("127.0.0.1", port)
        assert second.running
    finally:
        one.close()
        two.close()
    assert not second.running


def connects(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=1).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize(
    "lacks, named",
    [("ip", "iproute2"), ("root", "unshare --map-root-user")],
)
def test_a_machine_says_what_it_lacks_and_how_to_get_it(tmp_path, monkeypatch, lacks, named):
    monkeypatch.delenv("GATI_REQUIRE_ENGINES", raising=False)
    if lacks == "ip":
        monkeypatch.setenv("PATH", str(tmp_path))
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        monkeypatch.setattr(shutil, "which", lambda name: f"/sbin/{name}")
    outcomes = (pytest.skip.Exception, pytest.fail.Exception)
    with pytest.raises(outcomes, match=named) as skipped:
        Place(tmp_path / "world", apart=True)
    monkeypatch.setenv("GATI_REQUIRE_ENGINES", "1")
    with pytest.raises(outcomes, match=named) as failed:
        Place(tmp_path / "world", apart=True)
    assert (skipped.type, failed.type) == outcomes
