"""Tests of the benchmark kit."""
