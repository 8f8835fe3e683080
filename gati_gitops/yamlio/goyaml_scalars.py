"""What a YAML scalar means to kustomize.

kustomize reads and writes with two Go libraries that disagree: resources go through go-yaml v3,
the kustomization file and JSON patches through v2 (where `yes` is true), and the output is
written by v2. Both also look at how a scalar was *spelled*: an integer patched over a quoted
string becomes a string.

So a value here is a plain Python one wherever that says it all, and something a little more where
the spelling would be lost:

str, int, bool, None   what it looks like; None was written as `null`
Null                   a null written otherwise: `~`, or
BLANK                  a null written as nothing at all (`key:`), which a patch removes
Quoted, Bare           a string that was quoted though it need not be, or the reverse
Cell                   a scalar that several places share
Odd                    a number or date in a spelling of its own: 1.50, 0x1F, 2020-01-01
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Final


class Quoted(str):
    """A string written in quotes or as a block, though the text alone would read as a string."""

    __slots__ = ()


class Bare(str):
    """A string that only its tag keeps a string: its text alone would read as something else."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Odd:
    """A scalar that is no string and whose text is not the one its value would be written with."""

    text: str
    kind: str  # int, float, bool or timestamp
    value: Any  # int, float, bool, or the RFC 3339 text of a timestamp


class Cell:
    """One scalar that stands in several places.

    kustomize's label and annotation transformers put the same node everywhere, so a later change of
    the label in one place is seen in all of them. It may be a flaw, but it is what a cluster gets.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Null:
    """A null that was written as something other than `null`."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return f"Null({self.text!r})"

    def __bool__(self) -> bool:
        return False

    def __copy__(self) -> Null:
        return self

    def __deepcopy__(self, memo: object) -> Null:
        return self


BLANK: Final = Null("")

_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_INT = re.compile(
    r"([-+]?)(?:(0[xX][0-9a-fA-F]+)|(0[bB][01]+)|0[oO]([0-7]+)|0([0-7]+)|(0|[1-9][0-9]*))\Z"
)
_TIME = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?:([Tt ])([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})([.,][0-9]+)?(Z|[-+][0-9]{2}:[0-9]{2})?)?\Z"
)
_BASE60 = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?\Z")
_SPECIAL: Final[dict[str, Any]] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **{text: Null(text) for text in ("~", "Null", "NULL")},
    "null": None,
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
    "": BLANK,
}
_OLD_BOOLS: Final = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "off", "Off", "OFF"), False),
}
_INT64 = 1 << 63
_UINT64 = 1 << 64


@lru_cache(maxsize=65536)
def resolve(text: str) -> Any:
    """A plain scalar of a resource (go-yaml v3)."""
    if text in _SPECIAL:
        value = _SPECIAL[text]
        if type(value) is bool and text not in ("true", "false"):
            return Odd(text, "bool", value)
        return Odd(text, "float", value) if type(value) is float else value
    first = text[0]
    if first == ".":
        return Odd(text, "float", float(text)) if _is_float(text) else text
    if first not in "+-0123456789":
        return text
    stamp = timestamp(text)
    if stamp is not None:
        return Odd(text, "timestamp", stamp)
    bare = text.replace("_", "")
    number = _integer(bare)
    if number is not None:
        return number if str(number) == text else Odd(text, "int", number)
    return Odd(text, "float", float(bare)) if _is_float(bare) else text


@lru_cache(maxsize=16384)
def resolve_config(text: str) -> Any:
    """A plain scalar of a kustomization or a JSON patch (go-yaml v2, then JSON)."""
    if text in _OLD_BOOLS:
        return _OLD_BOOLS[text]
    value = resolve(text)
    if type(value) is Null:
        return None
    if isinstance(value, Odd):
        return text if value.kind == "timestamp" else value.value
    return value


@lru_cache(maxsize=65536)
def reads_as_string(text: str) -> bool:
    """Whether YAML 1.1, as kustomize writes it, needs no quotes around the text."""
    if text in _OLD_BOOLS:
        return False
    return isinstance(resolve(text), str) and not _BASE60.match(text)


def _integer(bare: str) -> int | None:
    match = _INT.match(bare)
    if match is None:
        return None
    sign, hexadecimal, binary, octal, old_octal, decimal = match.groups()
    if decimal is not None:
        number = int(decimal)
    elif hexadecimal is not None:
        number = int(hexadecimal, 16)
    elif binary is not None:
        number = int(binary, 2)
    else:
        number = int(octal or old_octal, 8)
    number = -number if sign == "-" else number
    if -_INT64 <= number < _INT64 or (not sign and number < _UINT64):
        return number
    return None


def _is_float(bare: str) -> bool:
    return _FLOAT.match(bare) is not None and not math.isinf(float(bare))


def timestamp(text: str) -> str | None:
    """The RFC 3339 spelling of a date, when the text is one of the forms that Go reads."""
    match = _TIME.match(text)
    if match is None:
        return None
    year, month, day, sep, hour, minute, second, fraction, zone = match.groups()
    if sep and (sep == " ") == bool(zone):
        return None
    try:
        moment = datetime(  # noqa: DTZ001 - the offset is written from its own text
            int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0)
        )
    except ValueError:
        return None
    nanos = (fraction or "")[1:10].rstrip("0")
    offset = "Z" if zone in (None, "Z", "+00:00", "-00:00") else zone
    return f"{moment:%Y-%m-%dT%H:%M:%S}".zfill(19) + (f".{nanos}" if nanos else "") + str(offset)


# ------------------------------------------------------------------------------ looking at values


def is_null(value: Any) -> bool:
    return value is None or type(value) is Null


def text_of(value: Any) -> str:
    """The text of a scalar as it stands in the file."""
    if isinstance(value, str):
        return str(value)
    if value is True:
        return "true"
    if value is False:
        return "false"
    if value is None:
        return "null"
    if isinstance(value, Odd):
        return value.text
    if isinstance(value, Cell):
        return text_of(value.value)
    return value.text if type(value) is Null else str(value)


def is_quoted(value: Any) -> bool:
    """Whether whatever is written over this scalar ends up in quotes."""
    kind = type(value)
    if kind is Quoted:
        return True
    return kind is str and not isinstance(resolve(value), str)


def written_over(old: Any, new: Any) -> Any:
    """The scalar `new` set where `old` stood: the value is new, the style is the old one."""
    if type(old) is Cell:
        old.value = written_over(old.value, new)
        return old
    if is_quoted(old):
        return new if is_quoted(new) else Quoted(text_of(new))
    if type(new) is Quoted:
        return str(new)
    if type(new) is str and not isinstance(resolve(new), str):
        return Bare(new)
    return new


def untagged_over(old: Any, text: str) -> Any:
    """Text without a type of its own, set where `old` stood."""
    if type(old) is Cell:
        old.value = untagged_over(old.value, text)
        return old
    if is_quoted(old):
        return text if not isinstance(resolve(text), str) else Quoted(text)
    return resolve(text)


def new_string(text: str) -> str:
    """A string set where nothing was."""
    return text if isinstance(resolve(text), str) and reads_as_string(text) else Quoted(text)


def plain(value: Any) -> Any:
    """A value as JSON has it: dict, list, str, int, float, bool and None only."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Cell):
        return plain(value.value)
    if isinstance(value, Odd):
        return through_json(value.value) if type(value.value) is float else value.value
    return None if type(value) is Null else value


# ------------------------------------------------------------------------------ Go's number forms


def go_float(number: float) -> str:
    """strconv.FormatFloat(number, 'g', -1, 64)."""
    if number == 0:
        return "-0" if math.copysign(1, number) < 0 else "0"
    mantissa, _, exponent = f"{number!r}".partition("e")
    sign, mantissa = ("-", mantissa[1:]) if mantissa.startswith("-") else ("", mantissa)
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    power = point - 1
    if power < -4 or power >= 6:
        return _scientific(sign, digits, power)
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    if point >= len(digits):
        return f"{sign}{digits}{'0' * (point - len(digits))}"
    return f"{sign}{digits[:point]}.{digits[point:]}"


def _scientific(sign: str, digits: str, power: int) -> str:
    tail = f".{digits[1:]}" if digits[1:] else ""
    return f"{sign}{digits[0]}{tail}e{'-' if power < 0 else '+'}{abs(power):02d}"


def through_json(number: float) -> int | float:
    """What is left of a float after a trip through JSON and back."""
    if not math.isfinite(number) or number != int(number) or not -_INT64 <= number < _UINT64:
        return number
    # Go writes the fewest digits that mean this float, and zeros after them.
    mantissa, _, exponent = f"{number!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    if not exponent:
        return int(number)
    return int(whole + fraction + "0" * (int(exponent) - len(fraction)))
