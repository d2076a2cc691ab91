"""Laneway for Python programs. What the project itself measures and tests with is in ``laneway.tools``."""

__version__ = "0.1.0"
