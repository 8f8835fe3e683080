"""The job on one cluster, with every default decided."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from gati_gitops.plan import defaults
from gati_gitops.plan.calls import fence
from gati_gitops.plan.naming import MANAGER, shorten, slug
from gati_gitops.plan.reach import Fence
from gati_gitops.plan.units import mirrored, routing
from gati_gitops.spec.drift import DriftPolicy
from gati_gitops.spec.job import SECRETS, Job
from gati_gitops.spec.monitoring import Monitoring
from gati_gitops.spec.project import Cluster, GatiProject
from gati_gitops.spec.sync import ClusterSync
from gati_gitops.yamlio.emit import Shared

COMPONENT = "reconciler"
DRIFT = "drift"
"""What answers drift, where an environment wants more than to be told: a part of its own."""
PORT = 8080
"""Where the job answers probes and shows its metrics."""
USER = 65532
"""Whom it runs as: as the image has it."""
CACHE = "/var/cache/gati-gitops"
RESOURCES = Shared(
    {
        "requests": {"cpu": "100m", "memory": "256Mi"},
        "limits": {"cpu": "2", "memory": "1Gi"},
    }
)
"""Enough for 1,000 units of three versions."""
OF_RELEASE = ("mode", "image", "namespace")
"""Where these differ, the release folder is another one; the rest is patched."""
TRACES = "OTEL_EXPORTER_OTLP_ENDPOINT"
PORTS = {"https": 443, "http": 80, "ssh": 22}


@dataclass(frozen=True, slots=True)
class Engine:
    """The sync engine whose objects the job reads, where it runs on the same cluster."""

    kind: str
    namespace: str
    nudged: bool = False
    """Whether it is told of commits by an annotation."""


@dataclass(frozen=True, slots=True)
class JobPlan:
    """What watches one cluster."""

    project: str
    env: str
    cluster: str
    settings: Job
    common: Job
    """What the project says for all clusters where it runs in this way: its release folder."""
    repository: str
    branch: str
    """Empty: the repository's own."""
    root: str
    provider: str
    gateway: str
    """The namespace of the Gateway that routes attach to; empty: there is none."""
    images: tuple[dict[str, str], ...]
    """Registries that serve the image here."""
    fence: Fence | None
    """None: no NetworkPolicies are wanted."""
    monitoring: Monitoring | None
    called: tuple[tuple[str, str], ...]
    """Addresses that it calls beside the repository, by what for."""
    engine: Engine | None
    hub: str = ""
    """The cluster on which the engine is, if it is another one."""
    drift: DriftPolicy = "report"
    kinds: tuple[tuple[str, str], ...] = ()
    """Group and kind of what the team's own templates make."""
    part: str = COMPONENT

    @property
    def name(self) -> str:
        """What its objects are called; two projects may share a cluster."""
        return drift_name(self.project) if self.part == DRIFT else self.account

    @property
    def account(self) -> str:
        """Whose rights it has, whichever part of it."""
        return job_name(self.project)

    @property
    def answering(self) -> JobPlan | None:
        """What answers drift here: by schedule, and else as the job; None where none is wanted."""
        if self.drift == "report":
            return None
        as_said = {"mode": "cronjob", "schedule": self.settings.drift_schedule}
        return replace(self, part=DRIFT, settings=self.settings.model_copy(update=as_said))

    @property
    def namespace(self) -> str:
        return self.settings.namespace

    @property
    def released(self) -> JobPlan:
        """The same without what its cluster decides."""
        return replace(self, settings=self.common, env="", cluster="")

    @property
    def holds_namespace(self) -> bool:
        """Whether the Namespace is ours to write: where a Gateway stands, somebody has it."""
        return self.namespace != self.gateway

    @property
    def image(self) -> str:
        assert self.settings.image is not None  # or the project is refused
        return self.settings.image

    @property
    def version(self) -> str:
        """The image's tag, or the beginning of its digest, fit for a name."""
        name, _, digest = self.image.partition("@")
        _, colon, tag = name.rpartition("/")[2].partition(":")
        return slug(tag) if colon else digest.partition(":")[2][:12] or "latest"

    @property
    def watches(self) -> bool:
        return self.settings.mode == "deployment"

    @property
    def scraped(self) -> bool:
        """Whether it lives long enough to be asked for its metrics."""
        return self.watches and self.monitoring is not None

    @property
    def resources(self) -> dict[str, dict[str, str]]:
        given = self.settings.resources
        return RESOURCES if given is None else defaults.listed(given)

    @property
    def labels(self) -> dict[str, str]:
        """Of every object, the team's own included."""
        own = dict(self.settings.labels) | {
            **self.selector,
            "app.kubernetes.io/managed-by": MANAGER,
            "app.kubernetes.io/name": MANAGER,
            "app.kubernetes.io/part-of": self.project,
        }
        return dict(sorted(own.items()))

    @property
    def selector(self) -> dict[str, str]:
        """Two keys that never change."""
        return {"app.kubernetes.io/component": self.part, **self.instance}

    @property
    def instance(self) -> dict[str, str]:
        """What the pods of all parts have in common."""
        return {"app.kubernetes.io/instance": self.account}

    @property
    def home(self) -> str:
        """The cluster's folder of it."""
        return job_folder(self.env, self.cluster, self.namespace)

    @property
    def by_ssh(self) -> bool:
        return urlsplit(self.repository).scheme == "ssh"

    @property
    def credentials(self) -> dict[str, str]:
        """Variables by which it finds the files of its Secrets."""
        secrets = self.settings.secrets
        found: dict[str, str] = {}
        if secrets.git is not None and self.by_ssh:
            found["GATI_SSH_KEY"] = f"{SECRETS}/git/identity"
            found["GATI_SSH_KNOWN_HOSTS"] = f"{SECRETS}/git/known_hosts"
        elif secrets.git is not None:
            found["GATI_GIT_TOKEN_FILE"] = f"{SECRETS}/git/password"
        if secrets.forge is not None:
            found["GATI_FORGE_TOKEN_FILE"] = f"{SECRETS}/forge/token"
        if secrets.signing is not None:
            found["GATI_SIGNING_KEY"] = f"{SECRETS}/signing/key"
        if secrets.nudge is not None:
            found["GATI_NUDGE_SECRET_FILE"] = f"{SECRETS}/nudge/secret"
        return found

    @property
    def repository_port(self) -> int:
        found = urlsplit(self.repository)
        return found.port or PORTS[found.scheme]


FOLDER = "_reconciler"


def job_name(project: str) -> str:
    return shorten(f"gati-reconciler-{project}")


def drift_name(project: str) -> str:
    return shorten(f"gati-drift-{project}")


def gateway_namespace(provider: str, namespace: str) -> str:
    """Where the Gateway of a cluster is, for providers that have one."""
    return namespace if provider in ("gateway-api", "istio") else ""


def job_folder(env: str, cluster: str, namespace: str) -> str:
    return f"overlays/{env}/{cluster}/{namespace}/{FOLDER}"


def job_plan(project: GatiProject, env: str, cluster: str) -> JobPlan | None:
    """The job as gati.yaml wants it on a cluster; None where it wants none."""
    spec = project.spec
    settings = spec.job_of(env, cluster)
    if settings is None:
        return None
    environment = spec.environments[env]
    here = environment.clusters[cluster]
    sync = here.sync or ClusterSync()
    way = routing(environment, cluster)
    repository = settings.repository or (spec.sync.repository if spec.sync else "")
    return JobPlan(
        project=project.metadata.name,
        env=env,
        cluster=cluster,
        settings=settings,
        common=(spec.job or Job()).model_copy(
            update={name: getattr(settings, name) for name in OF_RELEASE}
        ),
        repository=repository,
        branch=spec.sync.branch if spec.sync else "",
        root=spec.output.root,
        provider=way.provider,
        gateway=gateway_namespace(way.provider, way.gateway.namespace),
        images=mirrored(settings.image or "", environment.registries),
        fence=fence(project, env, way),
        monitoring=spec.monitoring,
        called=tuple(_called(project, env, here, settings)),
        engine=_engine(project, sync),
        hub=sync.hub or "",
        drift=environment.drift,
        kinds=tuple((kind.group, kind.kind) for kind in spec.sync.argocd.kinds)
        if spec.sync
        else (),
    )


def _called(
    project: GatiProject, env: str, here: Cluster, settings: Job
) -> Iterator[tuple[str, str]]:
    synthetic = project.spec.rollout_of(env).analysis.synthetic
    if here.metrics is not None:
        yield "metrics", here.metrics.url
    if synthetic is not None:
        yield "synthetic", synthetic.url
    if here.sync is not None and here.sync.nudge_url is not None:
        yield "nudge", here.sync.nudge_url
    if traces := settings.env.get(TRACES):
        yield "traces", traces


def _engine(project: GatiProject, here: ClusterSync) -> Engine | None:
    sync = project.spec.sync
    if sync is None or here.remote or here.unseen:
        return None
    namespace = sync.flux.namespace if here.engine == "flux" else sync.argocd.namespace
    return Engine(here.engine, namespace, nudged=here.nudge == "annotation")
