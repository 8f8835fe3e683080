"""Git repositories: the only place that knows pygit2."""
