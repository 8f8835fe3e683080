"""Random kustomizations: bases, overlays, components and patches over common kinds, with odd values."""

import json
from typing import Any

from hypothesis import strategies as st

NAMES = ["app", "web", "db", "api-server", "cm", "x1"]
NAMESPACES = ["", "default", "shop", "infra"]
# Spelled as they will stand in the file: scalars that readers disagree about are the point.
SCALARS = [
    "a", "nginx", '"quoted"', "'single'", '"8080"', "8080", "0", "-1", "1.5", "1.0", "1e3", "0x1F", "0777",
    "0o14", "1_000", "true", '"true"', "yes", '"no"', "on", "null", '"null"', "~", "", '""', "2020-01-01",
    '"2020-01-01"', "12:30:45", "a b", "a: b" and '"a: b"', '"a #b"', "a#b", "/path/to", "-flag", "--x=y",
    '"-"', '"*"', "50%", "100m", "1Gi", '"line\\nbreak"', '"tab\\there"', '"é"', "é", '"\\u263a"', '" lead"',
    '"trail "', "$(VAR)", "${X}", "=", "<a>", '"<a>&"', ".5", "+1", "1e+10", "12345678901234567890", "y", "N",
    '"a very long line of text that goes on and on until it is well beyond eighty characters in width"',
    "'it''s'", '"say \\"hi\\""', "foo:bar", "registry:5000/img:1.2", "img@sha256:abc", "1234567", "1000000",
]  # fmt: skip
KEYS = ["a", "b", "app", "tier", "app.kubernetes.io/name", "a2", "a10", "A", "_x", "key-1", "x.y/z"]
TEXTS = ["x", "y", "v1", "true", "8080", "", "a b", "it's", "1.0", "yes", "null"]

scalar = st.sampled_from(SCALARS)
name = st.sampled_from(NAMES)
key = st.sampled_from(KEYS)
text = st.sampled_from(TEXTS)


class Raw(str):
    """A scalar in its own spelling."""

    __slots__ = ()


def dump(value: Any, indent: int = 0) -> str:
    """YAML in block style, with raw scalars as they are."""
    pad = "  " * indent
    if isinstance(value, dict):
        if not value:
            return " {}\n"
        lines = "\n" if indent else ""
        for k, v in value.items():
            nested = dump(v, indent + 1)
            lines += f"{pad}{k}:{nested}"
        return lines
    if isinstance(value, list):
        if not value:
            return " []\n"
        lines = "\n"
        for item in value:
            nested = dump(item, indent + 1)
            if isinstance(item, (dict, list)) and item:
                body = nested.removeprefix("\n")
                lines += (
                    f"{pad}- {body.lstrip(' ')}" if isinstance(item, dict) else f"{pad}-\n{body}"
                )
            else:
                lines += f"{pad}-{nested}"
        return lines
    if isinstance(value, Raw):
        return f" {value}\n" if value else "\n"
    return f" {json.dumps(value)}\n"


raw = scalar.map(Raw)


def mapping(values: st.SearchStrategy[Any], most: int = 3) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(key, values, max_size=most)


def maybe(
    strategy: st.SearchStrategy[Any], **fields: st.SearchStrategy[Any]
) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries({}, optional=fields)


env = st.fixed_dictionaries(
    {"name": st.sampled_from(["A", "B", "C", "PORT"])},
    optional={
        "value": raw,
        "valueFrom": st.fixed_dictionaries(
            {}, optional={"configMapKeyRef": st.fixed_dictionaries({"name": name, "key": key})}
        ),
    },
)
port = st.fixed_dictionaries(
    {"containerPort": st.sampled_from([80, 8080, 9090])},
    optional={
        "name": st.sampled_from(["http", "metrics"]),
        "protocol": st.sampled_from(["TCP", "UDP"]),
    },
)
container = st.fixed_dictionaries(
    {"name": st.sampled_from(["main", "side"])},
    optional={
        "image": st.sampled_from(
            ["nginx", "nginx:1.2", "repo/app:v1", "reg:5000/app@sha256:ab", "app"]
        ),
        "env": st.lists(env, max_size=3),
        "ports": st.lists(port, max_size=3),
        "args": st.lists(raw, max_size=3),
        "resources": mapping(mapping(raw, 2), 2),
        "envFrom": st.lists(
            st.fixed_dictionaries({"configMapRef": st.fixed_dictionaries({"name": name})}),
            max_size=1,
        ),
        "volumeMounts": st.lists(
            st.fixed_dictionaries({"name": key, "mountPath": st.sampled_from(["/a", "/b"])}),
            max_size=2,
        ),
    },
)
pod = st.fixed_dictionaries(
    {"containers": st.lists(container, min_size=1, max_size=2)},
    optional={
        "volumes": st.lists(
            st.fixed_dictionaries(
                {"name": key},
                optional={
                    "configMap": st.fixed_dictionaries({"name": name}),
                    "emptyDir": st.just({}),
                },
            ),
            max_size=2,
        ),
        "serviceAccountName": name,
        "tolerations": st.lists(mapping(raw, 2), max_size=2),
        "nodeSelector": mapping(raw, 2),
    },
)


def meta(draw_name: st.SearchStrategy[str] = name) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"name": draw_name},
        optional={
            "namespace": st.sampled_from(NAMESPACES[1:]),
            "labels": mapping(raw),
            "annotations": mapping(raw),
        },
    )


deployment = st.fixed_dictionaries(
    {
        "apiVersion": st.just("apps/v1"),
        "kind": st.sampled_from(["Deployment", "StatefulSet"]),
        "metadata": meta(),
        "spec": st.fixed_dictionaries(
            {
                "template": st.fixed_dictionaries(
                    {"spec": pod}, optional={"metadata": maybe(raw, labels=mapping(raw))}
                )
            },
            optional={
                "replicas": st.sampled_from([1, 3]),
                "selector": st.fixed_dictionaries({"matchLabels": mapping(raw, 2)}),
            },
        ),
    }
)
service = st.fixed_dictionaries(
    {
        "apiVersion": st.just("v1"),
        "kind": st.just("Service"),
        "metadata": meta(),
        "spec": st.fixed_dictionaries(
            {},
            optional={
                "selector": mapping(raw, 2),
                "ports": st.lists(
                    st.fixed_dictionaries(
                        {"port": st.sampled_from([80, 443])},
                        optional={"protocol": st.just("TCP"), "targetPort": raw},
                    ),
                    max_size=2,
                ),
            },
        ),
    }
)
config_map = st.fixed_dictionaries(
    {
        "apiVersion": st.just("v1"),
        "kind": st.sampled_from(["ConfigMap", "Secret"]),
        "metadata": meta(),
    },
    optional={"data": mapping(raw)},
)
custom = st.fixed_dictionaries(
    {"apiVersion": st.just("example.com/v1"), "kind": st.just("Widget"), "metadata": meta()},
    optional={
        "spec": mapping(
            st.one_of(raw, mapping(raw, 2), st.lists(st.one_of(raw, mapping(raw, 2)), max_size=2))
        )
    },
)
route = st.fixed_dictionaries(
    {
        "apiVersion": st.just("gateway.networking.k8s.io/v1"),
        "kind": st.just("HTTPRoute"),
        "metadata": meta(),
        "spec": st.fixed_dictionaries(
            {
                "rules": st.lists(
                    st.fixed_dictionaries(
                        {
                            "backendRefs": st.lists(
                                st.fixed_dictionaries(
                                    {"name": name, "port": st.just(80), "weight": raw}
                                ),
                                max_size=2,
                            )
                        }
                    ),
                    max_size=2,
                )
            }
        ),
    }
)
resource = st.one_of(deployment, deployment, service, config_map, custom, route)

tail = st.recursive(
    raw, lambda inner: st.one_of(mapping(inner, 2), st.lists(inner, max_size=2)), max_leaves=3
)
directive = st.sampled_from(["delete", "replace", "merge"])


@st.composite
def merge_patch(draw: st.DrawFn, target: dict[str, Any]) -> dict[str, Any]:
    """A strategic merge patch for an object: some of its fields, changed."""
    patch: dict[str, Any] = {"apiVersion": target["apiVersion"], "kind": target["kind"]}
    patch["metadata"] = {k: v for k, v in target["metadata"].items() if k in ("name", "namespace")}
    for field in ("labels", "annotations"):
        if draw(st.integers(0, 3)) == 0:
            patch["metadata"][field] = draw(st.one_of(mapping(raw), st.just(Raw("null"))))
    for field in ("spec", "data"):
        if field in target and draw(st.booleans()):
            patch[field] = draw(changed(target[field], 0))
    return patch


@st.composite
def changed(draw: st.DrawFn, value: Any, depth: int) -> Any:
    choice = draw(st.integers(0, 15))
    if choice == 0:
        odd = (
            st.just({})
            if isinstance(value, dict)
            else st.just([])
            if isinstance(value, list)
            else raw
        )
        return draw(st.one_of(odd, st.just(Raw("null")), *([raw] if depth > 4 else [])))
    if isinstance(value, dict):
        result = {
            k: draw(changed(v, depth + 1))
            for k, v in value.items()
            if draw(st.integers(0, 2)) or k == "name"
        }
        if choice == 1:
            result["$patch"] = Raw(draw(directive))
        if choice == 2:
            result[draw(key)] = draw(tail)
        return result
    if isinstance(value, list):
        result = [draw(changed(item, depth + 1)) for item in value if draw(st.booleans())]
        if choice == 1:
            result.insert(draw(st.integers(0, len(result))), {"$patch": Raw(draw(directive))})
        if choice == 2 and value:
            result.append(draw(st.sampled_from(value)))
        if choice == 3 and value and isinstance(value[0], dict):
            result.append({**value[0], "name": Raw("new")})
        return result
    return draw(raw) if choice < 6 else value


@st.composite
def json_patch(draw: st.DrawFn) -> list[dict[str, Any]]:
    paths = ["/metadata/labels/a", "/metadata/annotations", "/spec/replicas", "/spec/template/spec/containers/0/image",
             "/spec/template/spec/containers/0/env/-", "/spec/template/spec/containers/-", "/data/a", "/metadata/name", "/spec"]  # fmt: skip
    operation = st.fixed_dictionaries(
        {
            "op": st.sampled_from(["add", "replace", "remove", "test", "copy"]),
            "path": st.sampled_from(paths),
        },
        optional={"value": tail, "from": st.sampled_from(paths)},
    )
    return draw(st.lists(operation, min_size=1, max_size=2))


@st.composite
def kustomization(
    draw: st.DrawFn, resources: list[str], objects: list[dict[str, Any]]
) -> dict[str, Any]:
    fields: dict[str, Any] = {"resources": resources}
    if draw(st.integers(0, 3)) == 0:
        fields["namespace"] = draw(st.sampled_from(["prod", "default"]))
    if draw(st.integers(0, 3)) == 0:
        fields["namePrefix"] = draw(st.sampled_from(["pre-", "1", "a-"]))
    if draw(st.integers(0, 4)) == 0:
        fields["nameSuffix"] = draw(st.sampled_from(["-suf", "-v2"]))
    if draw(st.integers(0, 3)) == 0:
        fields["commonLabels"] = draw(mapping(text, 2))
    if draw(st.integers(0, 3)) == 0:
        fields["labels"] = [
            {
                "pairs": draw(mapping(text, 2)),
                "includeSelectors": draw(st.booleans()),
                "includeTemplates": draw(st.booleans()),
            }
        ]
    if draw(st.integers(0, 4)) == 0:
        fields["commonAnnotations"] = draw(mapping(text, 2))
    if draw(st.integers(0, 3)) == 0:
        image = st.fixed_dictionaries(
            {"name": st.sampled_from(["nginx", "app", "repo/app", "reg:5000/app"])},
            optional={
                "newTag": text,
                "newName": st.sampled_from(["other", "m/x"]),
                "digest": st.just("sha256:12"),
            },
        )
        fields["images"] = draw(st.lists(image, max_size=2))
    workloads = [
        o["metadata"]["name"] for o in objects if o["kind"] in ("Deployment", "StatefulSet")
    ]
    if workloads and draw(st.integers(0, 3)) == 0:
        fields["replicas"] = [
            {"name": draw(st.sampled_from(workloads)), "count": draw(st.integers(0, 9))}
        ]
    if draw(st.integers(0, 3)) == 0:
        fields["configMapGenerator"] = [
            {
                "name": draw(st.sampled_from(["gen", "gen2", "cm"])),
                "literals": draw(
                    st.lists(
                        st.sampled_from(["a=1", "b=x y", "c='q'", 'd="<&>"', "e="]),
                        max_size=3,
                        unique=True,
                    )
                ),
            }
        ]
    fields["patches"] = (
        [draw(patch_entry(objects)) for _ in range(draw(st.integers(0, 2)))] if objects else []
    )
    if objects and draw(st.integers(0, 3)) == 0:
        fields["replacements"] = [draw(replacement(objects))]
    return fields


@st.composite
def patch_entry(draw: st.DrawFn, objects: list[dict[str, Any]]) -> dict[str, Any]:
    target = draw(st.sampled_from(objects))
    choice = draw(st.integers(0, 3))
    selector = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "kind": st.sampled_from([target["kind"], "Deployment", "Dep.*"]),
                "name": st.sampled_from([target["metadata"]["name"], ".*", "a.*"]),
            },
        )
    )
    if choice == 0:
        return {"target": selector, "patch": dump_document(draw(json_patch()))}
    patch = {"patch": dump_document(draw(merge_patch(target)))}
    return {**patch, "target": selector} if choice == 1 else patch


@st.composite
def replacement(draw: st.DrawFn, objects: list[dict[str, Any]]) -> dict[str, Any]:
    source, target = draw(st.sampled_from(objects)), draw(st.sampled_from(objects))

    def paths(obj: dict[str, Any]) -> list[str]:
        found = [
            "metadata.name",
            *(f"metadata.labels.[{k}]" for k in obj["metadata"].get("labels", ())),
        ]
        found += [f"data.[{k}]" for k in obj.get("data", ())]
        if "template" in obj.get("spec", ()):
            found += [
                "spec.template.spec.containers.0.name",
                "spec.template.spec.containers.[name=main].image",
            ]
            found += ["spec.template.spec.containers.*.name", "spec.template.spec.containers.0"]
        return found

    return {
        "source": {
            "kind": source["kind"],
            "name": source["metadata"]["name"],
            "fieldPath": draw(st.sampled_from(paths(source))),
        },
        "targets": [
            {
                "select": {"kind": target["kind"], "name": target["metadata"]["name"]},
                "fieldPaths": draw(
                    st.lists(
                        st.sampled_from([*paths(target), "metadata.annotations.new"]),
                        min_size=1,
                        max_size=2,
                    )
                ),
                **({"options": {"create": True}} if draw(st.booleans()) else {}),
            }
        ],
    }


def dump_document(value: Any) -> str:
    return dump(value).removeprefix("\n")


@st.composite
def project(draw: st.DrawFn) -> dict[str, str]:
    """Files of a base and an overlay on it."""
    unique = lambda o: (o["kind"], o["metadata"]["name"])  # noqa: E731
    objects = draw(st.lists(resource, min_size=1, max_size=4, unique_by=unique))
    files = {"base/all.yaml": "---\n".join(dump_document(o) for o in objects)}
    files["base/kustomization.yaml"] = json.dumps(
        draw(kustomization(["all.yaml"], objects if draw(st.booleans()) else [])), indent=1
    )
    files["over/kustomization.yaml"] = json.dumps(
        draw(kustomization(["../base"], objects)), indent=1
    )
    return files
