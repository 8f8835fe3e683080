"""What must not be seen is replaced by a fingerprint, before anything is compared.

All that follows works on masked objects, so no writer can print a value by mistake. A fingerprint
is keyed (HMAC): with the same key the same value has the same one, so a change can be seen; without
the key nobody can find the value by trying likely ones.

Masked are the data of Secrets, values whose name says what they are (``DB_PASSWORD``), those that
look generated and whose name speaks of a secret (``TOKEN_FOR_CI``), and whatever in a text has the
shape of a key, a token or a password in an address, wherever it stands.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import Any

from gati_gitops.redact import looks_generated, names_secret, replaced, speaks_of_secrets

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_SHOWN = 10
_PREFIX = "***"
MASKED = re.compile(r"\*\*\*[0-9a-f]{10}")
"""What stands in place of a value."""

_SECRET_FIELDS = ("data", "stringData")
_KEY_BLOCK = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL
)
# name: value, name = value, --name=value, "name": "value"; in the middle of a line, too. Without
# quotes nobody knows where a value ends, so it is all up to the end of the line.
_NAME = re.compile(r"""(?<![\w.])(?<![\w.]-)(?P<name>[A-Za-z_][\w.-]*+)["']?\s*+[:=]\s*+""")
_VALUE = re.compile(
    r""""(?:[^"\\]|\\.)*+"|'[^']*+'|[|>][-+0-9]*+\n(?:[ \t]++[^\n]*+\n?)++|[^\n]+""", re.DOTALL
)
_OPTION = re.compile(r"--?(?P<name>[A-Za-z][\w.-]*)")
# Names that are fields of specs elsewhere, or too short to be certain; here nothing is refused.
_TELLING = re.compile(r"(?:^|[_.-])(?:secret|token|pass|pwd|authorization|bearer)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Mask:
    """Masks objects with one key; two sides that are compared share it."""

    key: bytes
    _texts: dict[str, str] = field(default_factory=dict, repr=False, compare=False)
    """What texts became: manifests say the same again and again."""

    def __repr__(self) -> str:
        return "Mask(…)"

    def fingerprint(self, value: str) -> str:
        return _PREFIX + hmac.new(self.key, value.encode(), sha256).hexdigest()[:_SHOWN]

    def object(self, value: dict[str, Any]) -> dict[str, Any]:
        """An object without what must not be seen; the one that was given stays as it is."""
        found: dict[str, Any] = self._value(value)
        if value.get("kind") == "Secret":
            for name in _SECRET_FIELDS:
                if isinstance(data := value.get(name), dict):
                    found[name] = {key: self.fingerprint(_text(item)) for key, item in data.items()}
                elif name in value:
                    found[name] = self.fingerprint(_text(data))
            annotations = (found.get("metadata") or {}).get("annotations") or {}
            if LAST_APPLIED in annotations:
                annotations[LAST_APPLIED] = self.fingerprint(annotations[LAST_APPLIED])
        return found

    def text(self, value: str) -> str:
        """A text without the secrets in it."""
        if value not in self._texts:
            self._texts[value] = self._without_secrets(value)
        return self._texts[value]

    def _without_secrets(self, value: str) -> str:
        if "PRIVATE KEY" in value:
            value = _KEY_BLOCK.sub(lambda found: self.fingerprint(found[0]), value)
        value = replaced(value, self.fingerprint)
        return self._assignments(value) if ":" in value or "=" in value else value

    def _assignments(self, value: str) -> str:
        """``name: value`` and the like; what is no secret may have one in its value."""
        found, at = [], 0
        for match in _NAME.finditer(value):
            if match.start() < at or not _may_tell(match["name"]):
                continue
            secret = _VALUE.match(value, match.end())
            if secret and _is_told(match["name"], secret[0].strip().strip("\"'")):
                found += [value[at : secret.start()], self._quoted(secret[0])]
                at = secret.end()
        return "".join(found) + value[at:]

    def _quoted(self, value: str) -> str:
        """The fingerprint of a value, in its quotes; what was masked already stays."""
        quote = value[0] if value[0] in "\"'" else ""
        bare = value[1:-1] if quote else value
        shown = bare if MASKED.fullmatch(bare) else self.fingerprint(bare)
        return f"{quote}{shown}{quote}" + "\n" * value.endswith("\n")

    def _value(self, value: Any) -> Any:
        if isinstance(value, dict):
            return self._mapping(value)
        if isinstance(value, list):
            return self._list(value)
        return self.text(value) if isinstance(value, str) else value

    def _mapping(self, value: dict[str, Any]) -> dict[str, Any]:
        # {name: DB_PASSWORD, value: …}: a variable, in whatever kind of object
        variable = value.get("name")
        named = variable if isinstance(variable, str) else ""
        return {
            key: self.fingerprint(item)
            if isinstance(item, str)
            and (_is_told(key, item) or (key == "value" and _is_told(named, item)))
            else self._value(item)
            for key, item in value.items()
        }

    def _list(self, value: list[Any]) -> list[Any]:
        """Elements; what follows ``--password`` is one."""
        found: list[Any] = []
        mask: Callable[[str], str] = self.text
        for item in value:
            found.append(mask(item) if isinstance(item, str) else self._value(item))
            option = _OPTION.fullmatch(item) if isinstance(item, str) else None
            mask = self.fingerprint if option and _tells(option["name"]) else self.text
        return found


@lru_cache(maxsize=4096)
def _tells(name: str) -> bool:
    """Whether a name says that its value is a secret."""
    return names_secret(name) or _TELLING.search(name) is not None


@lru_cache(maxsize=4096)
def _may_tell(name: str) -> bool:
    return _tells(name) or speaks_of_secrets(name)


def _is_told(name: str, value: str) -> bool:
    """Whether a value is a secret by its name, or by its name and its looks."""
    return _may_tell(name) and (_tells(name) or looks_generated(value))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)
