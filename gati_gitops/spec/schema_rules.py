"""Rules across fields, in CEL: what a schema alone cannot say, told by the API server at once.

Each is the twin of a validator in the models. The API server refuses a CRD whose rules could cost
too much on the largest document that the schema admits, so a rule looks only at lists and maps
with a bound, and says ``has`` before it reads.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from gati_gitops.spec.common import ENV_NAME, LABEL_KEY
from gati_gitops.spec.network import Egress
from gati_gitops.spec.workload import (
    OF_PODS,
    Autoscaling,
    EnvRef,
    EnvSource,
    Metric,
    Resources,
    Volume,
    Workload,
)


def _one_of(*names: str) -> str:
    listed = ", ".join(f"has(self.{name})" for name in names)
    return f"[{listed}].filter(given, given).size() == 1"


def _needs(types: str, *names: str) -> tuple[str, str]:
    listed = [f"'{name}'" for name in types.split()]
    given = " && ".join(f"has(self.{name})" for name in names)
    return (
        f"!(self.type in [{', '.join(listed)}]) || ({given})",
        f"a metric of type {' or '.join(types.split())} needs {' and '.join(names)}",
    )


def _fits(resource: str, field: str) -> tuple[str, str]:
    low, high = f"self.requests.{field}", f"self.limits.{field}"
    return (
        (
            f"!has(self.requests) || !has(self.limits) || !has({low}) || !has({high})"
            f" || quantity({low}).compareTo(quantity({high})) <= 0"
        ),
        f"the {resource} request is above its limit",
    )


_RULES: dict[type[BaseModel], tuple[tuple[str, str], ...]] = {
    Resources: (
        _fits("cpu", "cpu"),
        _fits("memory", "memory"),
        _fits("ephemeral-storage", "ephemeral__dash__storage"),
    ),
    EnvRef: (
        (
            _one_of("secret", "configMap", "field"),
            "name exactly one of secret, configMap and field",
        ),
        ("has(self.field) || has(self.key)", "a secret or configMap reference needs a key"),
    ),
    EnvSource: ((_one_of("secret", "configMap"), "name exactly one of secret and configMap"),),
    Metric: (
        _needs("cpu memory", "utilization"),
        _needs("pods external", "name", "target"),
        _needs("prometheus", "query", "target"),
        _needs("cron", "timezone", "start", "end", "replicas"),
    ),
    Autoscaling: (
        (
            (
                "!has(self.max) || ((!has(self.min) || self.min <= self.max)"
                " && (!has(self.warmFloor) || self.warmFloor <= self.max))"
            ),
            "min and warmFloor must not be above max",
        ),
        (
            (
                "self.type != 'hpa' || !has(self.min) || self.min > 0"
                " || (has(self.warmFloor) && self.warmFloor > 0)"
            ),
            "an HPA cannot go to 0; use type keda, or min 1",
        ),
        (
            (
                "self.type != 'hpa' || !has(self.metrics)"
                " || !self.metrics.exists(m, m.type in ['prometheus', 'cron'])"
            ),
            "an HPA cannot follow a prometheus or cron metric; use type keda",
        ),
        (
            (
                "self.type != 'keda' || !has(self.metrics)"
                " || !self.metrics.exists(m, m.type in ['pods', 'external'])"
            ),
            "a ScaledObject cannot follow a pods or external metric; use type hpa",
        ),
        (
            (
                "self.type != 'keda' || !has(self.min) || self.min > 0"
                " || (has(self.warmFloor) && self.warmFloor > 0) || (has(self.metrics)"
                " && self.metrics.exists(m, m.type == 'cron' || (m.type == 'prometheus'"
                f" && has(m.query) && !m.query.matches('{OF_PODS}'))))"
            ),
            "at 0 pods nothing would ever wake it: add a metric of the gateway or a cron metric",
        ),
    ),
    Egress: (
        (_one_of("cidr", "namespace", "to"), "name exactly one of cidr, namespace and to"),
        ("!has(self.unit) || has(self.namespace)", "a unit needs the namespace that it is in"),
    ),
    Volume: (
        (
            _one_of("emptyDir", "configMap", "secret", "claim", "files"),
            "name exactly one of emptyDir, configMap, secret, claim and files",
        ),
    ),
    Workload: (
        (
            "!has(self.env) || !has(self.envRefs) || self.envRefs.all(name, !(name in self.env))",
            "a variable is set in env and in envRefs; keep one",
        ),
        (
            (
                "!has(self.volumes) || self.volumes.all(v,"
                " self.volumes.exists_one(w, w.mountPath == v.mountPath))"
            ),
            "a mount path is used twice",
        ),
    ),
}


def rules_of(model: type[BaseModel]) -> list[dict[str, Any]]:
    """The rules of a model and of those it extends, base first."""
    return [
        {"rule": rule, "message": message}
        for base in reversed(model.__mro__)
        if issubclass(base, BaseModel)
        for rule, message in _RULES.get(base, ())
    ]


_KEYS = {
    ENV_NAME: "a variable's name has letters, digits, '-', '_' and '.', and starts with no digit",
    LABEL_KEY: "a key is a name of at most 63 letters, digits, '-', '_' and '.', after an optional"
    " DNS prefix and '/'",
}


def keys_rule(bounds: dict[str, Any]) -> dict[str, Any]:
    """Bounds of a map's keys, which a structural schema has no word for."""
    checks = []
    pattern = bounds.get("pattern", "")
    if "maxLength" in bounds:
        checks.append(f"size(key) <= {bounds['maxLength']}")
    if pattern:
        checks.append(f"key.matches(r'{pattern}')")
    message = _KEYS.get(pattern, f"every key must match {pattern}")
    return {"rule": f"self.all(key, {' && '.join(checks)})", "message": message}
