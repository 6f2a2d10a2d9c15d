#!/usr/bin/env python3
"""Checks that the library exports exactly the symbols of a golden list: check_symbols.py LIBRARY GOLDEN"""
import subprocess
import sys

library, golden = sys.argv[1:]
output = subprocess.run(["nm", "-D", "--defined-only", library], check=True, stdout=subprocess.PIPE, text=True).stdout
exported = {line.split()[-1].split("@")[0] for line in output.splitlines()}
expected = set(open(golden).read().split())
for name in sorted(expected - exported):
    print(f"missing: {name}")
for name in sorted(exported - expected):
    print(f"exported, but not in the golden list: {name}")
sys.exit(exported != expected)
