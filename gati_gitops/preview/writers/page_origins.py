"""What the page says under the pointer: where each field of an object came from."""

from __future__ import annotations

from gati_gitops.preview.explain import Explainer, Origin, origins
from gati_gitops.preview.explain.files import scope_for
from gati_gitops.preview.model import ObjectChange
from gati_gitops.preview.writers.html import Origins
from gati_gitops.tree import Snapshot


def page_origins(explainer: Explainer, output: Snapshot) -> Origins:
    """For ``write_html``: the specs of the head, and what they compile to."""

    def tell(change: ObjectChange) -> dict[str, str]:
        if change.after is None or not change.folder:
            return {}
        path = f"{change.folder}/kustomization.yaml"
        scope = scope_for(explainer, output, path, change.after)
        found = origins(scope, change.after, path)
        return {field: _sentence(origin) for field, origin in found.items()}

    return tell


def _sentence(origin: Origin) -> str:
    source = " ".join(part for part in (origin.field, origin.place) if part)
    return f"{origin.sentence} ({source})" if source else origin.sentence
