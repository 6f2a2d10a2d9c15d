#!/usr/bin/python3
"""picture.py HARBOURS PICTURE: draws the water in the harbours that the second model has written."""
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import netCDF4

NAMES = ("Kushiro", "Naha", "Guam", "Adak", "Honolulu", "Hilo")

with netCDF4.Dataset(sys.argv[1]) as file:
    hours, level = file["time"][:] / 3600, file["level"][:]
figure, axes = plt.subplots(len(NAMES), 1, figsize=(7, 6), sharex=True, constrained_layout=True)
for each, name, values in zip(axes, NAMES, level.T):
    each.plot(hours, values, color="#1b5e8c", linewidth=1)
    each.axhline(0, color="grey", linewidth=0.5)
    each.set_title(name, fontsize=8, loc="left", pad=2)
    each.tick_params(labelsize=7)
axes[-1].set_xlabel("hours after the earthquake")
figure.supylabel("level in the harbour, m", fontsize=9)
figure.savefig(sys.argv[2], dpi=80)
