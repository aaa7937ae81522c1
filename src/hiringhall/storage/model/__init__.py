"""The oracle: a store of plain dictionaries, driven by the decisions of the domain alone."""

from __future__ import annotations

from hiringhall.storage.model.store import ModelStore

__all__ = ["ModelStore"]
