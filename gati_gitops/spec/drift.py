"""What follows when a cluster, or a file of the output, is not what was decided."""

from __future__ import annotations

from typing import Literal

DriftPolicy = Literal["report", "revert", "adopt"]
"""Tell it; bring back what was decided; or let Git say what people did, where a plan can say it."""
