"""Hiring Hall: durable work for workers in any language, over plain HTTP, from a laptop to a cluster."""

__version__ = "0.1.0"
