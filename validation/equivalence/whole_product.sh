#!/usr/bin/env bash
# Runs the cases of the equivalence tests in the simulation, far more than ctest does. It writes one line per
# case to a CSV file: the largest difference from a single rank, and the verdict. It can be stopped at any time
# and started again: cases that the file already has are skipped.
#
#   validation/equivalence/whole_product.sh BUILD OUTPUT.csv         every combination of levels of 3 factors
#   validation/equivalence/whole_product.sh BUILD OUTPUT.csv 4       the same for 4 factors; 0: all 1.2 million cases
#   validation/equivalence/whole_product.sh BUILD OUTPUT.csv 2 emulated-gpu   2 factors, on emulated GPUs
#
# The file's header names the program that ran the cases, the commit, whether the tree was clean when the
# program was built, and the command. If a program of another commit continues the file, a comment above its
# first line says so.
set -euo pipefail

if [[ $# -lt 2 || $# -gt 4 ]]; then
    echo "usage: $0 BUILD OUTPUT.csv [WAYS [emulated-gpu]]" >&2
    exit 2
fi
cmake --build "$1" --target equivalence_product
exec nice -n 15 "$1/bin/equivalence_product" "$2" "${3:-3}" ${4:+"$4"}
