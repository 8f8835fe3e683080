"""Files that we hand out: what ``init`` writes, and the specs that ``demo`` tells its story on.

They lie in this package as they are written, so that they can be read and edited as YAML. A name
that begins with ``dot.`` stands for a hidden one: Git and the packager would treat it specially.
"""

from __future__ import annotations

import gzip
import re
from importlib.resources import files as package_files
from importlib.resources.abc import Traversable

from gati_gitops import __version__
from gati_gitops.tree import Tree

_PROJECT, _VERSION = b"PROJECT-NAME", b"COMPILER-VERSION"


def project_files(name: str, ci: str = "github") -> Tree:
    """A new project: settings, a handler, a partial document, CI, the editor's schemas."""
    from gati_gitops.spec.schema_editor import COMBINED, ENVIRONMENT, json_schema_files
    from gati_gitops.yamlio.emit import scalar

    values = {_PROJECT: scalar(project_name(name)).encode(), _VERSION: __version__.encode()}
    found = {}
    files = _folder("init")
    if ci != "github":
        files = {path: c for path, c in files.items() if not path.startswith(".github/")}
    if ci == "gitlab":
        files[".gitlab-ci.yml"] = _folder("ci")["gitlab.yml"]
    for path, content in files.items():
        for mark, value in values.items():
            content = content.replace(mark, value)  # noqa: PLW2901
        found[path] = content
    schemas = json_schema_files()
    return found | {f".gati/{file}": schemas[file] for file in (COMBINED, ENVIRONMENT)}


def demo_specs() -> Tree:
    """The specs of the demo."""
    return _folder("demo")


def demo_checkout_alone() -> str:
    """The demo's checkout once its new version has all of the traffic: the old one is gone."""
    text = _folder("demo")["shop/checkout.yaml"].decode()
    return text.partition("---\n")[0].replace("  timescape:\n    routingWeight: 10\n", "")


def demo_looks(name: str) -> bytes:
    """What the demo's job sees of its cluster, as it was recorded."""
    packed = package_files(__package__) / "looks" / f"{name}.gz"
    return gzip.decompress(packed.read_bytes())


def project_name(text: str) -> str:
    """A folder's name as a project may be called."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:63].strip("-") or "my-project"


def _folder(name: str) -> Tree:
    found: Tree = {}
    _walk(package_files(__package__) / name, "", found)
    return dict(sorted(found.items()))


def _walk(folder: Traversable, prefix: str, found: Tree) -> None:
    for item in folder.iterdir():
        name = prefix + re.sub(r"\Adot(?=\.)", "", item.name)
        if item.is_dir():
            _walk(item, f"{name}/", found)
        else:
            found[name] = item.read_bytes()
