// The profile files of --profile and the ranks that use them.
#pragma once

#include <optional>
#include <string>

namespace trireme::config {

// Consecutive ranks, from `first` to `last` inclusive.
struct RankSpan {
    int first = 0;
    int last = 0;

    friend bool operator==(const RankSpan&, const RankSpan&) = default;
};

// A profile (see plan/profile.hpp) and the ranks that use it. A profile without ranks is for all ranks that no
// other profile names. If several profiles have no ranks, a rank uses the profile that was measured on a device
// with the name of the rank's device.
struct ProfileFile {
    std::string path;
    std::optional<RankSpan> ranks = {};  // if unset, all ranks that no other profile names

    friend bool operator==(const ProfileFile&, const ProfileFile&) = default;
};

// Returns the profile in the syntax of --profile: "fast.json", or "3=fast.json" for rank 3.
std::string to_string(const ProfileFile& file);
std::string to_string(const RankSpan& ranks);  // for example "3" or "0-3"

}  // namespace trireme::config
