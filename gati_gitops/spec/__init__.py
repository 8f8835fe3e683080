"""The input: the kinds, loading with line numbers, rules across documents, CRDs."""
