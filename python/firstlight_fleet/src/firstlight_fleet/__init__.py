"""Boots of a whole fleet: one store, one question in SQL."""

__version__ = "0.1.0"
