#!/usr/bin/env python3
"""check_module.py OURS DEBIANS: `use pnetcdf` gives a program every name from our module that Debian's gives.
It gives no names of kinds, because programs declare those themselves."""
import gzip
import re
import sys

KINDS = {"onebyteint", "twobyteint", "fourbyteint", "eightbyteint", "fourbytereal", "eightbytereal"}


def names(path):
    """The public names in a module file of gfortran, and the generic names, which have their own list."""
    text = gzip.open(path, "rt", encoding="latin1").read()
    lists = re.split(r"\n\n(?=\()", text)
    public = set(re.findall(r"'(\w+)' \d \d+", re.sub(r"\s+", " ", lists[-1])))
    generics = set(re.findall(r"\( ?'(\w+)' '[^']*'(?: \d+)+ ?\)", re.sub(r"\s+", " ", text)))
    return public, generics


ours, our_generics = names(sys.argv[1])
debians, debians_generics = names(sys.argv[2])
problems = [f"{name} is missing" for name in sorted((debians | debians_generics) - (ours | our_generics))]
problems += [f"{name} is public" for name in sorted(ours & KINDS)]
if len(debians) < 1000 or len(debians_generics) < 20:
    problems.append(f"only {len(debians)} names and {len(debians_generics)} generic ones found in {sys.argv[2]}")
print("\n".join(problems))
sys.exit(1 if problems else 0)
