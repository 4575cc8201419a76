# shellcheck shell=bash
# The origin of a record, so that it can be made again; sourced by the scripts that write records.
#
#   provenance perf/moves/run.sh "$@"     prints "commit": "2e29447", "tree": "clean", "command": "perf/moves/run.sh ..."
#
# Members of a JSON object, without its braces. The tree is "with changes" if tracked files differ from the commit.
provenance() {
    local folder commit tree=clean command="$*"
    folder=$(dirname "${BASH_SOURCE[0]}")
    commit=$(git -C "$folder" rev-parse --short HEAD 2> /dev/null || echo unknown)
    [[ -z $(git -C "$folder" status --porcelain --untracked-files=no 2> /dev/null) ]] || tree="with changes"
    command=${command//\\/\\\\}
    printf '"commit": "%s", "tree": "%s", "command": "%s"' "$commit" "$tree" "${command//\"/\\\"}"
}
