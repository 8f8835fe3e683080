"""Building blocks of the kinds: strict models and the value types that Kubernetes bounds.

Every bound here is one that the API server or a controller enforces later anyway. The reader, the
CRD generator and the editor schema all take it from these types, so it is stated once.
"""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

GROUP = "gati.dev"
API_VERSION: Final = "gati.dev/v1alpha1"


class Model(BaseModel):
    """A frozen object with camelCase fields; a field we don't know is an error, never dropped."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True, strict=True
    )


DNS_LABEL = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
DNS_SUBDOMAIN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
HOSTNAME = r"^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
LABEL_KEY = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"
)
LABEL_VALUE = r"^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$"
ENV_NAME = r"^[-._a-zA-Z][-._a-zA-Z0-9]*$"
QUANTITY = r"^[+]?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$"
DURATION = r"^([0-9]+(d|h|m|s|ms))+$"
# A reference without whitespace; registry, path, tag and digest as the image spec spells them.
IMAGE = (
    r"^[a-zA-Z0-9][a-zA-Z0-9._-]*(:[0-9]+)?(/[a-z0-9][a-z0-9._-]*)*"
    r"(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@[a-z0-9]+:[a-f0-9]{32,128})?$"
)

DnsLabel = Annotated[str, StringConstraints(pattern=DNS_LABEL, max_length=63, min_length=1)]
DnsSubdomain = Annotated[
    str, StringConstraints(pattern=DNS_SUBDOMAIN, max_length=253, min_length=1)
]
Hostname = Annotated[str, StringConstraints(pattern=HOSTNAME, max_length=253, min_length=1)]
LabelKey = Annotated[str, StringConstraints(pattern=LABEL_KEY, max_length=317)]
LabelValue = Annotated[str, StringConstraints(pattern=LABEL_VALUE, max_length=63)]
EnvName = Annotated[str, StringConstraints(pattern=ENV_NAME, max_length=253)]
Image = Annotated[str, StringConstraints(pattern=IMAGE, max_length=255)]
Port = Annotated[int, Field(ge=1, le=65535)]
Weight = Annotated[int, Field(ge=0, le=100)]
Replicas = Annotated[int, Field(ge=0, le=10000)]
Seconds = Annotated[int, Field(ge=1, le=86400)]
# Printable ASCII without spaces: it travels in the X-Gati-Version header.
VersionId = Annotated[str, StringConstraints(pattern=r"^[!-~]+$", min_length=1, max_length=253)]
RoutePath = Annotated[
    str, StringConstraints(pattern=r"^/[-A-Za-z0-9/._~!$&'()*+,;=:@%]*$", max_length=1024)
]
MountPath = Annotated[str, StringConstraints(pattern=r"^/[^:\x00-\x1f]*$", max_length=1024)]

_SUFFIX = {
    "": Decimal(1), "m": Decimal("0.001"), "k": Decimal(10) ** 3, "M": Decimal(10) ** 6,
    "G": Decimal(10) ** 9, "T": Decimal(10) ** 12, "P": Decimal(10) ** 15, "E": Decimal(10) ** 18,
    "Ki": Decimal(2) ** 10, "Mi": Decimal(2) ** 20, "Gi": Decimal(2) ** 30,
    "Ti": Decimal(2) ** 40, "Pi": Decimal(2) ** 50, "Ei": Decimal(2) ** 60,
}  # fmt: skip


@lru_cache(maxsize=4096)
def quantity(text: str) -> Decimal:
    """The number that a Kubernetes quantity stands for."""
    match = re.match(r"([+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)([A-Za-z]*)\Z", text)
    if match is None or match[2] not in _SUFFIX:
        raise ValueError(f"{text!r} is not a quantity")
    try:
        return Decimal(match[1]) * _SUFFIX[match[2]]
    except ArithmeticError:
        raise ValueError(f"{text!r} is not a quantity; write fewer digits") from None


def _quantity(value: str) -> str:
    quantity(value)
    return value


Quantity = Annotated[
    str, StringConstraints(pattern=QUANTITY, max_length=64), AfterValidator(_quantity)
]
Duration = Annotated[str, StringConstraints(pattern=DURATION, max_length=32)]

_UNIT_SECONDS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def seconds(duration: str) -> float:
    """``1h30m`` as seconds."""
    parts = re.findall(r"([0-9]+)(d|h|ms|m|s)", duration)
    return sum(int(number) * _UNIT_SECONDS[unit] for number, unit in parts)


class Metadata(Model):
    """What of an object's metadata means something to us; the rest belongs to the cluster."""

    model_config = ConfigDict(extra="ignore")

    name: DnsLabel
    namespace: DnsLabel = "default"
    labels: dict[LabelKey, LabelValue] = Field(default_factory=dict)
    annotations: dict[LabelKey, str] = Field(default_factory=dict)


Status = dict[str, Any]
"""Written by the cluster, read by nobody here, and never rendered."""
