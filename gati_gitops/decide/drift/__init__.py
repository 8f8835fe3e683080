"""Drift: what a cluster has, and what a repository holds, against what was decided."""
