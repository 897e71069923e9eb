"""Holds a labgrid place for firstlight."""
