"""Publishing where signatures are required: by the command line, on real repositories."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gati_gitops.cli.main import run as gati
from tests.compile.kit import canary, handler
from tests.publish.kit import World, git
from tests.repo.keys import allowed_line, ssh_key


class Signing:
    """A world in which everybody has a key."""

    def __init__(self, world: World, patch: pytest.MonkeyPatch) -> None:
        self.world, self.patch = world, patch
        keys = world.root / "keys"
        keys.mkdir()
        self.us, self.person, self.eve = (ssh_key(keys) for _ in range(3))
        signers = world.root / "signers"
        signers.write_text(allowed_line(self.us) + allowed_line(self.person))
        patch.setenv("GATI_ALLOWED_SIGNERS", str(signers))
        patch.setenv("GATI_SIGNING_KEY", str(self.us))

    def publish(self, version: str) -> int:
        self.world.merge({"gati.yaml": canary(), "a.yaml": handler(version=version)})
        repo = str(self.world.output)
        return gati(["publish", str(self.world.specs), "--repo", repo, "--require-signed"])

    def by_hand(self, key: Path | None) -> str:
        """A commit of a person, signed or not."""

        def sign(place: Path) -> None:
            git(place, "config", "gpg.format", "ssh")
            git(place, "config", "user.signingkey", str(key or ""))
            git(place, "config", "commit.gpgsign", "true" if key else "false")

        return self.world.by_hand(sign)


@pytest.fixture
def signing(world: World, monkeypatch: pytest.MonkeyPatch) -> Signing:
    return Signing(world, monkeypatch)


def test_commits_are_signed_and_say_that_they_stand_on_signed_ones(signing: Signing) -> None:
    assert signing.publish("v1") == 0
    signing.by_hand(signing.person)
    assert signing.publish("v2") == 0
    world = signing.world
    signers = f"gpg.ssh.allowedSignersFile={os.environ['GATI_ALLOWED_SIGNERS']}"
    git(world.output, "-c", signers, "verify-commit", "main", "main~1", "main~2")
    assert world.log("%(trailers:key=Gati-Checked,valueonly)", "-1")[0] == "signatures"


@pytest.mark.parametrize("who", ["nobody", "eve"])
def test_a_branch_that_somebody_else_wrote_to_is_refused(
    signing: Signing, who: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert signing.publish("v1") == 0
    commit = signing.by_hand(signing.eve if who == "eve" else None)
    tip = signing.by_hand(signing.person)
    assert signing.publish("v2") == 5
    assert signing.world.tip() == tip
    said = capsys.readouterr().err
    assert f"no allowed key has signed: {commit[:12]} by Ada <ada@example.com>" in said
    assert ("unknown key SHA256:" if who == "eve" else "not signed") in said


def test_without_a_key_nothing_is_committed(
    signing: Signing, capsys: pytest.CaptureFixture[str]
) -> None:
    signing.patch.delenv("GATI_SIGNING_KEY")
    assert signing.publish("v1") == 5
    assert "there is no key to sign with" in capsys.readouterr().err
    assert git(signing.world.output, "for-each-ref") == ""


def test_a_key_of_ours_that_nobody_allows_is_refused(
    signing: Signing, capsys: pytest.CaptureFixture[str]
) -> None:
    signing.patch.setenv("GATI_SIGNING_KEY", str(signing.eve))
    assert signing.publish("v1") == 5
    assert "is not among the allowed ones" in capsys.readouterr().err
    assert git(signing.world.output, "for-each-ref") == ""


def test_verify_tells_of_commits_that_nobody_signed(
    signing: Signing, capsys: pytest.CaptureFixture[str]
) -> None:
    assert signing.publish("v1") == 0
    words = ["verify", str(signing.world.specs), "--repo", str(signing.world.output)]
    assert gati([*words, "--require-signed"]) == 0
    signing.by_hand(None)
    assert gati(words) == 0
    assert gati([*words, "--require-signed"]) == 5
    assert "not signed" in capsys.readouterr().err
