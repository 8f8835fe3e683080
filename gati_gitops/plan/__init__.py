"""The intermediate form: what will exist, with every name, label and default decided."""
