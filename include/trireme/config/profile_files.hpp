// What --profile names, and for whom.
#pragma once

#include <optional>
#include <string>

namespace trireme::config {

// The first and the last of ranks that follow each other.
struct RankSpan {
    int first = 0;
    int last = 0;

    friend bool operator==(const RankSpan&, const RankSpan&) = default;
};

// A profile (see plan/profile.hpp) and the ranks that it is for. One without ranks is for all that no other
// names; of several such, each of these ranks takes the one that was measured on a device of its own's name.
struct ProfileFile {
    std::string path;
    std::optional<RankSpan> ranks = {};

    friend bool operator==(const ProfileFile&, const ProfileFile&) = default;
};

// As --profile reads it: "3=fast.json".
std::string to_string(const ProfileFile& file);
std::string to_string(const RankSpan& ranks);  // "3", "0-3"

}  // namespace trireme::config
