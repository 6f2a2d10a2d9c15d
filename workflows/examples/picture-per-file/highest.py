#!/usr/bin/python3
"""highest.py RESULT PATTERN: the highest sea level of all wave files. Knows nothing of Sluice: it opens files by their names until one is missing."""
import itertools
import os
import sys

import netCDF4

result, pattern = sys.argv[1:]
highest = []
for number in itertools.count(1):
    try:
        with netCDF4.Dataset(pattern % number) as file:
            highest.append((float(file["sea_level"][0].max()), float(file["time"][0]) / 3600))
    except FileNotFoundError:
        break
os.makedirs(os.path.dirname(result), exist_ok=True)
with open(result, "w") as text:
    text.write("".join(f"{hours:.0f} h: {level:.3f} m\n" for level, hours in highest))
    text.write(f"highest: {max(highest)[0]:.3f} m\n")
