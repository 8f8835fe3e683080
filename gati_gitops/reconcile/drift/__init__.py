"""Drift: look at Git and at clusters, compare, tell, and by policy put it right."""
