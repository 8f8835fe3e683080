"""``python -m gati_gitops``."""

from gati_gitops.cli.main import main

main()
