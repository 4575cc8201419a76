#!/usr/bin/env bash
# Runs the equivalence tests' cases in the simulation, far more of them than ctest does, and writes one line for each
# to a CSV file: what differs most from a single rank, and the verdict. It can be stopped at any time and started again:
# cases that the file has are not run twice.
#
#   validation/equivalence/whole_product.sh BUILD OUTPUT.csv         every combination of levels of 3 factors
#   validation/equivalence/whole_product.sh BUILD OUTPUT.csv 4       of 4 factors; 0: all of the some 1.2 million cases
#   validation/equivalence/whole_product.sh BUILD OUTPUT.csv 2 emulated-gpu   of 2 factors, on emulated GPUs
#
# The file's header names what ran the cases, the commit, whether the tree was clean when the program was built, and the
# command. A file that is continued by a program of another commit says so above the first line of that program.
set -euo pipefail

if [[ $# -lt 2 || $# -gt 4 ]]; then
    echo "usage: $0 BUILD OUTPUT.csv [WAYS [emulated-gpu]]" >&2
    exit 2
fi
cmake --build "$1" --target equivalence_product
exec nice -n 15 "$1/bin/equivalence_product" "$2" "${3:-3}" ${4:+"$4"}
