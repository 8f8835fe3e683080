"""The job: observe, decide, write the ledger, compile, commit, and say what happened."""
