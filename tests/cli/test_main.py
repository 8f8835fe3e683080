"""The frame of the command line: verbs, exit codes, streams, colour; and ``validate``."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gati_gitops import __version__
from gati_gitops.cli import main as program
from gati_gitops.cli.main import VERBS, run
from gati_gitops.errors import GatiError, Outside, Place, Refused
from tests.spec.samples import HANDLER, PROJECT

Capture = pytest.CaptureFixture[str]
TIMESCAPE = "  timescape: {routingWeight: 100}\n"


@pytest.fixture
def specs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "GATI_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "specs"
    folder.mkdir()
    (folder / "gati.yaml").write_text(PROJECT)
    (folder / "users.yaml").write_text(HANDLER + TIMESCAPE)
    return folder


def python(*code: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *code], text=True, capture_output=True, check=False, **options
    )  # type: ignore[call-overload, no-any-return]


class TestHelp:
    def test_names_every_verb_and_imports_none(self) -> None:
        code = (
            "import sys; from gati_gitops.cli.main import run; assert run(['--help']) == 0\n"
            "heavy = {'pydantic', 'yaml', 'pygit2', 'jinja2', 'ruamel'} & set(sys.modules)\n"
            "assert not heavy, heavy"
        )
        done = python("-c", code)
        assert done.returncode == 0, done.stderr
        for verb, summary in VERBS.items():
            assert re.search(rf"^  {verb} +{re.escape(summary)}$", done.stdout, re.MULTILINE)

    @pytest.mark.parametrize("flag", ["-h", "--help"])
    def test_of_a_verb_has_examples_line_by_line(self, flag: str, capsys: Capture) -> None:
        assert run(["validate", flag]) == 0
        assert "\n    gati-gitops validate specs\n" in capsys.readouterr().out

    @pytest.mark.parametrize("verb", VERBS)
    def test_of_every_verb_works(self, verb: str, capsys: Capture) -> None:
        assert run([verb, "--help"]) == 0
        told = capsys.readouterr().out
        assert f"\n    gati-gitops {verb}" in told, "examples, each on a line of its own"
        assert "\\b" not in told and "\b" not in told

    def test_version(self, capsys: Capture) -> None:
        assert run(["--version"]) == 0
        assert capsys.readouterr().out == f"gati-gitops {__version__}\n"

    def test_as_a_module(self) -> None:
        assert python("-m", "gati_gitops", "--version").stdout == f"gati-gitops {__version__}\n"


class TestUsage:
    @pytest.mark.parametrize(
        "arguments, part",
        [
            (["valdiate"], "Did you mean validate?"),
            (["frobnicate"], "Verbs: init, validate"),
            (["validate", "--fromat", "json"], "--fromat"),
            (["validate", "--format", "xml"], "'xml' is not one of"),
            (["validate", "a", "b"], "unexpected extra argument"),
            ([], "Usage: gati-gitops"),
        ],
    )
    def test_wrong_usage_is_2(self, arguments: list[str], part: str, capsys: Capture) -> None:
        assert run(arguments) == 2
        captured = capsys.readouterr()
        assert part in captured.err
        assert captured.out == ""

    def test_a_verb_with_terminal_escapes_is_neutralised(self, capsys: Capture) -> None:
        assert run(["\x1b]0;owned\x07"]) == 2
        assert "\x1b" not in capsys.readouterr().err


class TestErrors:
    """What a verb raises, and what becomes of it."""

    @pytest.fixture
    def fails(self, monkeypatch: pytest.MonkeyPatch):
        def with_(error: BaseException, *arguments: str) -> int:
            def load_specs(specs: str) -> None:
                raise error

            monkeypatch.setattr("gati_gitops.cli.validate.load_specs", load_specs)
            return run([*arguments, "validate"])

        return with_

    @pytest.mark.parametrize(
        "error, code",
        [
            (GatiError("it broke", remedy="mend it"), 4),
            (Outside("it broke", remedy="mend it"), 4),
            (Refused("it broke", remedy="mend it"), 5),
        ],
    )
    def test_ours(self, fails, error: GatiError, code: int, capsys: Capture) -> None:
        assert fails(error) == code
        captured = capsys.readouterr()
        assert captured.err == "error: it broke\n  mend it\n"
        assert captured.out == ""

    def test_with_a_place(self, fails, capsys: Capture) -> None:
        assert fails(Outside("it broke", place=Place("a.yaml", 3, 1))) == 4
        assert capsys.readouterr().err == "error: a.yaml:3:1: it broke\n"

    def test_of_the_system(self, fails, capsys: Capture) -> None:
        assert fails(PermissionError(13, "Permission denied", "/etc/x")) == 4
        assert capsys.readouterr().err == "error: /etc/x: Permission denied\n"

    def test_interrupted(self, fails) -> None:
        assert fails(KeyboardInterrupt()) == 130

    def test_a_bug_is_70_and_short(self, fails, capsys: Capture) -> None:
        assert fails(ZeroDivisionError("oh\x1b[31m")) == 70
        error = capsys.readouterr().err
        assert "ZeroDivisionError: oh\\x1b[31m" in error
        assert "this is a bug" in error
        assert "Traceback" not in error

    def test_a_bug_with_debug_has_its_traceback(self, fails, capsys: Capture) -> None:
        assert fails(ZeroDivisionError("oh"), "--debug") == 70
        assert "Traceback" in capsys.readouterr().err

    def test_a_bug_with_the_variable_has_its_traceback(
        self, fails, monkeypatch: pytest.MonkeyPatch, capsys: Capture
    ) -> None:
        monkeypatch.setenv("GATI_DEBUG", "1")
        assert fails(ZeroDivisionError("oh")) == 70
        assert "Traceback" in capsys.readouterr().err

    @pytest.mark.parametrize("stream", ["stdout", "stderr"])
    @pytest.mark.parametrize("arguments", [["validate", "specs"], ["validate", "nope"], ["--help"]])
    def test_a_reader_that_went_away(self, specs: Path, arguments: list[str], stream: str) -> None:
        (specs / "users.yaml").write_text(HANDLER.replace("3000", "0"))
        reader, writer = os.pipe()
        os.close(reader)
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: writer}
        command = [sys.executable, "-m", "gati_gitops", *arguments]
        done = subprocess.run(command, **pipes, check=False)  # type: ignore[call-overload]
        os.close(writer)
        uses = "stderr" if arguments[-1] == "nope" else "stdout"
        assert (done.returncode == 141) == (uses == stream)
        assert b"Traceback" not in (done.stderr or b"")
        assert b"BrokenPipe" not in (done.stderr or b"")

    def test_output_that_cannot_be_encoded(self, specs: Path) -> None:
        (specs / "users.yaml").write_text(HANDLER + "  größe: 1\n", encoding="utf-8")
        done = python(
            "-m",
            "gati_gitops",
            "validate",
            "specs",
            env={**os.environ, "PYTHONIOENCODING": "ascii"},
        )
        assert done.returncode == 3
        assert "gr\\xf6\\xdfe" in done.stdout


class TestValidate:
    def test_fine(self, specs: Path, capsys: Capture) -> None:
        assert run(["validate", "specs"]) == 0
        captured = capsys.readouterr()
        assert captured.out == "1 handler, 0 modules, 0 versions in 2 environments: no problems\n"
        assert captured.err == ""

    def test_the_current_folder_is_the_default(
        self, specs: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
    ) -> None:
        monkeypatch.chdir(specs)
        (specs / "users.yaml").write_text(HANDLER.replace("3000", "0"))
        assert run(["validate"]) == 3
        assert capsys.readouterr().out.startswith(
            "users.yaml:10:9: error[out-of-range] spec.port: "
        )

    def test_wrong(self, specs: Path, capsys: Capture) -> None:
        (specs / "users.yaml").write_text(
            HANDLER.replace("3000", "0").replace("replicas", "replica")
        )
        assert run(["validate", "specs"]) == 3
        captured = capsys.readouterr()
        assert captured.out == (
            "specs/users.yaml:8:3: error[unknown-field] spec.replica: there is no field replica here\n"
            "  8 |   replica: 3\n"
            "    |   ^\n"
            "  fix: did you mean spec.replicas?\n"
            "\n"
            "specs/users.yaml:10:9: error[out-of-range] spec.port: 0 is below 1\n"
            "  10 |   port: 0\n"
            "     |         ^\n"
            "  fix: write 1 or more\n"
            "\n"
            "2 errors in 1 file\n"
        )

    @pytest.mark.parametrize("format", ["json", "github", "sarif"])
    def test_machine_formats_have_stdout_to_themselves(
        self, specs: Path, format: str, capsys: Capture
    ) -> None:
        (specs / "users.yaml").write_text(HANDLER.replace("3000", "0"))
        assert run(["validate", "specs", "--format", format]) == 3
        captured = capsys.readouterr()
        assert captured.err == "1 error in 1 file\n"
        if format == "github":
            assert captured.out.startswith("::error file=specs/users.yaml,line=10,col=9,")
        else:
            assert "specs/users.yaml" in json.dumps(json.loads(captured.out))

    @pytest.mark.parametrize("format", ["json", "sarif"])
    def test_machine_formats_speak_when_all_is_fine(
        self, specs: Path, format: str, capsys: Capture
    ) -> None:
        assert run(["validate", "specs", "--format", format]) == 0
        assert json.loads(capsys.readouterr().out)

    def test_warnings_pass_unless_strict(self, specs: Path, capsys: Capture) -> None:
        (specs / "other.yaml").write_text("kind: Pod\n")
        assert run(["validate", "specs"]) == 0
        out = capsys.readouterr().out
        assert out.startswith("specs/other.yaml:1:1: warning[not-gati] ")
        assert out.endswith("in 2 environments: 1 warning\n")
        assert run(["validate", "specs", "--strict"]) == 3

    def test_rules_across_documents_are_checked(self, specs: Path, capsys: Capture) -> None:
        twin = HANDLER.replace("user-handler", "twin").replace("v1.0.0", "v2.0.0")
        (specs / "twin.yaml").write_text(twin + TIMESCAPE)
        assert run(["validate", "specs"]) == 3
        assert "100" in capsys.readouterr().out

    def test_a_file_and_standard_input(
        self, specs: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
    ) -> None:
        (specs / "users.yaml").write_text(HANDLER.replace("3000", "0"))
        assert run(["validate", "specs/users.yaml"]) == 3
        assert capsys.readouterr().out.startswith("specs/users.yaml:10:9: ")
        done = python("-m", "gati_gitops", "validate", "-", input=HANDLER.replace("3000", "0"))
        assert done.returncode == 3
        assert done.stdout.startswith("stdin:10:9: ")

    def test_a_folder_that_is_not_there(self, specs: Path, capsys: Capture) -> None:
        assert run(["validate", "nope"]) == 4
        assert capsys.readouterr().err.startswith("error: there is no folder or file nope\n")

    def test_nothing_is_written(self, specs: Path) -> None:
        before = {path: path.stat() for path in specs.parent.rglob("*")}
        run(["validate", "specs"])
        assert {path: path.stat() for path in specs.parent.rglob("*")} == before


class TestColour:
    @pytest.mark.parametrize(
        "variables, coloured",
        [
            ({}, False),
            ({"FORCE_COLOR": "1"}, True),
            ({"FORCE_COLOR": "0"}, False),
            ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
            ({"FORCE_COLOR": "1", "NO_COLOR": ""}, True),
        ],
    )
    def test_in_a_pipe(
        self,
        specs: Path,
        variables: dict[str, str],
        coloured: bool,
        monkeypatch: pytest.MonkeyPatch,
        capsys: Capture,
    ) -> None:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        (specs / "users.yaml").write_text(HANDLER.replace("3000", "0"))
        assert run(["validate", "specs"]) == 3
        assert ("\x1b[" in capsys.readouterr().out) == coloured


def test_every_exit_code_is_in_the_docstring() -> None:
    for code in (0, 1, 2, 3, 4, 5, 70, 130, 141):
        assert re.search(rf"(^|· |\n){code} ", program.__doc__ or "")
