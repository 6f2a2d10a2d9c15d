#!/usr/bin/python3
"""picture.py PREFIX PICTURE: draws v of the files that the Fortran model writes, four of them side by side."""
import os
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import netCDF4

SHOWN = (2, 6, 12, 20)

os.makedirs(os.path.dirname(sys.argv[2]), exist_ok=True)
figure, axes = plt.subplots(1, len(SHOWN), figsize=(9, 2.5), constrained_layout=True)
for each, number in zip(axes, SHOWN):
    with netCDF4.Dataset(f"{sys.argv[1]}{number:03d}.nc") as file:
        each.imshow(file["v"][:], cmap="viridis", vmin=0, vmax=0.4)
        each.set_title(f"step {file.step}", fontsize=9)
    each.set_axis_off()
figure.savefig(sys.argv[2], dpi=60)
