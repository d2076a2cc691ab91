"""What the project measures, tests and shows Laneway with. Each folder uses those before it: places, measure, draw, papers, dev."""
