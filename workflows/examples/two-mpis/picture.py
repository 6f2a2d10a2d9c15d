#!/usr/bin/python3
"""picture.py ENERGY DIRECTORY: draws the energy in both halves of the ocean, into DIRECTORY/picture.png."""
import os
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import netCDF4

with netCDF4.Dataset(sys.argv[1]) as file:
    hours, energy = file["time"][:] / 3600, file["energy"][:] / 1e12
os.makedirs(sys.argv[2], exist_ok=True)
figure, axes = plt.subplots(figsize=(7, 3.2), constrained_layout=True)
axes.stackplot(hours[1:], energy[1:, 1], energy[1:, 0], labels=("north of the equator", "south of it"), colors=("#1b5e8c", "#e08a3c"))
axes.set(xlabel="hours after the earthquake", ylabel="potential energy, TJ", xlim=(hours[1], hours[-1]))
axes.legend(loc="upper right", fontsize=8)
figure.savefig(sys.argv[2] + "/picture.png", dpi=80)
