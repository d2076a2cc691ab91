"""Where programs run: this machine, emulated clusters, simulated ones; and what starts them there."""
