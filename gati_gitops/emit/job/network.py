"""Whom the job may talk to: DNS, the API server, the repository, what it asks; and who scrapes it.

A NetworkPolicy knows addresses and labels, not names of hosts. So a port of any address is opened
where nobody says more; ``job.apiServer`` and ``job.egress`` do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from gati_gitops.emit.job.workload import head
from gati_gitops.emit.objects.meta import Object
from gati_gitops.emit.objects.network_policy import API, dns_rule, from_rule, outbound_rule
from gati_gitops.plan.calls import rules
from gati_gitops.plan.job import PORT, PORTS, JobPlan
from gati_gitops.plan.reach import Outbound

_IN_CLUSTER = re.compile(r"[a-z0-9-]+\.(?P<namespace>[a-z0-9-]+)\.svc(\.[a-z0-9.-]+)?")


def network_policy(plan: JobPlan) -> Object | None:
    """None where no policies are wanted."""
    fence = plan.fence
    if fence is None:
        return None
    found = head(plan, API, "NetworkPolicy")
    spec: Object = {
        "podSelector": {"matchLabels": plan.instance if plan.answering else plan.selector},
        "policyTypes": ["Ingress", "Egress"],
    }
    if plan.scraped and fence.monitoring:
        spec["ingress"] = [from_rule((fence.monitoring,), (PORT,))]
    spec["egress"] = [
        dns_rule(fence.dns_namespace, fence.dns_port, fence.dns_cidr),
        *(outbound_rule(rule) for rule in dict.fromkeys(_outbound(plan))),
    ]
    found["spec"] = spec
    return found


def _outbound(plan: JobPlan) -> Iterator[Outbound]:
    server = plan.settings.api_server
    found = [Outbound(cidr=cidr, ports=tuple(server.ports)) for cidr in server.cidrs]
    anywhere = set() if server.cidrs else set(server.ports)
    if plan.settings.egress:
        found += rules(plan.settings.egress)
    else:
        anywhere.add(plan.repository_port)
        for _, address in plan.called:
            namespace, port = reached(address)
            found += [Outbound(namespace=namespace)] if namespace else []
            anywhere |= {port} if port else set()
    if anywhere:
        yield Outbound(to="anywhere", ports=tuple(sorted(anywhere)))
    yield from found


def reached(address: str) -> tuple[str, int]:
    """Of a Service here its namespace, whatever port its pods have; else the address's own port."""
    parts = urlsplit(address)
    inside = _IN_CLUSTER.fullmatch(parts.hostname or "")
    if inside is not None:
        return inside["namespace"], 0
    try:
        return "", parts.port or PORTS.get(parts.scheme, 0)
    except ValueError:  # a variable may hold anything
        return "", 0
