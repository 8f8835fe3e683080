"""The report as one file that a browser opens: no script, no network, the look of our other pages.

All text that is put in is escaped, and the policy in the page allows its one style and nothing
else; so what people wrote into objects stays text.
"""

from __future__ import annotations

from importlib.resources import files

from gati_gitops.decide.drift.model import Report
from gati_gitops.preview.writers.sheet import STILL, fingerprint, style_of
from gati_gitops.reconcile.drift import told
from gati_gitops.report.clean import safe


def write_page(report: Report) -> str:
    """The whole page."""
    from jinja2 import Environment, StrictUndefined

    own = files("gati_gitops.reconcile.drift")
    style = style_of("look") + (own / "page.css").read_text(encoding="utf-8")
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: safe(value) if type(value) is str else value,
    )
    template = environment.from_string((own / "page.html.j2").read_text(encoding="utf-8"))
    return template.render(
        report=report,
        told=told,
        summary=told.summary(report),
        policy=STILL.format(style=fingerprint(style)),
        style=style,
    )
