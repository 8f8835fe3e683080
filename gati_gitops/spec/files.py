"""Which files of a folder are specs, on disk as in Git.

Names are relative to the folder of the specs, with forward slashes: YAML, and the templates in
``templates/`` at the top. Hidden names count as little as folders of dependencies do.
"""

from __future__ import annotations

from gati_gitops.spec.template import SUFFIX

SKIPPED = frozenset(("node_modules", "templates", "venv"))
"""Names that hold no specs; hidden ones are skipped as well."""

_TEMPLATES = "templates"


def is_skipped(path: str) -> bool:
    """Whether a file, link or folder counts as little as if it were not there."""
    name = path.rpartition("/")[2]
    return name.startswith(".") or name in SKIPPED


def is_entered(folder: str) -> bool:
    """Whether specs may be found in a folder; the one above it was entered."""
    if folder == _TEMPLATES:
        return True
    return not is_skipped(folder) and not folder.startswith(f"{_TEMPLATES}/")


def is_spec(path: str) -> bool:
    """Whether a file is a spec; its folder was entered."""
    # In a folder of templates other YAML is no spec: charts have such folders, too.
    suffix = SUFFIX if path.startswith(f"{_TEMPLATES}/") else (".yaml", ".yml")
    return path.endswith(suffix) and not is_skipped(path)


def is_spec_below(path: str) -> bool:
    """Whether a file anywhere below the specs' folder is one of them."""
    parts = path.split("/")
    folders = ("/".join(parts[:end]) for end in range(1, len(parts)))
    return all(is_entered(folder) for folder in folders) and is_spec(path)
