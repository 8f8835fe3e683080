"""Folders on disk: specs in, trees out."""
