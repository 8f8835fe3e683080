"""One builder per Kubernetes kind: plain values in, one object out.

What the API server would default is written out, so that no engine ever sees a difference.
"""
