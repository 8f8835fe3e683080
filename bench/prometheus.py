"""One look at a real Prometheus that holds a fleet: 1,000 units of 3 versions with 2 pods each.

Every pod has six series and every version two of the gateway's, with a sample of each every 15
seconds. They are scraped several at a time and say themselves when they are of, some of them in
minutes to come: so a look finds as many as in a window of a server that has run for long. Then the
same look is recorded and read back.

python bench/prometheus.py [--smoke] [--units N]
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.cluster import pod_name
from gati_gitops.decide.observation import EdgeSeries, Telemetry
from gati_gitops.ledger.model import Entry, Phase
from gati_gitops.ledger.stored import Stored
from gati_gitops.observe.prometheus import Prometheus
from gati_gitops.observe.recording import Look, Recorder, read_recording
from gati_gitops.observe.wanted import Wanted
from gati_gitops.output import UnitKey
from gati_gitops.spec.metrics import Evidence, MetricSource
from tests.compile.kit import handler
from tests.observe.kit import units
from tests.servers.prometheus import Pod, RealPrometheus

SMOKE = "--smoke" in sys.argv
UNITS = int(sys.argv[sys.argv.index("--units") + 1]) if "--units" in sys.argv else 1000
VERSIONS, PODS, SCRAPE, WINDOW, ROUNDS = 3, 2, 15, 390, 5
AHEAD = 300
"""Seconds to come that samples are made for."""
TOGETHER = 4
"""Samples of a series that are scraped at once."""
CONFIG = """
global: {{{{scrape_interval: {seconds}s, scrape_timeout: {seconds}s}}}}
scrape_configs:
- job_name: all
  honor_labels: true
  file_sd_configs: [{{{{files: ['{{folder}}/targets.json'], refresh_interval: 1s}}}}]
"""


def fleet(count: int) -> dict[UnitKey, Stored]:
    """Many units with three deployed versions; the stored plan of one, under other names."""
    (stored,) = units(handler(), scrape=SCRAPE).values()
    found = {}
    for number in range(count):
        unit = replace(stored.plan.unit, name=f"things-{number}")
        first = stored.plan.versions[0]
        versions = tuple(
            replace(first, id=f"v{n}", name=unit.version_name(f"v{n}"), digest=f"d{n}")
            for n in range(VERSIONS)
        )
        assert stored.ledger is not None
        entries = [Entry(v.id, v.digest, Phase.DRAINING) for v in versions[1:]]
        entries.append(Entry(versions[0].id, versions[0].digest, Phase.ACTIVE, 100))
        plan = replace(stored.plan, unit=unit, versions=versions)
        found[unit.key] = replace(stored, plan=plan, ledger=stored.ledger.with_entries(entries))
    return found


def exposition(found: Mapping[UnitKey, Stored], step: int, at: float) -> list[str]:
    """What all pods and the gateway show at one time."""
    stamp = int(at * 1000)
    gateway = 'job="traefik",namespace="gateway",pod="traefik-0"'
    lines = [f"up{{{gateway}}} 1 {stamp}"]
    for stored in found.values():
        for version in stored.plan.versions:
            place = (
                f'namespace="shop",gati_unit="{stored.plan.unit.object_name}",'
                f'gati_version="{version.id}",job="shop/things",endpoint="http",container="app"'
            )
            for number in range(PODS):
                name = pod_name(version.name, number)
                pod = f'{place},pod="{name}",instance="10.0.0.{number}:3000"'
                asked = f'{pod},method="GET",route="/things/:id",status_code'
                bucket = f'gati_http_request_duration_seconds_bucket{{{asked}="200",le'
                lines += [
                    f"up{{{pod}}} 1 {stamp}",
                    f'gati_http_requests_total{{{asked}="200"}} {1000 + 700 * step} {stamp}',
                    f'gati_http_requests_total{{{asked}="500"}} 3 {stamp}',
                    f'{bucket}="0.5"}} {990 + 699 * step} {stamp}',
                    f'{bucket}="+Inf"}} {1000 + 700 * step} {stamp}',
                    f"gati_active_connections{{{pod}}} {step % 3} {stamp}",
                ]
            backend = f"shop-{version.name}-http-{version.port}@kubernetesgateway"
            counted = f'{gateway},service="{backend}",method="GET",protocol="http",code'
            lines += [
                f'traefik_service_requests_total{{{counted}="200"}} {1400 * step} {stamp}',
                f'traefik_service_requests_total{{{counted}="500"}} 3 {stamp}',
            ]
    return lines


@contextmanager
def filled(folder: Path, found: Mapping[UnitKey, Stored]) -> Iterator[RealPrometheus]:
    """A Prometheus that has scraped all of it, from before the window until some time to come."""
    server = RealPrometheus(folder, CONFIG.format(seconds=1 + len(found) // 500))
    try:
        page = server.pods.add(Pod("fleet", {}))
        server.publish()
        start = time.time() - WINDOW - 2 * SCRAPE
        count = int(WINDOW + AHEAD) // SCRAPE + 2
        for first in range(0, count, TOGETHER):
            lines = [
                line
                for step in range(first, min(first + TOGETHER, count))
                for line in exposition(found, step, start + SCRAPE * step)
            ]
            page.behaviour = "\n".join([*lines, f"fleet_page {first}", ""])
            server.wait(lambda first=first: _scraped(server, first), 300)
        page.behaviour = "nothing 1\n"
        yield server
    finally:
        server.end()


def _scraped(server: RealPrometheus, page: int) -> bool:
    found = server.ask("fleet_page")
    return bool(found) and found[0]["value"][1] == str(page)


def main() -> None:
    count = 20 if SMOKE else UNITS
    found = fleet(count)
    with tempfile.TemporaryDirectory() as folder:
        with filled(Path(folder) / "prometheus", found) as server:
            source = MetricSource(
                url=server.url,
                evidence=Evidence(gateway="traefik", in_flight="gati_active_connections"),
            )
            prometheus = Prometheus(source)
            wanted = Wanted("east", found, float(WINDOW), (0.5,))
            best, seen = 1e9, None
            for _ in range(1 if SMOKE else ROUNDS):
                start, cpu = time.perf_counter(), time.process_time()
                seen = prometheus.look(wanted)
                taken, used = time.perf_counter() - start, time.process_time() - cpu
                effort = prometheus.effort
                print(
                    f"look: {taken:.2f} s, of that {used:.2f} s CPU here; {effort.queries} queries,"
                    f" {effort.series} series, {effort.bytes / 1e6:.1f} MB of JSON"
                )
                best = min(best, taken)
        assert isinstance(seen, dict), seen
        some = next(iter(next(iter(seen.values())).values()))
        assert isinstance(some, Telemetry), some
        assert isinstance(some.edge, EdgeSeries), some.edge
        assert len(some.pods) == PODS
        assert len(seen) == count
        recording(Path(folder) / "recording", seen)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{count} units x {VERSIONS} versions x {PODS} pods: {best:.2f} s, {memory:.0f} MiB")


def recording(path: Path, seen: dict[UnitKey, dict[str, Telemetry]]) -> None:
    recorder = Recorder(path)
    look = Look("east", 1.0, {}, seen)
    start = time.perf_counter()
    recorder.write(look)
    written = time.perf_counter() - start
    start = time.perf_counter()
    (again,) = read_recording(path)
    read = time.perf_counter() - start
    assert again == look
    size = path.stat().st_size / 1e6
    print(f"recorded in {written:.2f} s, {size:.2f} MB; read in {read:.2f} s")


if __name__ == "__main__":
    main()
