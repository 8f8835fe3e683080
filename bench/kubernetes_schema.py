"""Derive what merging must know about Kubernetes from the schema that kustomize itself embeds.

    bench/kubernetes_schema.py [kyaml module folder] > gati_gitops/render/data/kubernetes.json

Two facts per kind: whether it is cluster-scoped, and which of its lists merge by which keys.
Everything else of the schema (a megabyte of descriptions) is left out, and so is every field
under which no list merges.
"""

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from gati_gitops.render.openapi import Definitions

PRECOMPUTED = re.compile(r'\{APIVersion: "([^"]+)", Kind: "([^"]+)"\}:\s*(true|false)')


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else newest_kyaml()
    print(json.dumps(derive(folder), indent=1, sort_keys=True))


def newest_kyaml() -> Path:
    cache = subprocess.check_output(["go", "env", "GOMODCACHE"], text=True).strip()
    return max(Path(cache).glob("sigs.k8s.io/kustomize/kyaml@*"))


def derive(folder: Path) -> dict[str, Any]:
    bundle = next((folder / "openapi/kubernetesapi/data").glob("*.json.gz"))
    with gzip.open(bundle) as file:
        data = json.load(file)
    source = (folder / "openapi/openapi.go").read_text()
    known = {f"{api} {kind}": flag == "true" for api, kind, flag in PRECOMPUTED.findall(source)}
    for resource in data["resources"]:
        name = f"{resource['apiVersion']} {resource['kind']}"
        if resource.get("scope") == "Cluster" and name not in known:
            # kustomize would know this only after its first merge: the scope would come and go.
            raise SystemExit(f"{name}: a scope that is not in kustomize's fixed table")
    definitions = Definitions(data["definitions"])
    kinds = definitions.kinds()
    return {
        "cluster": sorted(kind for kind, namespaced in known.items() if not namespaced),
        "kinds": kinds,
        "nodes": definitions.nodes,
    }


if __name__ == "__main__":
    main()
