"""Evaluating a machine: every MPI library with Laneway beside it, and a report (docs/use/evaluating.md)."""
