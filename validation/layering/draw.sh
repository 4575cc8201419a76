#!/usr/bin/env bash
# Draws the rooms of a source tree from its #include lines, as a Mermaid graph.
#
# usage: validation/layering/draw.sh [COMMIT]     (default: the working tree)
#
# An arrow leads from a room to a room that it includes, unless another path of arrows also leads there. The
# label of a room shows its number of sources and lines.
set -euo pipefail
cd "$(dirname "$0")/../.."

tree=.
if [ $# -gt 0 ]; then
    tree=$(mktemp -d)
    trap 'rm -r "$tree"' EXIT
    git archive "$1" src include | tar -x -C "$tree"
fi

cd "$tree"
find src include -type f \( -name '*.hpp' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) | sort | xargs awk '
function room_of(path,   parts) {
    split(path, parts, "/")
    return parts[1] == "src" ? parts[2] : parts[3]
}
function reaches(from, to,   next_room) {
    for (next_room in rooms)
        if ((from, next_room) in uses && (next_room == to || reaches(next_room, to))) return 1
    return 0
}
FNR == 1 { room = room_of(FILENAME); rooms[room]; ++sources[room] }
{ ++lines[room] }
/^#include [<"]trireme\// {
    split($2, parts, "/")
    if (parts[2] != room) uses[room, parts[2]]
}
END {
    print "flowchart TD"
    for (room in rooms)
        printf "    %s[\"%s<br>%d sources, %d lines\"]\n", room, room, sources[room], lines[room] | "sort"
    close("sort")
    for (edge in uses) {
        split(edge, ends, SUBSEP)
        is_shortest = 1
        for (room in rooms)
            if (room != ends[2] && (ends[1], room) in uses && reaches(room, ends[2])) is_shortest = 0
        if (is_shortest) printf "    %s --> %s\n", ends[1], ends[2] | "sort"
    }
}'
