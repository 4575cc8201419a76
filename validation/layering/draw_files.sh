#!/usr/bin/env bash
# Draws one source from each of ten rooms, for a reading that judges names and comments.
#
# usage: validation/layering/draw_files.sh SEED
#
# A room is a folder of src/, or one of its subfolders; its public headers belong to it. Equal seeds draw
# equal files from equal trees.
set -euo pipefail
cd "$(dirname "$0")/../.."
if [ $# -ne 1 ]; then
    sed -n 's/^# usage: /usage: /p' "$0" >&2
    exit 2
fi

shuffle() { # seed
    local line
    while read -r line; do
        echo "$(md5sum <<< "$1 $line" | cut -d ' ' -f 1) $line"
    done | sort | cut -d ' ' -f 2
}

sources_of() { # room
    local folder
    for folder in "src/$1" "include/trireme/$1"; do
        if [ -d "$folder" ]; then find "$folder" -maxdepth 1 -regex '.*\.\(cpp\|hpp\|cu\|cuh\)'; fi
    done | sort
}

find src -mindepth 1 -type d -printf '%P\n' | sort | while read -r room; do
    if [ -n "$(sources_of "$room")" ]; then echo "$room"; fi
done | shuffle "$1" | sed -n 1,10p | while read -r room; do
    sources_of "$room" | shuffle "$1" | sed -n 1p
done
