#!/usr/bin/python3
"""follow.py FILE DIRECTORY: follows a growing netCDF-4 file with xarray, and draws the waves on the equator: DIRECTORY/now.png after each batch of records, DIRECTORY/picture.png
at the end. It reads the row at the equator of the new records only. Knows nothing of Sluice."""
import os
import sys
import time

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import xarray


def new_records(path, seen):
    """(How many records there will be, h at the equator of those after the first `seen`, x in m). Shape: records × x."""
    with xarray.open_dataset(path, engine="netcdf4", decode_times=False) as data:
        if "h" not in data:  # the model has not come as far
            return None, np.empty((0, 0)), None
        row = data.h.isel(day=slice(seen, None), y=data.sizes["y"] // 2)
        return data.records, row.values, data.x.values


def draw(h, x, days, path):
    figure, axes = plt.subplots(figsize=(7, 4.5), constrained_layout=True)
    image = axes.pcolormesh(x / 1e6, np.arange(len(h)) * 2.0, h, cmap="RdBu_r", vmin=-18, vmax=18, shading="nearest")
    axes.set(xlabel="distance from the western coast, 1000 km", ylabel="day", ylim=(0, days), title="Waves on the equator: how much deeper the warm layer is")
    figure.colorbar(image, label="m")
    figure.savefig(path, dpi=80)
    plt.close(figure)


def main():
    path, directory = sys.argv[1:]
    os.makedirs(directory, exist_ok=True)
    h, total = None, None
    while total is None or len(h) < total:
        total, rows, x = new_records(path, 0 if h is None else len(h))
        if rows.size == 0:
            time.sleep(0.05)
            continue
        h = rows if h is None else np.concatenate([h, rows])
        print(f"day {2 * len(h)}: {len(rows)} new records, up to {h[-1].max():.1f} m deeper", flush=True)
        draw(h, x, 2 * total, directory + "/now.png")
    draw(h, x, 2 * total, directory + "/picture.png")


if __name__ == "__main__":
    main()
