"""Compiled output on its way into its repository: what changes, whether it may, how it is told."""
