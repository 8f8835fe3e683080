"""Traces, sent to a real OTLP receiver on this machine."""

from __future__ import annotations

import gzip
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from gati_gitops.errors import Refused
from gati_gitops.reconcile.announce import Announcer, Pass
from gati_gitops.reconcile.traces import Traces, traces, wanted


class Receiver:
    """Takes spans as a collector does."""

    def __init__(self):
        self.spans, self.resources, self.headers, self.status = [], [], [], 200
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                outer.headers.append((self.path, dict(self.headers)))
                for group in ExportTraceServiceRequest.FromString(body).resource_spans:
                    outer.resources.append(
                        {a.key: a.value.string_value for a in group.resource.attributes}
                    )
                    outer.spans += [span for scope in group.scope_spans for span in scope.spans]
                self.send_response(outer.status)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def receiver():
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.fixture
def environ(monkeypatch):
    """What the SDK reads itself, it reads in the process's own environment."""

    def said(**values: str) -> dict[str, str]:
        for name, value in values.items():
            monkeypatch.setenv(name, value)
        return values

    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_TRACES_EXPORTER", "OTEL_SERVICE_NAME"):
        monkeypatch.delenv(name, raising=False)
    return said


def one_pass(made: Traces) -> list[tuple[str, str]]:
    """A pass with all its parts; the ids that log lines would have."""
    announce, ids = Announcer([made]), []
    announce.started(Pass(1, 1.0))
    with announce.span("pass", number="1"):
        ids.append(made.current())
        for part in ("observe", "decide", "commit"):
            with announce.span(part, env="prod"):
                ids.append(made.current())
    ids.append(made.current())
    announce.ended(Pass(1, 1.0), 2.0)
    return ids


def test_a_pass_is_one_trace_with_its_parts(receiver, environ):
    said = environ(
        OTEL_EXPORTER_OTLP_ENDPOINT=receiver.url,
        OTEL_EXPORTER_OTLP_HEADERS="x-tenant=shop",
        OTEL_RESOURCE_ATTRIBUTES="deployment.environment=prod",
    )
    failed: list[str] = []
    made = traces(said, failed.append)
    ids = one_pass(made)
    made.close()
    assert failed == []
    spans = {span.name: span for span in receiver.spans}
    assert set(spans) == {"pass", "observe", "decide", "commit"}
    root = spans.pop("pass")
    assert {span.trace_id for span in spans.values()} == {root.trace_id}
    assert {span.parent_span_id for span in spans.values()} == {root.span_id}
    assert {a.key: a.value.string_value for a in root.attributes} == {"gati.number": "1"}
    assert ids[0] == (root.trace_id.hex(), root.span_id.hex()), "log lines belong to the span"
    assert ids[1] == (root.trace_id.hex(), spans["observe"].span_id.hex())
    assert ids[-1] == ids[0], "what is told after it belongs to it"
    path, headers = receiver.headers[0]
    assert path == "/v1/traces" and headers["x-tenant"] == "shop"
    resource = receiver.resources[0]
    assert resource["service.name"] == "gati-gitops"
    assert resource["deployment.environment"] == "prod"


def test_the_service_is_called_as_the_environment_says(receiver, environ):
    made = traces(
        environ(OTEL_EXPORTER_OTLP_ENDPOINT=receiver.url, OTEL_SERVICE_NAME="watcher"), print
    )
    one_pass(made)
    made.close()
    assert receiver.resources[0]["service.name"] == "watcher"


def test_an_error_is_in_its_span(receiver, environ):
    made = traces(environ(OTEL_EXPORTER_OTLP_ENDPOINT=receiver.url), print)
    with pytest.raises(ValueError, match="no answer"), Announcer([made]).span("observe"):
        raise ValueError("no answer")
    made.close()
    (span,) = receiver.spans
    assert span.status.code == 2
    assert span.events[0].name == "exception"


def test_a_collector_that_is_away_is_told_and_delays_nobody(environ):
    failed: list[str] = []
    made = traces(
        environ(OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:1", OTEL_EXPORTER_OTLP_TIMEOUT="1"),
        failed.append,
    )
    before = time.monotonic()
    one_pass(made)
    assert time.monotonic() - before < 0.5
    made.close()
    assert time.monotonic() - before < 15
    assert failed, "spans were lost, and nobody knows"


@pytest.mark.parametrize(
    ("environ", "answer"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x"}, True),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_TRACES_EXPORTER": "none"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_SDK_DISABLED": "TRUE"}, False),
    ],
)
def test_when_traces_are_sent(environ, answer):
    assert wanted(environ) is answer


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"OTEL_TRACES_EXPORTER": "zipkin"}, "only otlp"),
        ({"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "http/protobuf"),
    ],
)
def test_what_cannot_be_sent_is_refused(environ, words):
    with pytest.raises(Refused, match=words):
        traces(environ, print)


def test_without_a_collector_there_are_ids_all_the_same():
    ids = one_pass(traces({}, print))
    assert len({trace for trace, _ in ids}) == 1
    assert len({span for _, span in ids}) == 5 - 0
    assert all(len(trace) == 32 and len(span) == 16 for trace, span in ids)


def test_without_the_library_it_is_said_what_to_install(monkeypatch):
    import builtins

    real = builtins.__import__

    def without(name, *rest):
        if name.startswith("opentelemetry"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(Refused, match="not installed") as caught:
        traces({"OTEL_TRACES_EXPORTER": "otlp"}, print)
    assert "gati-gitops[otel]" in caught.value.remedy
