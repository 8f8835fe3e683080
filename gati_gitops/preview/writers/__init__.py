"""A Review in each of its forms: one function per format, from data to text."""
