"""Signatures, against ssh-keygen, gpg and git in both directions; what is tampered with fails."""

from __future__ import annotations

import base64
import hashlib
import importlib
import struct
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pygit2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gati_gitops.errors import Outside, Refused
from gati_gitops.repo.address import parse
from gati_gitops.repo.objects import Objects
from gati_gitops.repo.repository import open_repository
from gati_gitops.repo.sign import OpenPgpSigner, SshSigner, signer
from gati_gitops.repo.signatures import (
    AllowedSigners,
    State,
    allowed_signers,
    check_commit,
    parse_keyring,
    parse_signers,
)
from gati_gitops.repo.sshsig import SshSignature, public_blob, string
from gati_gitops.repo.trust import require_own, require_signed, unsigned_commits
from tests.repo.keys import (
    TIME,
    allowed_line,
    payload,
    raw_commit,
    repository,
    run,
    signed,
    ssh_key,
    stored,
)
from tests.tools import find, tool

KINDS = [
    ("ed25519", ()),
    ("ecdsa", ("-b", "256")),
    ("ecdsa", ("-b", "384")),
    ("ecdsa", ("-b", "521")),
    ("rsa", ("-b", "2048")),
]
IDS = ["ed25519", "p256", "p384", "p521", "rsa"]


def allows(text: str) -> AllowedSigners:
    return AllowedSigners(parse_signers(text, "signers"))


@pytest.fixture
def gnupg(tmp_path: Path) -> Path:
    home = tmp_path / "gnupg"
    home.mkdir(mode=0o700)
    yield home
    if gpgconf := find("gpgconf"):  # ends the agent of this folder
        run(gpgconf, "--kill", "all", env={"GNUPGHOME": str(home)}, ok=False)


def gpg(
    home: Path, *words: str, given: bytes = b"", ok: bool = True
) -> subprocess.CompletedProcess:
    agent = f"--agent-program={tool('gpg-agent')}"
    return run("gpg", "--homedir", home, "--batch", "--yes", agent, *words, given=given, ok=ok)


def gpg_key(home: Path, kind: str = "ed25519", passphrase: str = "", expire: str = "never") -> str:
    words = ("--passphrase", passphrase, "--pinentry-mode", "loopback")
    gpg(home, *words, "--quick-generate-key", "Ann <ann@example.org>", kind, "sign", expire)
    listed = gpg(home, "--list-keys", "--with-colons").stdout.decode()
    return next(line.split(":")[9] for line in listed.splitlines() if line.startswith("fpr"))


def exported(home: Path, passphrase: str = "") -> bytes:
    words = ("--passphrase", passphrase, "--pinentry-mode", "loopback", "--armor")
    return gpg(home, *words, "--export-secret-keys").stdout


def keyring(home: Path) -> AllowedSigners:
    return AllowedSigners(certs=parse_keyring(gpg(home, "--export").stdout, "ring"))


# -- SSH: we sign, they judge ----------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "options"), KINDS, ids=IDS)
def test_git_and_ssh_keygen_accept_our_signatures(
    tmp_path: Path, kind: str, options: tuple
) -> None:
    key = ssh_key(tmp_path, kind, "", *options)
    made = signer({"GATI_SIGNING_KEY": str(key)})
    assert isinstance(made, SshSigner)
    armoured = made.sign(payload())
    signers = tmp_path / "signers"
    signers.write_text(allowed_line(key))
    (tmp_path / "sig").write_text(armoured)
    judged = run(
        "ssh-keygen", "-Y", "verify", "-f", signers, "-I", "ann@example.org", "-n", "git",
        "-s", tmp_path / "sig", given=payload(),
    )  # fmt: skip
    assert b"Good" in judged.stdout
    assert made.key in judged.stdout.decode()

    repo = repository(tmp_path / "repo")
    commit = stored(repo, signed(payload(), armoured))
    config = ("-c", "gpg.format=ssh", "-c", f"gpg.ssh.allowedSignersFile={signers}")
    assert b"Good" in run("git", "-C", repo, *config, "verify-commit", "-v", commit).stderr
    spoilt = stored(repo, signed(payload("Other\n"), armoured))
    assert run("git", "-C", repo, *config, "verify-commit", spoilt, ok=False).returncode != 0


@pytest.mark.parametrize(("kind", "options"), KINDS, ids=IDS)
def test_we_accept_what_git_signs_with_ssh(tmp_path: Path, kind: str, options: tuple) -> None:
    key = ssh_key(tmp_path, kind, "", *options)
    repo = repository(tmp_path / "repo")
    config = ("-c", "gpg.format=ssh", "-c", f"user.signingkey={key}")
    message = "Ünï\n\ngpgsig in the text\n\nbody\n"
    run("git", "-C", repo, *config, "commit", "-q", "--allow-empty", "-S", "-m", message)
    raw = raw_commit(repo)
    verdict = check_commit(raw, allows(allowed_line(key)))
    assert verdict.good, verdict
    assert verdict.signer == "ann@example.org"
    for spoilt in (raw.replace(b"body", b"bodY"), raw.replace(b"Ann", b"Eve"), raw + b"\n"):
        assert check_commit(spoilt, allows(allowed_line(key))).state is State.BAD
    other = ssh_key(tmp_path)
    unknown = check_commit(raw, allows(allowed_line(other)))
    assert unknown.state is State.UNKNOWN
    assert unknown.key.startswith("SHA256:")


@pytest.mark.parametrize(
    "form", [(), ("-m", "PEM")], ids=["openssh", "pem"]
)  # fmt: skip
def test_an_encrypted_key_opens_with_its_passphrase(tmp_path: Path, form: tuple) -> None:
    kind = "ecdsa" if form else "ed25519"
    key = ssh_key(tmp_path, kind, "open sesame", *form)
    secret = tmp_path / "passphrase"
    secret.write_text("open sesame\n")
    by_file = {"GATI_SIGNING_KEY": str(key), "GATI_SIGNING_PASSPHRASE_FILE": str(secret)}
    by_value = {"GATI_SIGNING_KEY": str(key), "GATI_SIGNING_PASSPHRASE": "open sesame"}
    for environ in (by_file, by_value):
        made = signer(environ)
        assert check_commit(signed(payload(), made.sign(payload())), allows(allowed_line(key))).good
        assert "sesame" not in repr(made)
    with pytest.raises(Refused, match="needs a passphrase"):
        signer({"GATI_SIGNING_KEY": str(key)})
    with pytest.raises(Refused, match="can't be opened") as wrong:
        signer({**by_value, "GATI_SIGNING_PASSPHRASE": "guess"})
    assert "guess" not in str(wrong.value)


def test_a_passphrase_that_is_not_needed_does_no_harm(tmp_path: Path) -> None:
    key = ssh_key(tmp_path)
    assert signer({"GATI_SIGNING_KEY": str(key), "GATI_SIGNING_PASSPHRASE": "x"}) is not None


@pytest.mark.parametrize("kind", ["ed25519", "rsa"])
def test_the_agent_signs_for_a_public_key(tmp_path: Path, kind: str) -> None:
    key = ssh_key(tmp_path, kind)
    socket = tmp_path / "agent"
    agent = subprocess.Popen([str(tool("ssh-agent")), "-D", "-a", str(socket)], stdout=-3)
    try:
        environ = {"GATI_SIGNING_KEY": f"{key}.pub", "SSH_AUTH_SOCK": str(socket)}
        for _ in range(200):
            if run("ssh-add", "-l", env=environ, ok=False).returncode == 1:
                break
        with pytest.raises(Refused, match="agent does not have that key"):
            signer(environ)
        run("ssh-add", "-q", key, env=environ)
        key.unlink()
        made = signer(environ)
        assert check_commit(signed(payload(), made.sign(payload())), allows(allowed_line(key))).good
    finally:
        agent.terminate()
        agent.wait()
    with pytest.raises(Outside, match="does not answer"):
        made.sign(b"")
    with pytest.raises(Refused, match="there is no agent"):
        signer({"GATI_SIGNING_KEY": f"{key}.pub"})


# -- SSH: keys of others ---------------------------------------------------------------------------


def security_key(tmp_path: Path, flags: int) -> tuple[Path, str]:
    """A signature as a security key gives it, made without one."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private = Ed25519PrivateKey.generate()
    kind, application = b"sk-ssh-ed25519@openssh.com", b"ssh:"
    blob = string(kind) + string(private.public_key().public_bytes_raw()) + string(application)
    blank = SshSignature(blob, "git", b"", b"sha512", b"")
    tail = bytes((flags,)) + struct.pack(">I", 7)
    data = hashlib.sha256(application).digest() + tail
    data += hashlib.sha256(blank.signed(payload())).digest()
    made = string(kind) + string(private.sign(data)) + tail
    path = tmp_path / "sk"
    path.with_name("sk.pub").write_text(f"{kind.decode()} {base64.b64encode(blob).decode()}\n")
    return path, SshSignature(blob, "git", b"", b"sha512", made).armoured()


def test_security_keys_count_when_somebody_touched_them(tmp_path: Path) -> None:
    key, armoured = security_key(tmp_path, 0x01)
    signers, sig = tmp_path / "signers", tmp_path / "sig"
    signers.write_text(allowed_line(key))
    sig.write_text(armoured)
    run(
        "ssh-keygen", "-Y", "verify", "-f", signers, "-I", "ann@example.org", "-n", "git",
        "-s", sig, given=payload(),
    )  # fmt: skip
    assert check_commit(signed(payload(), armoured), allows(allowed_line(key))).good
    key, untouched = security_key(tmp_path, 0x00)
    verdict = check_commit(signed(payload(), untouched), allows(allowed_line(key)))
    assert (verdict.state, verdict.why) == (State.BAD, "nobody touched the security key")


def test_a_signature_for_something_else_is_none_for_git(tmp_path: Path) -> None:
    key = ssh_key(tmp_path)
    (tmp_path / "file").write_bytes(payload())
    run("ssh-keygen", "-q", "-Y", "sign", "-f", key, "-n", "file", tmp_path / "file")
    armoured = (tmp_path / "file.sig").read_text()
    verdict = check_commit(signed(payload(), armoured), allows(allowed_line(key)))
    assert (verdict.state, verdict.why) == (State.BAD, "it was not made for Git")


@pytest.mark.parametrize(
    ("options", "state"),
    [
        ("", State.GOOD),
        ('namespaces="git"', State.GOOD),
        ('namespaces="file,git"', State.GOOD),
        ('namespaces="g*"', State.GOOD),
        ('namespaces="file"', State.UNKNOWN),
        ('namespaces="*,!git"', State.UNKNOWN),
        ('valid-after="20250101Z"', State.GOOD),
        ('valid-after="20260102Z"', State.EXPIRED),
        ('valid-before="20251231Z"', State.EXPIRED),
        ('valid-before="20260101000001Z"', State.GOOD),
        ('valid-after="202501010000",valid-before="20270101"', State.GOOD),
        ('namespaces="git",valid-before="20250101Z"', State.EXPIRED),
        ("cert-authority", State.UNKNOWN),
    ],
)
def test_options_of_allowed_signers_mean_what_ssh_keygen_says(
    tmp_path: Path, options: str, state: State
) -> None:
    key = ssh_key(tmp_path)
    armoured = signer({"GATI_SIGNING_KEY": str(key)}).sign(payload())
    assert (
        check_commit(signed(payload(), armoured), allows(allowed_line(key, options))).state is state
    )
    signers, sig = tmp_path / "signers", tmp_path / "sig"
    signers.write_text(allowed_line(key, options))
    sig.write_text(armoured)
    judged = run(
        "ssh-keygen", "-Y", "verify", "-f", signers, "-I", "ann@example.org", "-n", "git",
        "-O", f"verify-time={datetime.fromtimestamp(TIME, UTC):%Y%m%d%H%M%S}Z", "-s", sig,
        given=payload(), ok=False,
    )  # fmt: skip
    assert (judged.returncode == 0) == (state is State.GOOD), judged.stderr


def test_the_file_of_allowed_signers_is_read_as_openssh_reads_it(tmp_path: Path) -> None:
    key = ssh_key(tmp_path)
    line = allowed_line(key, who='"ann@example.org,*@ops.example.org"').rstrip()
    found = parse_signers(f"# people\n\n{line} a comment\n\t{line}\n", "signers")
    assert [key.principals for key in found] == ["ann@example.org,*@ops.example.org"] * 2


@pytest.mark.parametrize(
    "line",
    [
        "ann",
        "ann ssh-ed25519 AAAA",
        "ann ssh-ed25519",
        'ann valid-befor="20250101" KEY',
        'ann valid-before="2025" KEY',
        'ann valid-before="20251301" KEY',
        "ann valid-before=20251201 KEY",
        "ann namespaces KEY",
        'ann cert-authority="yes" KEY',
        'ann namespaces="git",namespaces="git" KEY',
        "ann ssh-rsa KEYBLOB",
    ],
)
def test_a_line_that_cannot_be_read_is_refused_with_its_number(tmp_path: Path, line: str) -> None:
    kind, blob = allowed_line(ssh_key(tmp_path)).split()[1:]
    text = line.replace("KEYBLOB", blob).replace("KEY", f"{kind} {blob}")
    with pytest.raises(Refused) as refused:
        parse_signers(f"# first\n{text}\n", "signers")
    assert str(refused.value.place) == "signers:2:1"


def test_weak_rsa_signatures_do_not_count(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding, rsa

    def signed_with(bits: int, name: bytes, digest: hashes.HashAlgorithm) -> tuple[bytes, str]:
        key = rsa.generate_private_key(65537, bits)
        public = public_blob(key)
        data = SshSignature(public, "git", b"", b"sha512", b"").signed(payload())
        made = string(name) + string(key.sign(data, padding.PKCS1v15(), digest))
        armoured = SshSignature(public, "git", b"", b"sha512", made).armoured()
        line = f"ann ssh-rsa {base64.b64encode(public).decode()}"
        return signed(payload(), armoured), line

    for bits, name, digest, state in (
        (2048, b"rsa-sha2-256", hashes.SHA256(), State.GOOD),
        (1024, b"rsa-sha2-256", hashes.SHA256(), State.BAD),
        (2048, b"ssh-rsa", hashes.SHA1(), State.BAD),
    ):
        commit, line = signed_with(bits, name, digest)
        assert check_commit(commit, allows(line)).state is state, (bits, name)


# -- commits that lie ------------------------------------------------------------------------------


def test_a_commit_with_two_signatures_is_bad(tmp_path: Path) -> None:
    key = ssh_key(tmp_path)
    armoured = signer({"GATI_SIGNING_KEY": str(key)}).sign(payload())
    twice = signed(signed(payload(), armoured), armoured)
    assert check_commit(twice, allows(allowed_line(key))).state is State.BAD


def test_a_signature_in_the_message_is_none(tmp_path: Path) -> None:
    key = ssh_key(tmp_path)
    armoured = signer({"GATI_SIGNING_KEY": str(key)}).sign(payload())
    commit = payload() + b"\ngpgsig " + armoured.replace("\n", "\n ").encode()
    assert check_commit(commit, allows(allowed_line(key))).state is State.UNSIGNED


def test_a_signature_has_one_spelling(tmp_path: Path) -> None:
    key = ssh_key(tmp_path, "rsa")
    lines = signer({"GATI_SIGNING_KEY": str(key)}).sign(payload()).split("\n")
    assert lines[-3].endswith("=")  # so the last digit has bits that mean nothing
    last = lines[-3].rstrip("=")
    lines[-3] = last[:-1] + chr(ord(last[-1]) + 1) + "=" * (len(lines[-3]) - len(last))
    armoured = "\n".join(lines)
    assert check_commit(signed(payload(), armoured), allows(allowed_line(key))).state is State.BAD


def test_a_signature_of_another_hash_does_not_change_what_was_signed(tmp_path: Path) -> None:
    key = ssh_key(tmp_path)
    armoured = signer({"GATI_SIGNING_KEY": str(key)}).sign(payload())
    commit = signed(payload(), armoured)
    both = commit.replace(b"\ngpgsig ", b"\ngpgsig-sha256 -----BEGIN\n x\ngpgsig ", 1)
    assert check_commit(both, allows(allowed_line(key))).good
    repo, signers = repository(tmp_path / "repo"), tmp_path / "signers"
    signers.write_text(allowed_line(key))
    config = ("-c", "gpg.format=ssh", "-c", f"gpg.ssh.allowedSignersFile={signers}")
    run("git", "-C", repo, *config, "verify-commit", stored(repo, both))


@given(data=st.data())
def test_no_changed_byte_goes_unnoticed(data: st.DataObject, ssh_commit: tuple) -> None:
    raw, allowed = ssh_commit
    assert check_commit(raw, allowed).good
    at = data.draw(st.integers(0, len(raw) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda b: b != raw[at]))
    changed = raw[:at] + bytes((byte,)) + raw[at + 1 :]
    assert not check_commit(changed, allowed).good


@given(junk=st.binary(max_size=300))
def test_junk_is_never_good_and_never_a_traceback(junk: bytes, ssh_commit: tuple) -> None:
    _, allowed = ssh_commit
    armour = "-----BEGIN SSH SIGNATURE-----\n" + base64.b64encode(junk).decode()
    for text in (armour + "\n-----END SSH SIGNATURE-----", junk.decode("latin-1")):
        assert not check_commit(signed(payload(), text), allowed).good
    magic = b"SSHSIG\0\0\0\1" + junk
    armour = "-----BEGIN SSH SIGNATURE-----\n" + base64.b64encode(magic).decode()
    assert not check_commit(
        signed(payload(), armour + "\n-----END SSH SIGNATURE-----"), allowed
    ).good
    pgp = "-----BEGIN PGP SIGNATURE-----\n\n" + base64.b64encode(junk).decode()
    assert not check_commit(signed(payload(), pgp + "\n-----END PGP SIGNATURE-----"), allowed).good
    check_commit(junk, allowed)


@pytest.fixture(scope="module")
def ssh_commit(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, AllowedSigners]:
    key = ssh_key(tmp_path_factory.mktemp("keys"))
    made = signer({"GATI_SIGNING_KEY": str(key)})
    assert made is not None
    return signed(payload(), made.sign(payload())), allows(allowed_line(key))


# -- OpenPGP ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["ed25519", "rsa2048", "nistp256"])
def test_gpg_and_git_accept_our_signatures(tmp_path: Path, gnupg: Path, kind: str) -> None:
    name = gpg_key(gnupg, kind)
    (tmp_path / "secret.asc").write_bytes(exported(gnupg))
    made = signer({"GATI_SIGNING_KEY": str(tmp_path / "secret.asc")})
    assert isinstance(made, OpenPgpSigner)
    assert made.key == name.lower()
    commit = signed(payload(), made.sign(payload()))
    assert check_commit(commit, keyring(gnupg)).good
    repo = repository(tmp_path / "repo")
    env = {"GNUPGHOME": str(gnupg)}
    run("git", "-C", repo, "verify-commit", stored(repo, commit), env=env)
    spoilt = stored(repo, commit.replace(b"cart v2", b"cart v3"))
    assert run("git", "-C", repo, "verify-commit", spoilt, env=env, ok=False).returncode != 0


def test_we_accept_what_git_signs_with_gpg(tmp_path: Path, gnupg: Path) -> None:
    name = gpg_key(gnupg)
    repo = repository(tmp_path / "repo")
    env = {"GNUPGHOME": str(gnupg)}
    config = ("-c", f"user.signingkey={name}")
    run("git", "-C", repo, *config, "commit", "-q", "--allow-empty", "-S", "-m", "Hi", env=env)
    raw = raw_commit(repo)
    verdict = check_commit(raw, keyring(gnupg))
    assert verdict.good, verdict
    assert verdict.signer == "Ann <ann@example.org>"
    assert check_commit(raw.replace(b"Hi", b"Ho"), keyring(gnupg)).state is State.BAD
    assert check_commit(raw, AllowedSigners()).state is State.UNKNOWN


def test_an_encrypted_openpgp_key_opens_with_its_passphrase(tmp_path: Path, gnupg: Path) -> None:
    gpg_key(gnupg, passphrase="open sesame")
    path = tmp_path / "secret.asc"
    path.write_bytes(exported(gnupg, "open sesame"))
    environ = {"GATI_SIGNING_KEY": str(path), "GATI_SIGNING_PASSPHRASE": "open sesame"}
    made = signer(environ)
    assert "sesame" not in repr(made)
    assert check_commit(signed(payload(), made.sign(payload())), keyring(gnupg)).good
    with pytest.raises(Refused, match="can't be opened"):
        signer({**environ, "GATI_SIGNING_PASSPHRASE": "guess"})
    with pytest.raises(Refused, match="can't be opened"):
        signer({"GATI_SIGNING_KEY": str(path)})


def test_an_expired_openpgp_key_signs_nothing(tmp_path: Path, gnupg: Path) -> None:
    gpg(gnupg, "--faked-system-time", "20200101T000000", "--passphrase", "",
        "--quick-generate-key", "Ann <ann@example.org>", "ed25519", "sign", "1d")  # fmt: skip
    path = tmp_path / "secret.asc"
    path.write_bytes(exported(gnupg))
    with pytest.raises(Refused, match="expired"):
        signer({"GATI_SIGNING_KEY": str(path)})


def test_what_an_expired_openpgp_key_signed_counts_if_it_was_in_time(gnupg: Path) -> None:
    faked = ("--faked-system-time", "20200101T000000", "--passphrase", "")
    gpg(gnupg, *faked, "--quick-generate-key", "Ann <ann@example.org>", "ed25519", "sign", "1d")
    words = ("--armor", "--detach-sign", "--ignore-valid-from")
    in_time = gpg(gnupg, *faked, *words, given=payload()).stdout.decode()
    assert check_commit(signed(payload(), in_time), keyring(gnupg)).good
    # gpg signs with no expired key; one that was shortened afterwards is the same to a reader
    name = gpg(gnupg, "--list-keys", "--with-colons").stdout.decode().split("fpr:::::::::")[1][:40]
    later = ("--faked-system-time", "20200101T120000", "--passphrase", "")
    made = gpg(gnupg, *later, *words, given=payload()).stdout.decode()
    early = ("--faked-system-time", "20200101T003000", "--passphrase", "")
    gpg(gnupg, *early, "--quick-set-expire", name, "seconds=3600")
    assert check_commit(signed(payload(), made), keyring(gnupg)).state is State.EXPIRED


def test_a_revoked_openpgp_key_counts_no_more(gnupg: Path) -> None:
    gpg_key(gnupg)
    made = gpg(gnupg, "--armor", "--detach-sign", given=payload()).stdout.decode()
    assert check_commit(signed(payload(), made), keyring(gnupg)).good
    (revocation,) = (gnupg / "openpgp-revocs.d").iterdir()
    gpg(gnupg, "--import", given=revocation.read_bytes().replace(b":-----BEGIN", b"-----BEGIN"))
    verdict = check_commit(signed(payload(), made), keyring(gnupg))
    assert (verdict.state, verdict.why) == (State.BAD, "its key was revoked")


# -- what stops a run ------------------------------------------------------------------------------


def test_without_a_key_nothing_is_signed_unless_it_must_be() -> None:
    assert signer({}) is None
    with pytest.raises(Refused, match="there is no key to sign with") as refused:
        signer({}, required=True)
    assert "GATI_SIGNING_KEY" in refused.value.remedy


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "can't be read"),
        (b"", "no key that is known"),
        (b"hello\n", "no key that is known"),
        (
            b"-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n",
            "opened",
        ),
        (b"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nAAAA\n", "can't be read"),
        (b"\x99\x01", "can't be read"),
    ],
)
def test_a_key_that_was_named_and_cannot_be_used_is_refused(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    path = tmp_path / "key"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(Refused, match=message):
        signer({"GATI_SIGNING_KEY": str(path)})


def test_a_public_openpgp_key_cannot_sign(tmp_path: Path, gnupg: Path) -> None:
    gpg_key(gnupg)
    (tmp_path / "key").write_bytes(gpg(gnupg, "--export", "--armor").stdout)
    with pytest.raises(Refused, match="is a public key"):
        signer({"GATI_SIGNING_KEY": str(tmp_path / "key")})


@pytest.mark.parametrize("library", ["cryptography", "pysequoia"])
def test_a_library_that_is_missing_is_named_with_its_extra(
    tmp_path: Path, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "key"
    kind = "OPENSSH PRIVATE KEY" if library == "cryptography" else "PGP PRIVATE KEY BLOCK"
    path.write_text(f"-----BEGIN {kind}-----\n")
    for name in [n for n in sys.modules if n.split(".")[0] == library]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(Refused, match=library) as refused:
        signer({"GATI_SIGNING_KEY": str(path)})
    assert refused.value.remedy == "pip install gati-gitops[signing]"


def test_signing_is_not_imported_until_it_is_wanted() -> None:
    importlib.import_module("gati_gitops.repo.trust")
    code = "import sys, gati_gitops.repo.sign, gati_gitops.repo.signatures\n"
    code += "print([m for m in ('cryptography', 'pysequoia') if m in sys.modules])"
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert made.stdout == b"[]\n"


def test_nobody_allowed_is_no_way_to_check(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="nobody has said whose count"):
        allowed_signers({})
    with pytest.raises(Refused, match="can't be read"):
        allowed_signers({"GATI_ALLOWED_SIGNERS": str(tmp_path / "none")})
    (tmp_path / "ring").write_bytes(b"junk")
    with pytest.raises(Refused, match="no OpenPGP certificate"):
        allowed_signers({"GATI_ALLOWED_KEYRING": str(tmp_path / "ring")})


def test_both_files_of_allowed_signers_are_read(tmp_path: Path, gnupg: Path) -> None:
    gpg_key(gnupg)
    (tmp_path / "ring").write_bytes(gpg(gnupg, "--export", "--armor").stdout)
    (tmp_path / "signers").write_text(allowed_line(ssh_key(tmp_path)))
    found = allowed_signers(
        {
            "GATI_ALLOWED_SIGNERS": str(tmp_path / "signers"),
            "GATI_ALLOWED_KEYRING": str(tmp_path / "ring"),
        }
    )
    assert (len(found.keys), len(found.certs)) == (1, 1)


# -- branches --------------------------------------------------------------------------------------


class World:
    """A repository in which people and we commit, signed or not."""

    def __init__(self, folder: Path) -> None:
        self.path = repository(folder / "repo")
        self.people, self.us, self.eve = (ssh_key(folder) for _ in range(3))
        self.signers = folder / "signers"
        self.signers.write_text(allowed_line(self.people) + allowed_line(self.us, who="bot"))
        self.allowed = allows(self.signers.read_text())

    def git(self, *words: str) -> str:
        return run("git", "-C", self.path, *words).stdout.decode().strip()

    def commit(self, key: Path | None, *words: str) -> str:
        words = words or ("commit", "--allow-empty", "-m", "x")
        config = ("-c", "gpg.format=ssh", "-c", f"user.signingkey={key}") if key else ()
        self.git(*config, words[0], "-q", *(["-S"] if key else []), *words[1:])
        return self.git("rev-parse", "HEAD")

    def ours(self, key: Path | None, checked: str = "Gati-Checked: signatures\n") -> str:
        """A commit as we make them."""
        base = f"Gati-Base: {self.git('rev-parse', 'HEAD')}"
        text = f"prod: update\n\nGati-Compiler: 1\n{checked}{base}\n"
        return self.commit(key, "commit", "--allow-empty", "-m", text)

    def found(self, tip: str, clone: Path | None = None, **more: Any) -> list[str]:
        objects = Objects(pygit2.Repository(str(clone or self.path)))
        return [item.commit for item in unsigned_commits(objects, tip, self.allowed, **more)]

    def shallow(self, name: str) -> Path:
        clone = self.path.with_name(name)
        run("git", "clone", "-q", "--depth=1", f"file://{self.path}", clone)
        return clone


def test_what_came_since_our_last_commit_must_be_signed(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.commit(None)  # before we came
    seal = world.ours(world.us)
    assert world.found(seal) == []
    assert world.found(world.commit(world.people)) == []
    stranger, unsigned = world.commit(world.eve), world.commit(None)
    tip = world.commit(world.people)  # on top of it
    assert sorted(world.found(tip)) == sorted([unsigned, stranger])
    assert world.found(tip, since=unsigned) == []
    assert world.found(tip, since=tip) == []


def test_only_a_signed_commit_of_ours_is_a_seal(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.commit(None)
    world.ours(world.us)
    bad = world.commit(None)
    unsigned, forged = world.ours(None), world.ours(world.eve)
    world.ours(world.us, checked="")  # nobody looked at what it was put upon
    tip = world.commit(world.people)
    assert sorted(world.found(tip)) == sorted([bad, unsigned, forged])


def test_side_branches_of_merges_are_looked_at(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.commit(None)
    world.commit(None)
    world.git("branch", "side")
    world.ours(world.us)
    world.git("checkout", "-q", "side")
    hidden = [world.commit(None) for _ in range(3)]
    world.git("checkout", "-q", "main")
    tip = world.commit(world.people, "merge", "--no-ff", "-m", "m", "side")
    assert sorted(world.found(tip)) == sorted(hidden)


def test_without_a_seal_the_tip_has_to_be_signed(tmp_path: Path) -> None:
    world = World(tmp_path)
    tip = world.commit(None)
    assert world.found(tip) == [tip]
    assert world.found(world.commit(world.people)) == []
    assert world.found("") == []


def test_a_shallow_clone_is_deepened_and_else_judged_by_its_tip(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.commit(None)
    world.ours(world.us)
    unsigned = world.commit(None)
    tip = world.commit(world.people)
    clone = world.shallow("one")
    assert world.found(tip, clone) == []
    assert world.found(tip, clone, deepen=lambda _: False) == []

    def deepen(_: str) -> bool:
        run("git", "-C", clone, "fetch", "-q", "--deepen=1", "origin")
        return True

    assert world.found(tip, clone, deepen=deepen) == [unsigned]
    world.git("reset", "-q", "--hard", unsigned)
    assert world.found(unsigned, world.shallow("two")) == [unsigned]


def test_the_refusal_names_commit_author_and_why(tmp_path: Path) -> None:
    world = World(tmp_path)
    environ = {"GATI_ALLOWED_SIGNERS": str(world.signers)}
    good = world.commit(world.people)
    with open_repository(parse(str(world.path))) as repository:
        require_signed(repository, repository.tip(), environ)
        tip = world.commit(world.eve)
        assert good != tip
        with pytest.raises(Refused) as refused:
            require_signed(repository, repository.tip(), environ)
        with pytest.raises(Refused, match="nobody has said whose count"):
            require_signed(repository, repository.tip(), {})
    assert refused.value.message.startswith(
        f"main has a commit that no allowed key has signed: {tip[:12]} by Ann <ann@example.org> (unknown key SHA256:"
    )


def test_a_key_that_we_would_not_accept_ourselves_is_refused(tmp_path: Path) -> None:
    key = ssh_key(tmp_path)
    made = signer({"GATI_SIGNING_KEY": str(key)})
    require_own(made, allows(allowed_line(key)), TIME)
    with pytest.raises(Refused, match="not among the allowed"):
        require_own(made, AllowedSigners(), TIME)
    with pytest.raises(Refused, match="has expired"):
        require_own(made, allows(allowed_line(key, 'valid-before="20251231Z"')), TIME)
