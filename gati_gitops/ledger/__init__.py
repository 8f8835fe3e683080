"""What was decided for one unit on one cluster, and how a compile respects it."""
