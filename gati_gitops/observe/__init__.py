"""The outside world as observations: metrics, the cluster, recordings."""
