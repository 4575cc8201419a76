// The profile files of --profile and the ranks that use them.
#pragma once

#include <optional>
#include <string>

namespace trireme::config {

// A range of consecutive ranks, given by its first and its last rank.
struct RankSpan {
    int first = 0;
    int last = 0;

    friend bool operator==(const RankSpan&, const RankSpan&) = default;
};

// A profile (see plan/profile.hpp) and the ranks that use it. A profile without ranks is for all ranks that no
// other profile names. If there are several such profiles, a rank uses the one that was measured on a device
// with the name of its own device.
struct ProfileFile {
    std::string path;
    std::optional<RankSpan> ranks = {};

    friend bool operator==(const ProfileFile&, const ProfileFile&) = default;
};

// Returns the text that --profile reads, such as "3=fast.json".
std::string to_string(const ProfileFile& file);
std::string to_string(const RankSpan& ranks);  // "3", "0-3"

}  // namespace trireme::config
