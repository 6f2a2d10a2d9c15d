#!/usr/bin/env python3
"""check_constants.py OURS DEBIANS: our pnetcdf.inc has all constants of Debian's, with the same values."""
import re
import sys

# Features that Debian's build does not have, and the version.
OTHER_VALUES = {"pnetcdf_large_single_req", "pnetcdf_thread_safe", "pnetcdf_subfiling", "pnetcdf_burst_buffering", "pnetcdf_version_minor", "pnetcdf_version_sub"}


def constants(path):
    text = re.sub(r"(?m)^[cC!].*$|!.*$", "", open(path).read())
    rows = re.findall(r"(?i)\bparameter\s*\(\s*(\w+)\s*=\s*([^)]+?)\s*\)", text)
    values = {}
    for name, value in rows:
        value = value.lower().replace("\n     &", "").strip()
        if value not in values:
            try:
                value = float(value.replace("d", "e"))
            except ValueError:
                pass
        values[name.lower()] = values.get(value, value)
    return values


ours, debians = map(constants, sys.argv[1:])
problems = [f"{n} is missing" for n in debians if n not in ours]
problems += [f"{n} is {ours[n]}, not {v}" for n, v in debians.items() if n in ours and ours[n] != v and n not in OTHER_VALUES]
if len(debians) < 200:
    problems.append(f"only {len(debians)} constants found in {sys.argv[2]}")
print("\n".join(problems))
sys.exit(1 if problems else 0)
