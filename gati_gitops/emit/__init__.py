"""Plan and ledger to files: one builder per kind, one file per routing provider, one layout."""
