#include "setup/costs/read_profiles.hpp"

#include <algorithm>
#include <array>

#include "trireme/base/error.hpp"
#include "trireme/base/regular_file.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::setup {
namespace {

void check_numbers(const plan::Profile& profile, const std::string& path, const config::RunConfig& config) {
    const std::string wanted = name_of(dtype_of(config.precision.dtype));
    if (profile.dtype == wanted) return;
    throw ConfigError(cat("--profile ", path, " was measured in ", profile.dtype, ", and this run computes in ",
                          wanted, "; measure with --dtype ", wanted));
}

std::string rows_text(const plan::Profile& profile) {
    return cat(profile.tokens, " rows in a micro-batch of ", profile.samples);
}

// True if layers and their message sizes agree, whatever they cost.
bool are_of_one_model(const plan::Profile& a, const plan::Profile& b) {
    return std::ranges::equal(
        a.layers, b.layers, [](const plan::LayerProfile& one, const plan::LayerProfile& other) {
            return one.name == other.name && one.parameters == other.parameters && one.rows == other.rows;
        });
}

void check_alike(const plan::Profile& first, const plan::Profile& other,
                 const std::array<std::string, 2>& paths) {
    if (rows_text(first) != rows_text(other)) {
        throw ConfigError(cat("--profile ", paths[1], " was measured with ", rows_text(other), ", and ",
                              paths[0], " with ", rows_text(first),
                              "; measure both with the same --batch and --max-length"));
    }
    if (are_of_one_model(first, other)) return;
    throw ConfigError(cat("--profile ", paths[1], " is of another model, ", other.model, ", than ", paths[0],
                          ", which is of ", first.model, "; measure both with the same options of the model"));
}

// Returns the kind per rank up to the last rank named by a file. Ranks that no file names have kind 0.
std::vector<std::size_t> kinds_of_ranks(const std::vector<config::ProfileFile>& files,
                                        const std::vector<std::string>& paths) {
    std::vector<std::size_t> kinds;
    for (const config::ProfileFile& file : files) {
        if (!file.ranks) continue;
        const auto [first, last] = *file.ranks;
        const auto end = static_cast<std::size_t>(last) + 1;
        if (kinds.size() < end) kinds.resize(end);
        const auto kind = static_cast<std::size_t>(std::ranges::find(paths, file.path) - paths.begin());
        std::fill(kinds.begin() + first, kinds.begin() + last + 1, kind);
    }
    return kinds;
}

}  // namespace

std::vector<std::string> profile_paths(const std::vector<config::ProfileFile>& files) {
    std::vector<std::string> paths;
    const auto add = [&](const config::ProfileFile& file) {
        if (std::ranges::find(paths, file.path) == paths.end()) paths.push_back(file.path);
    };
    for (const config::ProfileFile& file : files) {
        if (!file.ranks) add(file);
    }
    std::ranges::for_each(files, add);
    return paths;
}

plan::RankProfiles read_profiles(const config::RunConfig& config) {
    const std::vector<std::string> paths = profile_paths(config.costs.profiles);
    plan::RankProfiles profiles{.kinds = {}, .of_ranks = kinds_of_ranks(config.costs.profiles, paths)};
    for (const std::string& path : paths) {
        profiles.kinds.push_back(plan::profile_from_json(read_regular_file(path, "--profile"), path));
        check_numbers(profiles.kinds.back(), path, config);
        check_alike(profiles.kinds.front(), profiles.kinds.back(), {paths.front(), path});
    }
    return profiles;
}

}  // namespace trireme::setup
