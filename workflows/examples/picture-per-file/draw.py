#!/usr/bin/python3
"""draw.py FILE PICTURE: draws one wave file. Knows nothing of Sluice, and nothing of other files."""
import os
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import netCDF4

RANGE_M = 0.3

path, picture = sys.argv[1:]
os.makedirs(os.path.dirname(picture), exist_ok=True)
with netCDF4.Dataset(path) as file:
    hours, level = float(file["time"][0]) / 3600, file["sea_level"][0]
figure, axes = plt.subplots(figsize=(6, 4.4), constrained_layout=True)
axes.imshow(level.filled(float("nan")), origin="lower", cmap="RdBu_r", vmin=-RANGE_M, vmax=RANGE_M, interpolation="nearest")
axes.set_title(f"{hours:.0f} h")
figure.savefig(picture, dpi=80)
print(f"{hours:.0f} h, sea level from {level.min():.2f} to {level.max():.2f} m", flush=True)
