"""Five hundred secrets, in every place where one may stand; whoever prints a review prints none."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import yaml

from gati_gitops.preview.model import Compared, Review
from gati_gitops.preview.review import review
from gati_gitops.preview.side import stored_side
from gati_gitops.tree import MemorySnapshot
from gati_gitops.yamlio.emit import dump
from tests.compile.kit import UNIT, canary, handler, tree_of
from tests.preview.sides import MASK, reviewed

LETTERS = "bcdfghjklmnpqrstvwxz"


def words() -> Iterator[str]:
    """Values that no other text has, and that look like words, so that specs may hold them."""
    for number in range(10_000):
        digits = [LETTERS[number // 20**place % 20] for place in range(4)]
        yield "hunter" + "".join(digits) + "swordfish"


class Planted:
    """Reviews with secrets in them, and the secrets."""

    def __init__(self) -> None:
        self._words = words()
        self.values: list[str] = []
        self.reviews = [self._of_specs(), self._of_objects()]

    def _new(self) -> str:
        value = next(self._words)
        self.values.append(value)
        return value

    # -- in specs ----------------------------------------------------------------------------------

    def _spec(self) -> str:
        names = (
            "DB_PASSWORD",
            "API_TOKEN",
            "CLIENT_SECRET",
            "signing.private_key",
            "apiKey",
            "ACCESS_KEY",
        )
        env = {name: self._new() for name in names if name.replace("_", "").isalnum()}
        text = "\n".join(
            (
                f"password: {self._new()}",
                f"db.password = {self._new()} and more",
                f'{{"token": "{self._new()}", "other": 1, "secret":"{self._new()}"}}',
                f"export API_TOKEN='{self._new()}'",
                f"passphrase: |\n  {self._new()}\n  {self._new()}",
                f"Authorization: Bearer {self._new()}",
            )
        )
        files = [
            {
                "name": "conf",
                "mountPath": "/etc/x",
                "files": {"app.conf": text, "password": self._new()},
            }
        ]
        args = [
            "--password",
            self._new(),
            f"--token={self._new()}",
            f"-client-secret={self._new()}",
        ]
        return handler(env=env, volumes=files, args=args)

    def _of_specs(self) -> Review:
        base = {"gati.yaml": canary({"dev": ["d1"], "prod": ["east"]})}
        head = dict(base)
        for number in range(6):
            name = f"unit-{number}"
            for side in (base, head):
                side[f"{name}.yaml"] = (
                    self._spec().replace('"users"', f'"{name}"').replace("/users", f"/{name}")
                )
        head["new.yaml"] = self._spec().replace('"users"', '"new"').replace("/users", "/new")
        base["old.yaml"] = self._spec().replace('"users"', '"old"').replace("/users", "/old")
        return reviewed(base, head, tree_of(base))

    # -- in objects that nobody of us has made -------------------------------------------------------

    def _objects(self) -> list[dict[str, Any]]:
        def named(kind: str, name: str, **more: Any) -> dict[str, Any]:
            head = {
                "apiVersion": "v1",
                "kind": kind,
                "metadata": {"name": name, "namespace": "shop"},
            }
            return head | more

        coded = {f"key-{n}": base64.b64encode(self._new().encode()).decode() for n in range(40)}
        self.values += coded.values()
        plain = {f"key-{n}": self._new() for n in range(40)}
        secret = named("Secret", "db", data=coded, stringData=plain)
        secret["metadata"]["annotations"] = {
            "kubectl.kubernetes.io/last-applied-configuration": f'{{"stringData":{{"x":"{self._new()}"}}}}'
        }
        lines = "\n".join(self._new() for _ in range(20))
        block = f"-----BEGIN RSA PRIVATE KEY-----\n{lines}\n-----END RSA PRIVATE KEY-----\n"
        token = "ghp_" + (self._new() * 3)[:40]
        self.values.append(token)
        addresses = [f"postgres://app:{self._new()}@db:5432/x" for _ in range(10)]
        config = named(
            "ConfigMap",
            "conf",
            data={"tls.pem": block, "note": f"the token is {token}", "urls": "\n".join(addresses),
                  "password": self._new(), "a.token": self._new()},
        )  # fmt: skip
        custom = named(
            "Thing",
            "thing",
            spec={
                "password": self._new(),
                "list": [{"name": "API_KEY", "value": self._new()}],
                "deep": {"credentials": self._new(), "text": f"pwd={self._new()}"},
                "headers": [f"Authorization: Basic {self._new()}"],
            },
        )
        return [secret, config, custom]

    def _with_objects(self, tree: dict[str, bytes]) -> dict[str, bytes]:
        listed = yaml.safe_load(tree[f"{UNIT}/kustomization.yaml"])
        items = self._objects()
        listed["resources"] += [f"more-{number}.yaml" for number, _ in enumerate(items)]
        more = {f"{UNIT}/more-{number}.yaml": dump(item, "x") for number, item in enumerate(items)}
        return {**tree, f"{UNIT}/kustomization.yaml": dump(listed, "x"), **more}

    def _of_objects(self) -> Review:
        tree = tree_of({"gati.yaml": canary({"prod": ["east"]}), "users.yaml": handler()})
        before, after = self._with_objects(tree), self._with_objects(tree)
        touched = [path for path in {*before, *after} if before.get(path) != after.get(path)]
        one, two = (
            stored_side(MemorySnapshot(side), Compared("x"), touched) for side in (before, after)
        )
        return review(one, two, MASK, ledger="x", touched=touched)
