"""Traces: what a pass spent its time on, for OpenTelemetry, and ids by which its log lines belong.

Every pass is a trace with the spans that it opens. Where the environment names a collector
(``OTEL_EXPORTER_OTLP_ENDPOINT`` and its kin, as every OpenTelemetry SDK reads them) they are sent
there; elsewhere there are only their ids.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from gati_gitops import __version__
from gati_gitops.errors import Refused
from gati_gitops.reconcile.announce import Listener, Pass

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Tracer

SERVICE = "gati-gitops"
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_FLUSH_MILLISECONDS = 5000
_SENDERS = "opentelemetry"
"""The logger of those who send spans."""


class Traces(Listener):
    """The trace of the pass under way."""

    def __init__(self, provider: TracerProvider | None = None) -> None:
        self._provider = provider
        self._tracer: Tracer | None = (
            provider.get_tracer(SERVICE, __version__) if provider else None
        )
        self._pass = ("", "")
        self._here: ContextVar[tuple[str, str] | None] = ContextVar("span", default=None)

    def current(self) -> tuple[str, str]:
        """The ids of the trace, and of the span in it, that this moment belongs to."""
        return self._here.get() or self._pass

    def started(self, this: Pass) -> None:
        self._pass = (token_hex(16), token_hex(8))

    @contextmanager
    def span(self, name: str, **attributes: str) -> Iterator[None]:
        if self._tracer is None:
            with self._at((self._pass[0] or token_hex(16), token_hex(8))):
                yield
            return
        said: dict[str, Any] = {f"gati.{key}": value for key, value in attributes.items()}
        with self._tracer.start_as_current_span(name, attributes=said) as span:
            context = span.get_span_context()
            ids = (f"{context.trace_id:032x}", f"{context.span_id:016x}")
            if self._here.get() is None:  # what is told after it belongs to it, too
                self._pass = ids
            with self._at(ids):
                yield

    @contextmanager
    def _at(self, ids: tuple[str, str]) -> Iterator[None]:
        token = self._here.set(ids)
        try:
            yield
        finally:
            self._here.reset(token)

    def close(self) -> None:
        """Send what has not been sent, within seconds."""
        if self._provider is not None:
            self._provider.force_flush(_FLUSH_MILLISECONDS)
            self._provider.shutdown()


def wanted(environ: Mapping[str, str]) -> bool:
    """Whether the environment says where spans go."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    exporter = environ.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    if exporter not in ("", "none", "otlp"):
        raise Refused(
            f"OTEL_TRACES_EXPORTER is {exporter}, and only otlp is known here",
            remedy="set it to otlp, or to none",
        )
    named = any(environ.get(name, "").strip() for name in _ENDPOINTS)
    return exporter != "none" and (named or exporter == "otlp")


def traces(environ: Mapping[str, str], failed: Callable[[str], None]) -> Traces:
    """As the environment wants them; ``failed`` hears of spans that could not be sent."""
    if not wanted(environ):
        return Traces()
    protocol = environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or environ.get(
        "OTEL_EXPORTER_OTLP_PROTOCOL", ""
    )
    if protocol not in ("", "http/protobuf"):
        raise Refused(
            f"traces are sent by http/protobuf, and OTEL_EXPORTER_OTLP_PROTOCOL is {protocol}",
            remedy="set it to http/protobuf, and the endpoint to the collector's http port",
        )
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise Refused(
            "the environment names a collector of traces, and what sends them is not installed",
            remedy="install gati-gitops[otel], or set OTEL_SDK_DISABLED=true",
        ) from None
    said = {} if environ.get("OTEL_SERVICE_NAME") else {"service.name": SERVICE}
    resource = Resource.create({**said, "service.version": __version__})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    _overheard(failed)
    return Traces(provider)


class _Ear(logging.Handler):
    """Hears what the senders of spans complain of, since they raise nothing."""

    def __init__(self, failed: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._failed = failed

    def emit(self, record: logging.LogRecord) -> None:
        self._failed(record.getMessage())


def _overheard(failed: Callable[[str], None]) -> None:
    logger = logging.getLogger(_SENDERS)
    logger.handlers = [_Ear(failed)]
    logger.propagate = False
