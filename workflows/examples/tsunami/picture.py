#!/usr/bin/python3
"""Draws what `arrival` wrote: maximum height in colour, arrival times as labelled contours, coastlines from the relief."""
import argparse
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.patheffects
import matplotlib.pyplot as plt
import netCDF4
import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.ticker import FuncFormatter, LogLocator


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("arrival", help="netCDF file that arrival wrote")
    parser.add_argument("picture", help="PNG file to write")
    parser.add_argument("--relief", help="netCDF file of the world's relief, for coastlines and shaded land (etopo20.cdf)")
    parser.add_argument("--source-longitude", type=float, default=142.9)
    parser.add_argument("--source-latitude", type=float, default=38.1)
    return parser.parse_args()


def read_relief(path, longitude, latitude):
    """Relief in metres on the points of the map (nearest neighbour, longitudes modulo 360). Shape: latitude × longitude."""
    with netCDF4.Dataset(path) as file:
        relief = next(v for v in file.variables.values() if v.ndim == 2)
        y = file.variables[relief.dimensions[0]][:]
        x = file.variables[relief.dimensions[1]][:]
        rows = np.abs(y[None, :] - latitude[:, None]).argmin(axis=1)
        difference = (x[None, :] - longitude[:, None] + 180) % 360 - 180
        columns = np.abs(difference).argmin(axis=1)
        return np.asarray(relief[:])[np.ix_(rows, columns)]


def draw(arguments):
    with netCDF4.Dataset(arguments.arrival) as file:
        longitude = np.asarray(file["longitude"][:])
        latitude = np.asarray(file["latitude"][:])
        height = np.ma.masked_less(file["maximum_height"][:], 1e-4)
        hours = file["arrival_time"][:] / 3600

    figure, axes = plt.subplots(figsize=(13, 8.6), constrained_layout=True)
    axes.set_facecolor("#12203a")
    floor, ceiling = 0.005, max(0.5, float(np.ma.max(height)))
    shading = axes.pcolormesh(longitude, latitude, height, norm=LogNorm(floor, ceiling), cmap="turbo", shading="nearest", rasterized=True)
    whole_hours = np.arange(1, max(2, int(np.ma.max(hours)) + 1))
    halo = [matplotlib.patheffects.withStroke(linewidth=2.5, foreground="black", alpha=0.6)]
    # Where the wave stays near the threshold, the time at which it passes it is noise.
    clear_hours = np.ma.masked_where(np.ma.filled(height, 0) < 0.012, hours)
    lines = axes.contour(longitude, latitude, clear_hours, levels=whole_hours, colors="white", linewidths=0.8, alpha=0.9)
    for label in axes.clabel(lines, levels=whole_hours[1::2], fmt="%d h", fontsize=8.5):
        label.set_path_effects(halo)
    if arguments.relief:
        relief = read_relief(arguments.relief, longitude, latitude)
        land = np.ma.masked_less(relief, 0)
        axes.pcolormesh(longitude, latitude, land, cmap="gist_gray", vmin=-1500, vmax=6500, shading="nearest", rasterized=True)
        axes.contour(longitude, latitude, relief, levels=[0], colors="black", linewidths=0.9)
    axes.plot(arguments.source_longitude, arguments.source_latitude, marker="*", markersize=17, color="white", markeredgecolor="black")

    def degrees_east(x, _):
        x = (x + 180) % 360 - 180
        return f"{abs(x):.0f}°{'E' if x >= 0 else 'W'}"

    axes.xaxis.set_major_formatter(FuncFormatter(degrees_east))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{abs(y):.0f}°{'N' if y > 0 else 'S' if y < 0 else ''}"))
    axes.set_aspect(1.15)
    axes.set_xlabel("longitude")
    axes.set_ylabel("latitude")
    axes.set_title("Tsunami from the place of the 2011 Tōhoku earthquake: maximum height, and hours to arrival", fontsize=13)
    bar = figure.colorbar(shading, ax=axes, shrink=0.82, pad=0.015, extend="min")
    bar.set_label("maximum height of the sea above rest (m)")
    bar.ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    bar.ax.yaxis.set_minor_locator(plt.NullLocator())
    figure.savefig(arguments.picture, dpi=120)
    print(f"wrote {arguments.picture}: {len(latitude)} x {len(longitude)} cells, highest {float(np.ma.max(height)):.2f} m")


def main():
    arguments = parse_arguments()
    try:
        draw(arguments)
    except (OSError, KeyError, StopIteration, IndexError) as error:
        sys.exit(f"picture.py: {error}")


if __name__ == "__main__":
    main()
