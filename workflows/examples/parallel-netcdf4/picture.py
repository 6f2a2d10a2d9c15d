#!/usr/bin/python3
"""picture.py PREFIX PICTURE: draws u of the files that the model writes, four of them side by side, and where the medium has not recovered."""
import os
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import netCDF4

SHOWN = (1, 5, 10, 16)

os.makedirs(os.path.dirname(sys.argv[2]), exist_ok=True)
figure, axes = plt.subplots(1, len(SHOWN), figsize=(9, 2.5), constrained_layout=True)
for each, number in zip(axes, SHOWN):
    with netCDF4.Dataset(f"{sys.argv[1]}{number:02d}.nc") as file:
        each.imshow(file["u"][:] - 0.5 * file["recovery/v"][:], cmap="magma", vmin=-0.4, vmax=1)
        each.set_title(f"time {file.time:g}", fontsize=9)
    each.set_axis_off()
figure.savefig(sys.argv[2], dpi=60)
