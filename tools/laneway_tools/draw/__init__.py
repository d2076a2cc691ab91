"""Pictures of measured and modelled times. They are files: no display is needed."""

import matplotlib

matplotlib.use("Agg")
