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
// other profile names. If there are several profiles without ranks, a rank uses the one whose device name is
// that of the rank's device.
struct ProfileFile {
    std::string path;
    std::optional<RankSpan> ranks = {};  // if unset, all ranks that no other profile names

    friend bool operator==(const ProfileFile&, const ProfileFile&) = default;
};

// Returns the profile in the syntax of --profile: "fast.json", or "3=fast.json" for rank 3.
std::string to_string(const ProfileFile& file);
std::string to_string(const RankSpan& ranks);  // "3", "0-3"

}  // namespace trireme::config
