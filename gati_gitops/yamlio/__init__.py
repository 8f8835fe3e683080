"""The one place that configures YAML: strict reading with positions, canonical writing."""
