#!/bin/sh
# write_and_compare.sh PROGRAM FOLDER, as one of several ranks: the program writes the folder's files *.nc,
# which must have the same bytes.
set -eu
"$1"
for file in "$2"/*.nc; do cmp "$file" "$(basename "$file")"; done
