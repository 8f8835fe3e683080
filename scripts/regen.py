"""Write what is generated: CRDs, all folders of examples/shop, its schemas, docs/errors.md.

    python scripts/regen.py           compile on top of what stands there, as a merge would
    python scripts/regen.py --anew    forget all of it and play the shop's story from its beginning

The compiler never decides a rollout, so a tree from specs alone would show no canary, no promoted
prod and no tombstone. The story below gives the shop a past: earlier specs, and what people and the
rollout decided. It is only needed again when a kept release folder should follow the compiler.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from gati_gitops.compiler import Compilation, compile_specs
from gati_gitops.disk.snapshot import DiskSnapshot
from gati_gitops.disk.specs import read_specs
from gati_gitops.disk.writer import Held, apply, locked, recover
from gati_gitops.ledger.model import WEIGHTED, Entry, Ledger, Phase
from gati_gitops.ledger.store import ledger_data, ledger_from
from gati_gitops.report.rules import RULES
from gati_gitops.spec.crds import crd_files
from gati_gitops.spec.load import load
from gati_gitops.spec.schema_editor import COMBINED, ENVIRONMENT, json_schema_files
from gati_gitops.tree import OWNED
from gati_gitops.yamlio.emit import dump
from gati_gitops.yamlio.strict import read

ROOT = Path(__file__).resolve().parent.parent
SHOP = ROOT / "examples" / "shop"

# The shop of last month: file → what was written there instead of what is there now.
EARLIER = {
    "storefront/cart.yaml": ("1.12.0", "1.11.0"),
    "storefront/checkout.yaml": ("2.4.0", "2.3.1"),
    "storefront/reviews.yaml": ("1.6.0", "1.5.2"),
}


@dataclass(frozen=True)
class Decision:
    """What was decided for one unit in one environment: a phase per version."""

    env: str
    unit: str
    phases: Mapping[str, str]
    """``Active 90`` and the like; a version that is not named stays as it is."""
    hold: str = ""
    comment: str = ""
    only: str = ""
    """The one cluster that it was decided for."""


TSV_3, TSV_4 = "tsv:1761904800-recommendations-003", "tsv:1762509600-recommendations-004"
PINNED = {TSV_4: "Active 100", TSV_3: "Draining"}
CART = "storefront/handler-cart"
CHECKOUT = "storefront/handler-checkout"
ORDERS = "fulfilment/handler-orders"
PAYMENTS = "fulfilment/handler-payments"
RECOMMENDATIONS = "storefront/handler-recommendations"
REVIEWS = "storefront/handler-reviews"

DECISIONS = (
    # dev takes everything at once.
    Decision("dev", CHECKOUT, {"v2.4.0": "Active 100", "v2.3.1": "Parked"}),
    Decision("dev", CART, {"v1.12.0": "Active 100", "v1.11.0": "Removed"}),
    Decision("dev", REVIEWS, {"v1.6.0": "Active 100", "v1.5.2": "Removed"}),
    Decision("dev", ORDERS, {"v2.8.2": "Draining"}),
    Decision("dev", RECOMMENDATIONS, PINNED),
    # staging is at the first step of checkout's canary, and did not like the new reviews.
    Decision("staging", CHECKOUT, {"v2.4.0": "Canary 10", "v2.3.1": "Active 90"}),
    Decision("staging", CART, {"v1.12.0": "Active 100", "v1.11.0": "Removed"}),
    Decision("staging", REVIEWS, {"v1.6.0": "Rejected", "v1.5.2": "Active 100"}),
    Decision("staging", ORDERS, {"v2.8.2": "Draining"}),
    Decision("staging", RECOMMENDATIONS, PINNED),
    # prod has what staging proved; checkout, orders and reviews wait there as Pending.
    Decision("prod", CART, {"v1.12.0": "Active 100", "v1.11.0": "Removed"}),
    Decision(
        "prod",
        PAYMENTS,
        {},
        hold="certificates of the payment provider are being exchanged",
        comment="asked for by the payments team; release it after their go",
        only="eu-1",
    ),
)


def main(arguments: list[str]) -> int:
    """Compile on top, or play the story first."""
    if arguments not in ([], ["--anew"]):
        print(__doc__, file=sys.stderr)
        return 2
    write_crds(ROOT / "gati_gitops" / "spec" / "shipped")
    with locked(ROOT) as root:
        recover(root)
        if arguments:
            for folder in OWNED:
                shutil.rmtree(root / folder, ignore_errors=True)
            play(SHOP, root)
        result = compiled(specs(SHOP), root)
    print(f"{len(result.changes)} files changed")
    write_schemas(SHOP / ".gati")
    write_codes(ROOT / "docs" / "errors.md")
    return 0


def write_crds(folder: Path) -> None:
    """The CRDs that the package ships, from the models; everything else compiles with these."""
    folder.mkdir(exist_ok=True)
    for name, content in crd_files().items():
        (folder / name).write_bytes(content)


def play(shop: Path, root: Held) -> None:
    """The shop's past, from its first publish to today."""
    compiled(specs(shop, earlier=True), root)
    decide_all(root, _first_promotion(root))
    compiled(specs(shop), root)
    decide_all(root, DECISIONS)


def specs(shop: Path, *, earlier: bool = False) -> list[tuple[str, bytes]]:
    """The shop's files, as they are or as they were."""
    files = dict(read_specs(str(shop)))
    for name, (now, then) in EARLIER.items() if earlier else ():
        files[name] = files[name].replace(now.encode(), then.encode())
    return sorted(files.items())


def compiled(files: list[tuple[str, bytes]], root: Held) -> Compilation:
    """Compile files on top of a folder."""
    result = compile_specs(load(files), DiskSnapshot(root), upgrade=True)
    apply(root, result.changes)
    return result


def decide_all(root: Path, decisions: Iterator[Decision] | tuple[Decision, ...]) -> None:
    """Write decisions into the ledgers that they are about."""
    for decision in decisions:
        pattern = f"overlays/{decision.env}/{decision.only or '*'}/{decision.unit}/rollout.yaml"
        for path in sorted(root.glob(pattern)):
            path.write_bytes(_decided(path.read_bytes(), decision))


def write_schemas(folder: Path) -> None:
    """The editor's schemas, as ``init`` puts them beside specs."""
    folder.mkdir(exist_ok=True)
    for name, content in json_schema_files().items():
        if name in (COMBINED, ENVIRONMENT):
            (folder / name).write_bytes(content)


def write_codes(document: Path) -> None:
    """The table of codes, from the one place that explains them."""
    rows = "".join(f"| `{code}` | {why} | {fix} |\n" for code, (why, fix) in sorted(RULES.items()))
    text = document.read_text()
    document.write_text(
        re.sub(r"(?m)(^\|---.*\n)(?:\|.*\n)*", lambda m: m[1] + rows, text, count=1)
    )


def _first_promotion(root: Path) -> Iterator[Decision]:
    """What waits in prod becomes Active there; of two units also, or only, the version before."""
    before = {ORDERS: {"v2.8.2": "Active 100"}, RECOMMENDATIONS: PINNED}
    for path in sorted(root.glob("overlays/prod/eu-1/*/*/rollout.yaml")):
        unit = "/".join(path.parts[-3:-1])
        target = _ledger(path.read_bytes()).target
        yield Decision("prod", unit, before.get(unit, {target: "Active 100"}))


def _decided(content: bytes, decision: Decision) -> bytes:
    old = _ledger(content)
    new = replace(old, seq=old.seq + 1, hold=decision.hold)
    entries = [_moved(entry, decision.phases.get(entry.id), decision) for entry in old.entries]
    new = new.with_entries(entries)
    new = replace(new, key=sha256(repr(new).encode()).hexdigest()[:12])
    header = content.split(b"\n", 1)[0].removeprefix(b"# ").decode()
    written = dump(ledger_data(new), header)
    if decision.comment:
        written = written.replace(b"\nhold:", f"\n# {decision.comment}\nhold:".encode())
    return written


def _moved(entry: Entry, wanted: str | None, decision: Decision) -> Entry:
    if wanted is None:
        return entry
    name, _, weight = wanted.partition(" ")
    phase = Phase(name)
    image = ""
    if phase is Phase.REMOVED:
        unit = decision.unit.rpartition("-")[2]
        image = f"registry.shop.example/{unit}:{entry.id.removeprefix('v')}"
    share = int(weight) if phase in WEIGHTED else 0
    return replace(entry, phase=phase, weight=share, image=image)


def _ledger(content: bytes) -> Ledger:
    return ledger_from(read(content, "rollout.yaml").documents[0].value, "rollout.yaml")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
