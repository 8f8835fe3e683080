"""The whole loop on the software that our users run: see docs/e2e.md."""
