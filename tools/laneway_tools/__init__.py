"""What measures, tests, explains and shows Laneway. Each folder uses those before it: places, measure, draw, papers, dev, evaluate."""

__version__ = "0.2.0"
