"""Requests and results survive JSON; limits refuse what no kernel could honour."""

from __future__ import annotations

import json
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from executor.model import (
    Artifact,
    ChangedFile,
    Connection,
    Isolation,
    Layer,
    LeftOut,
    Limits,
    Refusal,
    Request,
    Result,
    Status,
    Stream,
    Usage,
)

text = st.text(max_size=20)
maybe_text = st.none() | text
count = st.integers(0, 2**53)
seconds = st.floats(0.001, 1e6)


def several(one: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(one, max_size=3).map(tuple)


limits = st.builds(
    Limits,
    **{
        field.name: seconds if field.name.endswith("_s") else st.integers(1, 2**53)
        for field in fields(Limits)
    },
)
requests = st.builds(
    Request,
    language=text,
    code=maybe_text,
    path=maybe_text,
    bind_file=maybe_text,
    files=st.dictionaries(text, st.binary(max_size=20), max_size=3),
    cwd=maybe_text,
    env=st.dictionaries(text, text, max_size=3),
    stdin=st.none() | st.binary(max_size=20),
    args=several(text),
    artifacts=several(text),
    timeout_s=st.none() | seconds,
    limits=st.none() | limits,
    profile=text,
    intent=maybe_text,
    background=st.booleans(),
    session=maybe_text,
)
streams = st.builds(Stream, text, text, count, count, count, count, st.booleans())
layers = st.builds(Layer, st.booleans(), text, text, text)
results = st.builds(
    Result,
    status=st.sampled_from(Status),
    exit_code=st.none() | st.integers(0, 255),
    signal=st.none() | st.integers(1, 64),
    stdout=streams,
    stderr=streams,
    usage=st.builds(Usage, seconds, seconds, st.none() | count, st.none() | count),
    isolation=st.builds(Isolation, text, st.dictionaries(text, layers, max_size=3)),
    artifacts=several(st.builds(Artifact, text, st.none() | count, maybe_text, text)),
    changed_files=several(st.builds(ChangedFile, text, text, st.none() | count, text)),
    changed_files_omitted=count,
    connections=several(st.builds(Connection, text, count, st.booleans(), text)),
    refusals=several(
        st.builds(
            Refusal,
            kind=text,
            target=text,
            by=text,
            certainty=text,
            count=count,
            remedy=text,
        )
    ),
    refusals_omitted=count,
    not_committed=several(st.builds(LeftOut, text, text, text)),
    changes_id=maybe_text,
    persists=st.booleans(),
    verdict=st.none() | st.dictionaries(text, text, max_size=2),
    output_id=maybe_text,
    phase=text,
    message=text,
    profile=text,
    toolchain=maybe_text,
)


@given(requests)
def test_a_request_survives_json(request: Request):
    assert Request.from_json(json.loads(json.dumps(request.to_json()))) == request


@given(results)
def test_a_result_survives_json(result: Result):
    assert Result.from_json(json.loads(json.dumps(result.to_json()))) == result


def test_a_request_needs_no_more_than_it_says():
    assert Request.from_json({"language": "shell", "code": "true"}) == Request("shell", "true")


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"language": "shell", "nonsense": 1},
        {"language": "shell", "stdin": "not base64!"},
        {"language": "shell", "files": {"a": "*"}},
        {"language": "shell", "limits": {"wall_s": -1}},
        {"language": "shell", "limits": {"speed": 1}},
    ],
)
def test_data_of_another_shape_is_refused(data):
    with pytest.raises((ValueError, TypeError)):
        Request.from_json(data)


@pytest.mark.parametrize("name", [field.name for field in fields(Limits)])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), True, "5", None])
def test_a_limit_is_a_positive_finite_number(name, value):
    with pytest.raises(ValueError, match=name):
        Limits(**{name: value})


def test_every_run_has_every_ceiling_by_default():
    assert all(getattr(Limits(), field.name) > 0 for field in fields(Limits))


@pytest.mark.parametrize(
    ("stream", "shown"),
    [
        (Stream(), ""),
        (Stream("all of it\n", "", 10, 1), "all of it\n"),
        (Stream("a\n", "z\n", 9, 4, 5, 2), "a\n[… 5 bytes, 2 lines left out …]\nz\n"),
        (Stream("a", "z", 9, 0, 7, 0), "a\n[… 7 bytes, 0 lines left out …]\nz"),
        (Stream("", "z", 9, 0, 8, 0), "[… 8 bytes, 0 lines left out …]\nz"),
    ],
)
def test_a_stream_is_shown_whole_or_with_its_gap_counted(stream, shown):
    assert stream.text == shown


def test_only_success_is_ok():
    assert [status for status in Status if Result(status).ok] == [Status.OK]
