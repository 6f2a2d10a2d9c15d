#!/usr/bin/env bash
# check_symbols.sh LIBRARY HEADER: libdtf exports exactly what its header declares.
set -euo pipefail
diff <(nm -D --defined-only "$1" | awk '{print $3}' | sort) <(grep -oE '^(int|void) dtf_[a-z_]+' "$2" | awk '{print $2}' | sort)
