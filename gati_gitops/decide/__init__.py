"""Judgement: what was decided and what was seen go in, what to do comes out, with its reasons."""
