"""Which names tell that a value is a secret."""

from __future__ import annotations

import pytest

from gati_gitops.preview.mask import MASKED, Mask
from gati_gitops.redact import HIDDEN, redact

MASK = Mask(b"a key of the tests")
VALUE = "Pl4nted0dc120db513e"


def masked(name: str, value: str) -> list[str]:
    """A value under a name in all forms that objects have it in, as they are shown."""
    variable = MASK.object({"env": [{"name": name, "value": value}]})["env"][0]["value"]
    field = MASK.object({"data": {name: value}})["data"][name]
    line = MASK.text(f"{name}={value}").partition("=")[2]
    return [variable, field, line]


@pytest.mark.parametrize(
    "name",
    ["API_TOKEN", "API_TOKEN_2", "DB_PASSWORD_OLD", "JWT_SECRET_V2", "PASSWORD1", "apiKeyPrevious",
     "db.password.primary", "SECRET_100"],
)  # fmt: skip
def test_one_of_several_and_one_of_a_rotation_are_secrets_too(name: str) -> None:
    assert all(MASKED.fullmatch(shown) for shown in masked(name, "a word"))


@pytest.mark.parametrize("name", ["TOKEN_FOR_CI", "SECRET_KEY_BASE", "credentialsOfPartner"])
def test_a_name_that_speaks_of_secrets_hides_what_looks_generated(name: str) -> None:
    assert all(MASKED.fullmatch(shown) for shown in masked(name, VALUE))


@pytest.mark.parametrize(
    ("name", "value"),
    [("TOKEN_TTL", "300"), ("PASSWORD_MIN_LENGTH", "12"), ("SECRET_NAME", "orders-db"),
     ("TOKEN_URL", "https://login.example/oauth2"), ("tokenizer", VALUE), ("LOG_LEVEL", "debug")],
)  # fmt: skip
def test_what_is_about_secrets_and_none_is_shown(name: str, value: str) -> None:
    assert masked(name, value) == [value] * 3


def test_lines_that_are_quoted_back_hide_them_too() -> None:
    assert redact(f"    API_TOKEN_2: {VALUE}") == f"    API_TOKEN_2: {HIDDEN}"
    assert redact("    TOKEN_TTL: 300") == "    TOKEN_TTL: 300"
