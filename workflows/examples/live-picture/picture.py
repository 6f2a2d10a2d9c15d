#!/usr/bin/python3
"""picture.py PATTERN DIRECTORY: draws each wave file as it comes, into DIRECTORY/now.png, and some of them side by side into DIRECTORY/picture.png. Knows nothing of
Sluice: it opens files by their names until one is missing."""
import os
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import netCDF4
import numpy as np

SHOWN_HOURS = (1, 4, 8, 12, 16, 20)
RANGE_M = 0.3


def read(path):
    """Time in hours, axes in degrees, and sea level in metres, masked on land; None after the last file."""
    try:
        with netCDF4.Dataset(path) as file:
            return float(file["time"][0]) / 3600, file["longitude"][:], file["latitude"][:], file["sea_level"][0]
    except FileNotFoundError:
        return None


def draw(axes, hours, longitude, latitude, level):
    axes.set_facecolor("#3c3c32")
    axes.imshow(level, origin="lower", extent=(longitude[0], longitude[-1], latitude[0], latitude[-1]), cmap="RdBu_r", vmin=-RANGE_M, vmax=RANGE_M, interpolation="nearest")
    axes.set_title(f"{hours:.0f} h", fontsize=9)
    axes.set_xticks([])
    axes.set_yticks([])


def save(figure, path):
    """Who looks at the file never sees half of it."""
    figure.savefig(path + ".part", format="png", dpi=80)
    os.replace(path + ".part", path)
    plt.close(figure)


def main():
    pattern, directory = sys.argv[1:]
    os.makedirs(directory, exist_ok=True)
    shown, number = [], 1
    while (wave := read(pattern % number)) is not None:
        figure, axes = plt.subplots(figsize=(6, 4.4), constrained_layout=True)
        draw(axes, *wave)
        save(figure, directory + "/now.png")
        print(f"{pattern % number}: {wave[0]:.0f} h, sea level from {np.min(wave[3]):.2f} to {np.max(wave[3]):.2f} m", flush=True)
        if round(wave[0], 6) in SHOWN_HOURS:
            shown.append(wave)
        number += 1
    if not shown:
        sys.exit(f"picture.py: there is no {pattern % 1}; run the model first, or both under `sluice run`")
    figure, axes = plt.subplots(2, 3, figsize=(9, 4.8), constrained_layout=True)
    for each, wave in zip(axes.flat, shown):
        draw(each, *wave)
    save(figure, directory + "/picture.png")


if __name__ == "__main__":
    main()
