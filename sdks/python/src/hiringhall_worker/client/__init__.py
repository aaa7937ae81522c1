"""Clients: they call `service/method` and get the answer."""
