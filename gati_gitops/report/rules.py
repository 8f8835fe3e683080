"""Every code of a Problem: what it means, and how it is put right."""

from __future__ import annotations

RULES = {
    "ambiguous-version": (
        "A GatiVersion could belong to several handlers",
        "Set spec.handler to one of them.",
    ),
    "api-version": (
        "The apiVersion is missing or not one that is read",
        "Write apiVersion: gati.dev/v1alpha1.",
    ),
    "bad-path": (
        "No router accepts the path",
        "Write it without empty or dot segments, encoded slashes or fragments.",
    ),
    "bad-value": (
        "A value breaks the rule of its field",
        "Write a value that the message allows.",
    ),
    "bad-yaml": (
        "A file given with --crds is not YAML",
        "Correct it, or leave it out.",
    ),
    "breaking-without-chain": (
        "A breaking version would share traffic with one that no transformers lead from",
        "Add the transformer that the message names, or give one of them no weight.",
    ),
    "cold-scaler": (
        "A cold version has a scaler that cannot go to 0 pods, or that nothing would wake there",
        "Use tier warm, a warmFloor, or keda with a metric of the gateway or a cron metric.",
    ),
    "cluster-left-behind": (
        "The output has a cluster that the project no longer names",
        "Retire its units first, then remove its folders by hand.",
    ),
    "documents-disagree": (
        "A handler and its GatiVersion say different things; the GatiVersion counts",
        "Say it in one of the two.",
    ),
    "drift-unanswered": (
        "Drift is to be answered, and nothing runs there that would",
        "Add a section job, or run drift --fix by a schedule of your own.",
    ),
    "duplicate-entry": (
        "A list has an entry twice that must be unique",
        "Keep one of the two.",
    ),
    "duplicate-object": (
        "Two documents are about the same object",
        "Keep one of the two, or give one another name or namespace.",
    ),
    "empty-input": (
        "No Gati document was found",
        "Name the folder that holds the specs.",
    ),
    "file-too-large": (
        "A file is larger than the limit",
        "Split it into several files.",
    ),
    "identity-changed": (
        "An environment's partial document changes who a unit is",
        "Change path, version and names in the base document only.",
    ),
    "image-changed": (
        "A published version names another image now",
        "Give the new image a new version id.",
    ),
    "latency-unmeasurable": (
        "A limit of latency lies beyond the last bucket of the runtime's histogram",
        "Write a limit that the histogram can tell.",
    ),
    "metric-without-request": (
        "A scaler follows a share of a request that the pods do not make",
        "Set the request, or follow another metric.",
    ),
    "missing-field": (
        "A required field is missing",
        "Add the field.",
    ),
    "name-collision": (
        "Two versions would share an object's name",
        "Rename one of the units, or change one of the version ids.",
    ),
    "not-checked": (
        "An object or a rule could not be checked",
        "Give the CustomResourceDefinition with --crds.",
    ),
    "not-gati": (
        "A document is not a Gati document and is left out",
        "Keep other YAML outside the folder of specs.",
    ),
    "out-of-range": (
        "A number is outside its bounds",
        "Write a number within the bounds.",
    ),
    "park-short": (
        "What was parked is removed before anybody could notice that it was needed",
        "Park for 10m or more.",
    ),
    "partial-misplaced": (
        "A partial document belongs to no environment",
        "Put it into environments/<environment>/.",
    ),
    "partial-without-base": (
        "A partial document has nothing to be laid over",
        "Correct its kind, namespace and name, or add the whole document.",
    ),
    "path-order": (
        "The gateway decides which of two paths gets a request",
        "Give both units the same hosts, or paths that differ in a whole segment.",
    ),
    "path-parameters": (
        "A path has parameters, and ingress-nginx can't have those beside other paths",
        "Use a path without parameters, or another routing provider.",
    ),
    "path-taken": (
        "Two units answer on one path of one host; the older route would get all requests",
        "Give one of them another path or host.",
    ),
    "pins-limited": (
        "Under ingress-nginx only the canary can be pinned, and only by one header",
        "Use another provider where clients choose versions.",
    ),
    "policy-digest": (
        "An image is named without a digest, and a policy asks for one",
        "Name the image by its digest as well.",
    ),
    "policy-images": (
        "A policy forbids the image",
        "Build on another image.",
    ),
    "policy-labels": (
        "A policy asks for a label that the unit lacks, or for another value",
        "Add or correct the label under metadata.labels.",
    ),
    "policy-latest": (
        "An image without a tag, or with the tag latest",
        "Name a tag that never moves, or a digest.",
    ),
    "policy-limits": (
        "A container lacks a limit that a policy asks for",
        "Add it under spec.resources.limits.",
    ),
    "policy-registries": (
        "An image comes from a registry that no policy allows",
        "Use one of the allowed registries.",
    ),
    "policy-replicas": (
        "The number of pods is outside the range of a policy",
        "Change spec.replicas, or the bounds of spec.autoscaling.",
    ),
    "revision-refused": (
        "A published version changed, and the environment refuses revisions",
        "Give it a new version id, or set revisions: roll.",
    ),
    "route-left-behind": (
        "A unit on its way out still answers on the path of a new one",
        "Retire the old unit when the new one may take over.",
    ),
    "scrapes-rare": (
        "Pods are scraped so rarely that one scrape that fails is a gap",
        "Scrape every 60 seconds or more often.",
    ),
    "secret-in-spec": (
        "A secret stands in a spec in clear text",
        "Keep it in a Secret, refer to it under spec.envRefs, and replace what has leaked.",
    ),
    "status-ignored": (
        "A spec carries a status",
        "Remove it: the cluster writes it.",
    ),
    "step-impossible": (
        "A step must last longer than it may",
        "Raise maxStep, or lower stepFor.",
    ),
    "template-collision": (
        "A template makes an object that is there already",
        "Give it another name.",
    ),
    "template-invalid": (
        "A template can't be read or rendered, or makes an object that is not allowed",
        "Correct the line that is named; the template is the same for all units.",
    ),
    "template-kind": (
        "A template makes an object of a kind that Argo CD may not apply",
        "Add the kind to spec.sync.argocd.kinds.",
    ),
    "too-long": (
        "A text or list is longer than its limit",
        "Shorten it.",
    ),
    "too-many-live-versions": (
        "A unit has more versions than ingress-nginx can tell apart",
        "Remove versions that are done with, or use another routing provider.",
    ),
    "too-many-weights": (
        "More versions have a weight than a route can split traffic between",
        "Give weight 0 to some of them.",
    ),
    "transformer-unknown": (
        "A transformer's name holds no version of the unit",
        "Name it <from>-to-<to>, with the ids of two neighbouring versions.",
    ),
    "transformers-branch": (
        "Transformers do not form one line",
        "Keep one transformer from and one to each version.",
    ),
    "unknown-capability": (
        "A module asks for a capability that is not known",
        "Use one of the capabilities in docs/modules.md.",
    ),
    "unknown-cluster": (
        "A partial document names a cluster that its environment does not have",
        "Rename the folder, or add the cluster to gati.yaml.",
    ),
    "unknown-environment": (
        "A partial document names an environment that is not there",
        "Rename the folder, or add the environment to gati.yaml.",
    ),
    "unknown-field": (
        "A field is not known here",
        "Correct its spelling, or remove it.",
    ),
    "unknown-kind": (
        "The kind is not one of ours",
        "Correct its spelling.",
    ),
    "unknown-module": (
        "A unit calls a module that is not there",
        "Correct its name, or add its GatiModule.",
    ),
    "version-does-not-fit": (
        "A GatiVersion laid over its handler is not valid",
        "Change it there, or in the handler that it inherits from.",
    ),
    "version-twice": (
        "A version is described twice",
        "Give one of them another version id, or remove it.",
    ),
    "version-without-handler": (
        "A GatiVersion belongs to no handler",
        "Set spec.handler, or add the handler.",
    ),
    "version-without-image": (
        "A version has no image, and the handler has moved on",
        "Set spec.image on the GatiVersion.",
    ),
    "wasm-without-runtime-class": (
        "A module is wasm, and no RuntimeClass says what runs it",
        "Set spec.placement.runtimeClass, or spec.defaults.wasmRuntimeClass in gati.yaml.",
    ),
    "weight-missing": (
        "Several versions, and one has no weight",
        "Give each version a routingWeight.",
    ),
    "weight-without-pods": (
        "A version gets requests and has no pods that would answer",
        "Give it replicas or a floor, or weight 0.",
    ),
    "weight-unfollowed": (
        "A weight that the strategy will not follow",
        "Write the weight that the message names, or leave it out.",
    ),
    "weights-sum": (
        "The weights of a unit do not fit",
        "Under manual they sum to 100, otherwise they are at most 100.",
    ),
    "weights-tie": (
        "Two versions have the highest weight",
        "Raise one: the highest becomes Active.",
    ),
    "wrong-type": (
        "A value has the wrong type",
        "Quote what is meant as text; write numbers, true and false without quotes.",
    ),
    "yaml-alias": (
        "Anchors, aliases and merge keys are not part of specs",
        "Write the values out.",
    ),
    "yaml-ambiguous": (
        "YAML 1.1 and 1.2 read this value differently",
        "Quote it when it is text; write true, false or a plain decimal number otherwise.",
    ),
    "yaml-control-character": (
        "A control character stands in the file",
        "Remove it, or write it as an escape in double quotes.",
    ),
    "yaml-directive": (
        "A YAML directive is not read",
        "Remove it; specs are YAML 1.2.",
    ),
    "yaml-duplicate-key": (
        "A key is set twice in one mapping",
        "Keep one of the two.",
    ),
    "yaml-encoding": (
        "The file is not plain UTF-8",
        "Save it as UTF-8 without byte order mark.",
    ),
    "yaml-key": (
        "A key is not text to every reader",
        "Quote it, or write a plain name.",
    ),
    "yaml-number": (
        "A number does not fit",
        "Write a finite number of at most 64 bits.",
    ),
    "yaml-syntax": (
        "The file is not YAML",
        "Check indentation, colons, quotes and brackets.",
    ),
    "yaml-tab": (
        "A tab is used as indentation",
        "Indent with spaces.",
    ),
    "yaml-tag": (
        "Tags are not part of specs",
        "Remove the tag; quote what is meant as text.",
    ),
    "yaml-too-deep": (
        "The document is nested too deeply",
        "Flatten it.",
    ),
    "yaml-too-many-documents": (
        "The file has too many documents",
        "Split it.",
    ),
}
