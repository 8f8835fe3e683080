"""A ledger that a person has broken is refused in words that lead to the fault."""

import pytest

from gati_gitops.errors import Refused
from gati_gitops.ledger.store import ledger_from

ENTRY = {"id": "v1", "phase": "Active", "weight": 100, "digest": "ab"}
LEDGER = {"format": 1, "seq": "1 ab", "target": "v1", "versions": [ENTRY]}


def test_it_reads_what_is_right():
    assert ledger_from(LEDGER, "rollout.yaml").entries[0].id == "v1"


@pytest.mark.parametrize(
    "change, said",
    [
        ({"seq": "one"}, "seq 'one' is no number"),
        ({"versions": 3}, "versions is no list"),
        ({"versions": ["v1"]}, "'v1' is no version"),
        ({"versions": [{**ENTRY, "phase": "Actve"}]}, "there is no phase 'Actve'; it is one of Pe"),
        ({"versions": [{**ENTRY, "phase": ["Active"]}]}, "there is no phase ['Active']"),
        ({"versions": [{"id": "v1"}]}, "'phase' is missing"),
        ({"versions": [{**ENTRY, "weight": 60}]}, "the weights sum to 60, not to 100"),
        ({"versions": [{**ENTRY, "weight": "100"}]}, "weight '100' is no number from 0 to 100"),
        ({"versions": [ENTRY, ENTRY]}, "the weights sum to 200"),
    ],
)
def test_what_is_wrong_is_named(change, said):
    with pytest.raises(Refused) as caught:
        ledger_from({**LEDGER, **change}, "rollout.yaml")
    assert str(caught.value).startswith("rollout.yaml can't be read: ")
    assert said in str(caught.value)
    assert "Error" not in str(caught.value)
    assert "restore it from Git" in caught.value.remedy
