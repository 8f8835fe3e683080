"""As much of CEL as the rules in our CRDs use, to hold them against the models' validators."""

import re
from typing import Any

from gati_gitops.spec.common import quantity

_TOKEN = re.compile(
    r"\s*(?:(?P<raw>r'[^']*')|(?P<text>'[^']*')|(?P<number>\d+)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<sign>\|\||&&|[<>=!]=|[-!<>()\[\],.]))"
)
_COMPARE = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "in": lambda a, b: a in b,
}
_MACROS = ("all", "exists", "exists_one", "filter")


def holds(rule: str, value: Any) -> bool:
    """What the API server would say of a rule with ``self`` being the value."""
    parser = _Parser(rule)
    tree = parser.either()
    assert parser.peek() == "", f"not CEL that is known here: {rule}"
    result = _run(tree, {"self": value})
    assert isinstance(result, bool), rule
    return result


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens, at = [], 0
        while at < len(text):
            match = _TOKEN.match(text, at)
            assert match, f"not CEL that is known here: {text[at:]}"
            self.tokens.append((match.lastgroup, match[match.lastgroup]))
            at = match.end()
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def take(self, wanted: str = "") -> tuple[str, str]:
        kind, text = self.tokens[self.at]
        assert not wanted or text == wanted, f"{wanted} expected, found {text}"
        self.at += 1
        return kind, text

    def either(self):
        left = self.both()
        while self.peek() == "||":
            self.take()
            left = ("or", left, self.both())
        return left

    def both(self):
        left = self.compared()
        while self.peek() == "&&":
            self.take()
            left = ("and", left, self.compared())
        return left

    def compared(self):
        left = self.negated()
        if self.peek() in _COMPARE:
            left = ("compare", self.take()[1], left, self.negated())
        return left

    def negated(self):
        if self.peek() == "!":
            self.take()
            return ("not", self.negated())
        return self.member()

    def member(self):
        tree = self.primary()
        while self.peek() == ".":
            self.take()
            name = self.take()[1]
            tree = (
                ("call", name, tree, self.arguments("(", ")"))
                if self.peek() == "("
                else ("field", tree, name.replace("__dash__", "-"))
            )
        return tree

    def arguments(self, opens: str, closes: str) -> list:
        self.take(opens)
        found = []
        while self.peek() != closes:
            found.append(self.either())
            if self.peek() == ",":
                self.take()
        self.take(closes)
        return found

    def primary(self):
        if self.peek() == "(":
            (inner,) = self.arguments("(", ")")
            return inner
        if self.peek() == "[":
            return ("list", self.arguments("[", "]"))
        kind, text = self.take()
        if kind == "name":
            return (
                ("call", text, None, self.arguments("(", ")"))
                if self.peek() == "("
                else ("name", text)
            )
        return ("value", int(text) if kind == "number" else text.removeprefix("r")[1:-1])


def _run(tree: Any, names: dict[str, Any]) -> Any:
    match tree:
        case ("value", value):
            return value
        case ("name", name):
            return names[name]
        case ("field", inner, name):
            return _run(inner, names)[name]
        case ("list", items):
            return [_run(item, names) for item in items]
        case ("or", left, right):
            return _run(left, names) or _run(right, names)
        case ("and", left, right):
            return _run(left, names) and _run(right, names)
        case ("not", inner):
            return not _run(inner, names)
        case ("compare", sign, left, right):
            return _COMPARE[sign](_run(left, names), _run(right, names))
        case ("call", "has", None, [("field", inner, name)]):
            return name in _run(inner, names)
        case ("call", macro, target, [("name", each), body]) if macro in _MACROS:
            items = list(_run(target, names))
            true = [item for item in items if _run(body, {**names, each: item})]
            return {
                "all": len(true) == len(items),
                "exists": bool(true),
                "exists_one": len(true) == 1,
                "filter": true,
            }[macro]
        case ("call", "size", None, [inner]) | ("call", "size", inner, []):
            return len(_run(inner, names))
        case ("call", "quantity", None, [inner]):
            return quantity(_run(inner, names))
        case ("call", "compareTo", inner, [other]):
            a, b = _run(inner, names), _run(other, names)
            return (a > b) - (a < b)
        case ("call", "matches", inner, [pattern]):
            text = re.sub(r"\$\Z", r"\\Z", _run(pattern, names))
            return re.search(text, _run(inner, names)) is not None
    raise AssertionError(f"not CEL that is known here: {tree}")
