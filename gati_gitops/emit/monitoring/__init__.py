"""Prometheus and Grafana: what is scraped, recorded, alerted on and shown.

The runtime's own metrics carry no version. Relabelling at the scrape gives every series the labels
``gati_unit`` and ``gati_version``, and everything here, and the rollout, builds on those two.
"""
