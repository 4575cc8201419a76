// The words from which the Python functions of the synthetic sample are generated.
#pragma once

#include <array>
#include <string_view>

namespace trireme::data::synthetic_words {

struct Verb {
    std::string_view plain;  // load
    std::string_view third;  // Loads
    std::string_view past;   // loaded
};
inline constexpr std::array<Verb, 28> verbs = {{
    {"load", "Loads", "loaded"},
    {"save", "Saves", "saved"},
    {"parse", "Parses", "parsed"},
    {"merge", "Merges", "merged"},
    {"filter", "Filters", "filtered"},
    {"compute", "Computes", "computed"},
    {"update", "Updates", "updated"},
    {"convert", "Converts", "converted"},
    {"collect", "Collects", "collected"},
    {"count", "Counts", "counted"},
    {"sort", "Sorts", "sorted"},
    {"group", "Groups", "grouped"},
    {"split", "Splits", "split"},
    {"join", "Joins", "joined"},
    {"read", "Reads", "read"},
    {"write", "Writes", "written"},
    {"build", "Builds", "built"},
    {"create", "Creates", "created"},
    {"check", "Checks", "checked"},
    {"encode", "Encodes", "encoded"},
    {"decode", "Decodes", "decoded"},
    {"scale", "Scales", "scaled"},
    {"resolve", "Resolves", "resolved"},
    {"fetch", "Fetches", "fetched"},
    {"select", "Selects", "selected"},
    {"register", "Registers", "registered"},
    {"reduce", "Reduces", "reduced"},
    {"sample", "Samples", "sampled"},
}};

struct Noun {
    std::string_view one;   // row
    std::string_view many;  // rows
};
inline constexpr std::array<Noun, 28> nouns = {{
    {"row", "rows"},
    {"column", "columns"},
    {"table", "tables"},
    {"field", "fields"},
    {"partition", "partitions"},
    {"record", "records"},
    {"batch", "batches"},
    {"key", "keys"},
    {"model", "models"},
    {"session", "sessions"},
    {"query", "queries"},
    {"frame", "frames"},
    {"stream", "streams"},
    {"task", "tasks"},
    {"job", "jobs"},
    {"node", "nodes"},
    {"label", "labels"},
    {"feature", "features"},
    {"vector", "vectors"},
    {"matrix", "matrices"},
    {"document", "documents"},
    {"event", "events"},
    {"metric", "metrics"},
    {"block", "blocks"},
    {"worker", "workers"},
    {"schema", "schemas"},
    {"message", "messages"},
    {"segment", "segments"},
}};

inline constexpr std::array<std::string_view, 12> adjectives = {"new",     "current", "first", "last",
                                                                "default", "valid",   "local", "remote",
                                                                "pending", "cached",  "empty", "global"};
inline constexpr std::array<std::string_view, 12> attributes = {
    "name", "size", "path", "value", "rank", "length", "kind", "state", "score", "owner", "count", "id"};
inline constexpr std::array<std::string_view, 8> numbers = {"limit", "size",  "depth",   "width",
                                                            "count", "start", "retries", "timeout"};
inline constexpr std::array<std::string_view, 8> texts = {"name",  "path",   "prefix",   "mode",
                                                          "label", "format", "encoding", "host"};
inline constexpr std::array<std::string_view, 5> settings = {"options", "config", "params", "properties",
                                                             "defaults"};

}  // namespace trireme::data::synthetic_words
