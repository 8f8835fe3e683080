"""The quick way to read samples gives what the ordinary way gives, whatever stands around them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gati_gitops.observe.prometheus_parse import parsed

numbers = st.floats() | st.integers(0, 10**12)
texts = st.text(max_size=12) | st.sampled_from(['"values":[[1,"2"]]', "]]", '\\"', "values", "[["])
pairs = st.lists(st.tuples(st.floats(0, 2e9), numbers.map(str)), max_size=4)
series = st.fixed_dictionaries(
    {"metric": st.dictionaries(texts, texts, max_size=3), "values": pairs}
)


def restored(body: bytes):
    """What was cut out, put back."""
    said, samples = parsed(body)

    def walk(value):
        if isinstance(value, dict):
            return {
                key: _pairs(samples[item])
                if key == "values" and isinstance(item, int)
                else walk(item)
                for key, item in value.items()
            }
        return [walk(item) for item in value] if isinstance(value, list) else value

    return walk(said)


def _pairs(found):
    return [[time, value] for time, value in zip(*found, strict=True)]


def plain(body: bytes):
    def walk(value):
        if isinstance(value, dict):
            return {
                key: [[time, float(text)] for time, text in item]
                if key == "values" and isinstance(item, list)
                else walk(item)
                for key, item in value.items()
            }
        return [walk(item) for item in value] if isinstance(value, list) else value

    return walk(json.loads(body))


@given(items=st.lists(series, max_size=4), compact=st.booleans(), ascii_only=st.booleans())
def test_both_ways_give_the_same(items, compact, ascii_only):
    separators = (",", ":") if compact else (", ", ": ")
    body = json.dumps({"result": items}, separators=separators, ensure_ascii=ascii_only).encode()
    wanted = plain(body) if parsed(body)[1] else json.loads(body)
    assert repr(restored(body)) == repr(wanted)  # NaN is not equal to itself


def test_the_usual_form_is_read_quickly():
    body = (
        b'{"result":[{"metric":{"a":"]]"},"values":[[1.5,"2"],[3,"+Inf"]]},{"values":[[1,"NaN"]]}]}'
    )
    said, samples = parsed(body)
    assert said == {"result": [{"metric": {"a": "]]"}, "values": 0}, {"values": 1}]}
    assert samples[0] == ((1.5, 3.0), (2.0, float("inf")))
    assert len(samples) == 2


@pytest.mark.parametrize(
    "body",
    [
        b'{"values":[[1,"2"',
        b'{"values":[[1,"2"]]',
        b'{"values":[[',
        b"",
        b"<html>",
        b'{"values":[[1,"x"]]}}',
    ],
)
def test_what_is_no_json_is_refused(body):
    with pytest.raises(json.JSONDecodeError):
        parsed(body)


@pytest.mark.parametrize(
    "odd",
    ['[[1,"2",3]]', '[["1",2,"3"]]', '[[1,["2"]]]', '[[1,"two"]]', '[[1,"2"],{}]', "[[]]"],
)
def test_what_is_not_as_usual_is_read_the_ordinary_way(odd):
    body = f'{{"values":{odd}}}'.encode()
    assert parsed(body) == (json.loads(body), [])
