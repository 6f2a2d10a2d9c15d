#!/usr/bin/python3
"""analysis.py PATTERN DIRECTORY: follows a tsunami with xarray. Twelve files at a time are one lazy dataset. Writes DIRECTORY/energy.nc, the energy on each latitude, and
DIRECTORY/picture.png. Knows nothing of Sluice."""
import os
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import xarray

AT_A_TIME = 12
GRAVITY, DENSITY = 9.81, 1025.0


def batches(pattern):
    """Lists of at most AT_A_TIME paths, until a file is missing."""
    number, paths = 1, []
    while os.path.exists(pattern % number):
        paths.append(pattern % number)
        number += 1
        if len(paths) == AT_A_TIME:
            yield paths
            paths = []
    if paths:
        yield paths


def energy_of(data):
    """Potential energy in J/m², averaged over longitude. Shape: time × latitude."""
    return (0.5 * DENSITY * GRAVITY * data.sea_level**2).mean("longitude")


def draw(energy, path):
    figure, axes = plt.subplots(figsize=(7, 4), constrained_layout=True)
    hours = energy.time.values / 3600
    image = axes.pcolormesh(hours, energy.latitude, np.log10(np.maximum(energy.values.T, 1e-6)), cmap="magma", vmin=-3, vmax=2, shading="nearest")
    axes.set(xlabel="hours after the earthquake", ylabel="latitude", title="Energy of the wave on each latitude")
    figure.colorbar(image, label="log10 of J/m²")
    figure.savefig(path, dpi=80)


def main():
    pattern, directory = sys.argv[1:]
    os.makedirs(directory, exist_ok=True)
    parts = []
    for paths in batches(pattern):
        with xarray.open_mfdataset(paths, combine="nested", concat_dim="time", chunks={"latitude": 64}, decode_times=False) as data:
            parts.append(energy_of(data).compute())
            print(f"{paths[0]} … {paths[-1]}: up to {float(data.sea_level.max()):.2f} m", flush=True)
    if not parts:
        sys.exit(f"analysis.py: there is no {pattern % 1}; run the model first, or both under `sluice run`")
    energy = xarray.concat(parts, "time").rename("energy")
    energy.attrs = {"units": "J m-2", "long_name": "potential energy of the sea surface, mean over longitude"}
    energy.to_netcdf(directory + "/energy.nc", format="NETCDF3_64BIT")
    draw(energy, directory + "/picture.png")


if __name__ == "__main__":
    main()
