"""Record what the demo's job sees of its cluster: a release that goes well, and one that does not.

    python scripts/record_demo.py

The demo's specs are published, a small site with traffic and scrapes runs what stands on the
branch, and real passes decide. What they looked at is written to gati_gitops/scaffold/looks. It is
needed again when the job judges otherwise than it did; the demo's test says when that is so.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gati_gitops.observe.recording import Recorder
from gati_gitops.reconcile.places import Narrowing
from gati_gitops.scaffold import demo_checkout_alone, demo_specs
from tests.reconcile.town import Town

LOOKS = Path(__file__).resolve().parent.parent / "gati_gitops/scaffold/looks"
PROD = "overlays/prod/eu-1/shop"
CART, CHECKOUT = f"{PROD}/handler-cart", f"{PROD}/handler-checkout"
START = 1_767_600_000.0
"""A Monday in January 2026, 08:00 UTC."""
EVERY = 60.0


def changed(text: bytes, *changes: tuple[str, str]) -> str:
    found = text.decode()
    for before, after in changes:
        found = found.replace(before, after, 1)
    return found


def play(town: Town, folder: Path) -> None:
    """The demo's story, with the looks of its passes."""
    specs = demo_specs()
    cart = specs["shop/cart.yaml"]
    town.release({path: content.decode() for path, content in specs.items()})
    town.release({"shop/cart.yaml": changed(cart, ("v1.0.0", "v1.1.0"), (":1.0.0", ":1.1.0"))})
    town.act("reject", "shop/cart", version="v1.1.0", environments=("prod",))
    passes(town, folder / "release.jsonl", lambda: _phase(town, CHECKOUT, "v2.1.0") == "Active")
    town.release(
        {
            "shop/cart.yaml": changed(cart, ("v1.0.0", "v1.2.0"), (":1.0.0", ":1.2.0")),
            "shop/checkout.yaml": demo_checkout_alone(),
        }
    )
    town.site("prod", "eu-1").behaves("v1.2.0", unit="handler-cart", errors=0.3)
    passes(town, folder / "bad-release.jsonl", lambda: _phase(town, CART, "v1.2.0") == "Rejected")
    passes(town, folder / "quiet.jsonl", lambda: _phase(town, CHECKOUT, "v2.0.3") == "Removed")


def passes(town: Town, path: Path, done: object) -> None:
    recorder = Recorder(path)
    while not done():  # type: ignore[operator]
        town.wait(EVERY)
        passed = town.look(recorder=recorder)
        told = [f"{one.unit}: {one.decision.reason}" for one in passed.judged]
        assert town.clock < START + 4 * 3600, "\n".join([*town.log(), *told])


def _phase(town: Town, folder: str, id: str) -> str:
    return town.phases(folder)[id][0]


def main() -> int:
    LOOKS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="gati-demo-") as folder:
        time.time = lambda: START  # the past is recorded, so that nobody's clock is behind it
        town = Town(Path(folder), clock=START, narrowing=Narrowing(("prod",)))
        try:
            play(town, Path(folder))
        finally:
            town.close()
        for path in sorted(Path(folder).glob("*.jsonl")):
            packed = gzip.compress(path.read_bytes(), mtime=0)
            (LOOKS / f"{path.name}.gz").write_bytes(packed)
            looks = path.read_bytes().count(b"\n") - 1
            print(f"{path.name}: {looks} looks, {len(packed) / 1024:.0f} KiB")
        print("\n".join(reversed(town.log("%s"))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
