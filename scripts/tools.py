"""Installs the programs and schemas that tests compare us with, in a cache outside the repository.

    python scripts/tools.py               everything a test may want, but for the engines
    python scripts/tools.py engines       Kubernetes, Argo CD, Flux, Traefik: for `make e2e`
    python scripts/tools.py kustomize     one component, or a group of them (crds)
    python scripts/tools.py --check       says what is there, installs nothing

The product needs none of this: only tests and benches do. COMPONENTS is the whole truth: what,
which version, how. A component fills an empty staging folder; the files are then renamed into the
cache one by one and a stamp with the pin is written last, so a killed run leaves nothing that looks
finished, and a second run does nothing. This is the only place that downloads: a test never does.

Standard library only, since it runs before anything is installed.
"""

import argparse
import contextlib
import fcntl
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from toolkit import Component, ToolError
from toolkit.debian import DebianBrowser, DebianPrograms
from toolkit.go import GoCrds, GoEngine, GoProgram, GoServer

VERSION_OF = "-X k8s.io/component-base/version.git"
KUBERNETES = f"{VERSION_OF}Version=VERSION {VERSION_OF}Major=1 {VERSION_OF}Minor=36"

COMPONENTS: tuple[Component, ...] = (
    # 5.8.x is the line that Argo CD and Flux embed; v5.8.3 asks for Go 1.27.
    GoProgram("kustomize", "sigs.k8s.io/kustomize/kustomize/v5", "v5.8.2"),
    # What Prometheus itself says of our rules.
    DebianPrograms("prometheus", "prometheus", ("prometheus", "promtool")),
    # A real forge, for pull requests; v1.27 changed its module path.
    GoServer(
        "gitea",
        "code.gitea.io/gitea",
        "v1.26.0",
        "sqlite sqlite_unlock_notify",
        ("options", "templates"),
    ),
    # Real Git servers: http-backend behind a web server, and an ssh server. The last library lets
    # sshd find the user that it wants without one being made on this machine.
    DebianPrograms("nginx", "nginx", ("nginx",)),
    DebianPrograms("fcgiwrap", "fcgiwrap", ("fcgiwrap",), ("libfcgi0ldbl",)),
    DebianPrograms("sshd", "openssh-server", ("sshd",), ("libwrap0", "libnss-wrapper")),
    # The preview's page, in the engine that most people read it with.
    DebianBrowser(
        "chromium",
        ("chromium-headless-shell", "fonts-dejavu-core"),
        ("chromium-headless-shell", "chromium", "google-chrome"),
    ),
    GoCrds(
        "gateway-api",
        "sigs.k8s.io/gateway-api",
        "v1.6.3",
        "config/crd/standard/*.yaml",
        ("BackendTLSPolicy", "GRPCRoute", "Gateway", "GatewayClass", "HTTPRoute", "ReferenceGrant"),
    ),
    # Other releases of the same CRDs, for what one release changes of the other.
    GoCrds(
        "gateway-api-before",
        "sigs.k8s.io/gateway-api",
        "v1.3.0",
        "config/crd/standard/*.yaml",
        ("GRPCRoute", "Gateway", "GatewayClass", "HTTPRoute", "ReferenceGrant"),
        folder="crds-before",
    ),
    GoCrds(
        "prometheus-operator-after",
        "github.com/prometheus-operator/prometheus-operator",
        "v0.93.0",
        "example/prometheus-operator-crd/*.yaml",
        ("PodMonitor", "PrometheusRule", "ServiceMonitor"),
        folder="crds-after",
    ),
    GoCrds(
        "istio",
        "istio.io/api",
        "v1.31.1",
        "kubernetes/customresourcedefinitions.gen.yaml",
        ("DestinationRule", "Gateway", "VirtualService"),
    ),
    GoCrds(
        "traefik",
        "github.com/traefik/traefik/v3",
        "v3.6.12",
        "docs/content/reference/dynamic-configuration/traefik.io_*.yaml",
        ("IngressRoute", "Middleware", "TraefikService"),
    ),
    GoCrds(
        "keda",
        "github.com/kedacore/keda/v2",
        "v2.21.0",
        "config/crd/bases/*.yaml",
        ("ScaledObject", "TriggerAuthentication"),
    ),
    GoCrds(
        "prometheus-operator",
        "github.com/prometheus-operator/prometheus-operator",
        "v0.85.0",
        "example/prometheus-operator-crd/*.yaml",
        ("PodMonitor", "PrometheusRule", "ServiceMonitor"),
    ),
    GoCrds(
        "argo-cd",
        "github.com/argoproj/argo-cd/v3",
        "v3.5.6",
        "manifests/crds/*-crd.yaml",
        ("AppProject", "Application", "ApplicationSet"),
    ),
    # source-controller starts only when all of its kinds exist.
    GoCrds(
        "flux-source",
        "github.com/fluxcd/source-controller",
        "v1.9.4",
        "config/crd/bases/*.yaml",
        ("Bucket", "GitRepository", "HelmChart", "HelmRepository", "OCIRepository"),
    ),
    GoCrds(
        "flux-kustomize",
        "github.com/fluxcd/kustomize-controller",
        "v1.9.5",
        "config/crd/bases/*.yaml",
        ("Kustomization",),
    ),
    GoCrds(
        "flux-helm",
        "github.com/fluxcd/helm-controller",
        "v1.6.3",
        "config/crd/bases/*.yaml",
        ("HelmRelease",),
    ),
    # What our users run, for tests/e2e: half an hour to build, so only on demand. The versions
    # stand in tests/e2e/modules. A server without the linker's flags calls itself v0.0.0, and its
    # clients choke on that.
    GoEngine("etcd", "etcd", "go.etcd.io/etcd/server/v3", "etcd"),
    *(
        GoEngine(name, "kubernetes", f"k8s.io/kubernetes/cmd/{name}", name, KUBERNETES)
        for name in ("kube-apiserver", "kubectl", "kube-controller-manager")
    ),
    GoEngine("traefik-proxy", "traefik", "github.com/traefik/traefik/v3/cmd/traefik", "traefik"),
    GoEngine(
        "source-controller",
        "flux-source",
        "github.com/fluxcd/source-controller",
        "source-controller",
    ),
    GoEngine(
        "kustomize-controller",
        "flux-kustomize",
        "github.com/fluxcd/kustomize-controller",
        "kustomize-controller",
    ),
    # One program for all its servers, and a script without which it can't check out a commit.
    GoEngine(
        "argocd",
        "argocd",
        "github.com/argoproj/argo-cd/v3/cmd",
        "argocd",
        "-X github.com/argoproj/argo-cd/v3/common.version=VERSION",
        ("hack/git-verify-wrapper.sh",),
    ),
    DebianPrograms(
        "redis",
        "redis-server",
        ("redis-server",),
        ("redis-tools", "libjemalloc2", "liblzf1"),
        group="engines",
    ),
)


# ---------------------------------------------------------------------------------------- the cache


@dataclass(frozen=True)
class Cache:
    root: Path

    @property
    def stamps(self) -> Path:
        return self.root / "stamps"

    def stamp(self, component: Component) -> dict[str, list[str] | str]:
        try:
            stamp = json.loads((self.stamps / f"{component.name}.json").read_text())
        except (OSError, ValueError):
            return {}
        return stamp if isinstance(stamp, dict) and "files" in stamp else {}

    def has(self, component: Component) -> bool:
        stamp = self.stamp(component)
        return stamp.get("pin") == component.pin and all(
            (self.root / name).is_file() for name in stamp["files"]
        )

    def install(self, component: Component) -> None:
        with tempfile.TemporaryDirectory(prefix=".stage-", dir=self.root) as folder:
            stage = Path(folder)
            component.fill(stage)
            files = sorted(str(p.relative_to(stage)) for p in stage.rglob("*") if p.is_file())
            stamp = self.stamps / f"{component.name}.json"
            old = self.stamp(component).get("files", ())
            stamp.unlink(missing_ok=True)
            for name in set(old) - set(files):
                (self.root / name).unlink(missing_ok=True)
            for name in files:
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                (stage / name).replace(self.root / name)
            new = stage / "stamp"
            new.write_text(json.dumps({"pin": component.pin, "files": files}, indent=1))
            new.replace(stamp)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """One run at a time; the second waits and then finds the work done."""
        self.stamps.mkdir(parents=True, exist_ok=True)
        with (self.root / ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say("waiting for another run of this script")
                fcntl.flock(lock, fcntl.LOCK_EX)
            for left in self.root.glob(".stage-*"):  # By a run that was killed.
                shutil.rmtree(left, ignore_errors=True)
            yield


def cache_root() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "gati-gitops" / "tools"


# ----------------------------------------------------------------------------------------- the verb


# What comes without a name given.
DEFAULT = ("programs", "crds")
# What https://book.kubebuilder.io/reference/envtest gives.
ENVTEST = ("etcd", "kube-apiserver", "kubectl")


def say(text: str, end: str = "\n") -> None:
    print(f"tools: {text}", end=end, flush=True)


def chosen(names: Sequence[str]) -> list[Component]:
    known = {name for c in COMPONENTS for name in (c.name, c.group)}
    if unknown := sorted(set(names) - known):
        raise SystemExit(f"tools: no {', '.join(unknown)}; there are {', '.join(sorted(known))}")
    return [c for c in COMPONENTS if c.name in names or c.group in (names or DEFAULT)]


def provided(component: Component) -> bool:
    """Whether the user has it already, where envtest's programs lie."""
    folder = os.environ.get("KUBEBUILDER_ASSETS")
    return (
        bool(folder)
        and component.name in ENVTEST
        and os.access(Path(str(folder), component.name), os.X_OK)
    )


def install(cache: Cache, wanted: Sequence[Component]) -> list[Component]:
    """Install what is not there yet; returns what could not be had, having said why."""
    failed: list[Component] = []
    reasons: set[str] = set()
    if all(cache.has(c) for c in wanted):
        return failed
    with cache.locked():
        for component in wanted:
            if cache.has(component):
                continue
            say(f"{component.pin.split()[0]} ... ", end="")
            start = time.monotonic()
            try:
                cache.install(component)
            except ToolError as error:
                print(
                    "failed", *(() if str(error) in reasons else (error,)), sep="\n  ", flush=True
                )
                reasons.add(str(error))
                failed.append(component)
            else:
                print(f"{time.monotonic() - start:.1f} s", flush=True)
    return failed


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", help="components or groups; all without any")
    parser.add_argument("--check", action="store_true", help="say what is there; install nothing")
    parser.add_argument(
        "--optional",
        action="store_true",
        help="exit 0 though something is missing, unless GATI_REQUIRE_TOOLS=1",
    )
    args = parser.parse_args(argv)
    wanted = [c for c in chosen(args.names) if not provided(c)]
    cache = Cache(cache_root())
    if args.check:
        for component in wanted:
            state = "there" if cache.has(component) else "missing"
            print(f"{component.name:25} {state:8} {component.pin.split()[0]}")
        return 0 if all(cache.has(c) for c in wanted) else 1
    try:
        missing = install(cache, wanted)
    except OSError as error:
        say(f"{cache.root} can't be written: {error}. Set XDG_CACHE_HOME to a folder that can.")
        missing = [c for c in wanted if not cache.has(c)]
    if not missing:
        return 0
    required = os.environ.get("GATI_REQUIRE_TOOLS") == "1" or not args.optional
    say(f"missing: {', '.join(c.name for c in missing)}")
    if not required:
        say("going on; tests that need them are skipped. `make tools` tries again.")
    return 1 if required else 0


if __name__ == "__main__":
    sys.exit(main())
