#!/bin/sh
# write_and_compare.sh PROGRAM FOLDER, as one rank of several: the program writes the files *.nc of the folder; they must have the same bytes.
set -eu
"$1"
for file in "$2"/*.nc; do cmp "$file" "$(basename "$file")"; done
