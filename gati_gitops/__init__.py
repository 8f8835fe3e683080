"""gati-gitops compiles Gati specs into a Git repository that Argo CD or Flux syncs."""

__version__ = "0.1.0"
