# The image of the job: gati-gitops and what it is made of, as a user without rights, and nothing to log in to.
#
#   docker build --build-arg BASE_DIGEST=sha256:… --tag registry.example.com/gati-gitops:0.1.0 .
#
# A tag can be moved, so the base is named by its digest, and there is no default for it: whoever builds says which
# one was looked at (`docker buildx imagetools inspect python:3.13-slim-bookworm` shows it).
ARG BASE=docker.io/library/python:3.13-slim-bookworm
ARG BASE_DIGEST

FROM ${BASE}@${BASE_DIGEST} AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY gati_gitops gati_gitops
RUN ["python", "-m", "venv", "/opt/gati-gitops"]
RUN ["/opt/gati-gitops/bin/python", "-m", "pip", "install", "--no-cache-dir", "/src[otel,signing]", "tzdata"]
# What installs is not needed to run, and is one thing less to keep up to date.
RUN ["/opt/gati-gitops/bin/python", "-m", "pip", "uninstall", "--yes", "pip"]

FROM ${BASE}@${BASE_DIGEST}
LABEL org.opencontainers.image.title="gati-gitops" \
      org.opencontainers.image.description="Compiles Gati specs, and watches their rollouts" \
      org.opencontainers.image.licenses="MIT"
COPY --from=build /opt/gati-gitops /opt/gati-gitops
# The root file system may be read-only: what is written goes to /tmp, and to the cache where one is mounted.
ENV HOME=/tmp \
    PATH=/opt/gati-gitops/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
WORKDIR /tmp
# By number: the kubelet can't tell whether a name is root.
USER 65532:65532
ENTRYPOINT ["/opt/gati-gitops/bin/gati-gitops"]
CMD ["--help"]
