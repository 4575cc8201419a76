#include "setup/costs/read_profiles.hpp"

#include <algorithm>
#include <array>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/base/regular_file.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::setup {
namespace {

void check_dtype(const plan::Profile& profile, const std::string& path, const config::RunConfig& config) {
    const std::string run_dtype = to_string(to_dtype(config.precision.dtype));
    if (profile.dtype == run_dtype) return;
    throw ConfigError(cat("--profile ", path, " was measured in ", profile.dtype, ", but this run computes in ",
                          run_dtype, "; measure again with --dtype ", run_dtype));
}

std::string describe_microbatch(const plan::Profile& profile) {
    return cat(profile.microbatch.rows, " rows in a micro-batch of ",
               format_count(profile.microbatch.samples, "sample"));
}

// True if the names, parameters and message sizes of all layers are equal. Costs may differ.
bool have_same_model(const plan::Profile& a, const plan::Profile& b) {
    return std::ranges::equal(
        a.layers, b.layers, [](const plan::LayerProfile& one, const plan::LayerProfile& other) {
            return one.name == other.name && one.parameters == other.parameters && one.rows == other.rows;
        });
}

void check_same_model_and_microbatch(const plan::Profile& first, const plan::Profile& other,
                                     const std::array<std::string, 2>& paths) {
    if (describe_microbatch(first) != describe_microbatch(other)) {
        throw ConfigError(cat("--profile ", paths[1], " was measured with ", describe_microbatch(other),
                              ", but ", paths[0], " with ", describe_microbatch(first),
                              "; measure both with the same --batch and --max-length"));
    }
    if (have_same_model(first, other)) return;
    throw ConfigError(cat("--profile ", paths[1], " is of another model (", other.model, ") than ", paths[0],
                          " (", first.model, "); measure both with the same model options"));
}

// Returns per rank the index in `paths` of its file, up to the last rank that a file names. A rank that no file
// names has index 0.
std::vector<std::size_t> find_kind_per_rank(const std::vector<config::ProfileFile>& files,
                                            const std::vector<std::string>& paths) {
    std::vector<std::size_t> kind_per_rank;
    for (const config::ProfileFile& file : files) {
        if (!file.ranks) continue;
        const auto [first, last] = *file.ranks;
        const auto rank_count = static_cast<std::size_t>(last) + 1;
        if (kind_per_rank.size() < rank_count) kind_per_rank.resize(rank_count);
        const auto kind = static_cast<std::size_t>(std::ranges::find(paths, file.path) - paths.begin());
        std::fill(kind_per_rank.begin() + first, kind_per_rank.begin() + last + 1, kind);
    }
    return kind_per_rank;
}

}  // namespace

std::vector<std::string> list_profile_paths(const std::vector<config::ProfileFile>& files) {
    std::vector<std::string> paths;
    const auto add_path = [&](const config::ProfileFile& file) {
        if (std::ranges::find(paths, file.path) == paths.end()) paths.push_back(file.path);
    };
    for (const config::ProfileFile& file : files) {
        if (!file.ranks) add_path(file);
    }
    std::ranges::for_each(files, add_path);
    return paths;
}

plan::RankProfiles read_profiles(const config::RunConfig& config) {
    const std::vector<std::string> paths = list_profile_paths(config.costs.profiles);
    plan::RankProfiles profiles{.kinds = {}, .kind_of_rank = find_kind_per_rank(config.costs.profiles, paths)};
    for (const std::string& path : paths) {
        profiles.kinds.push_back(plan::parse_profile(read_regular_file(path, "--profile"), path));
        check_dtype(profiles.kinds.back(), path, config);
        check_same_model_and_microbatch(profiles.kinds.front(), profiles.kinds.back(), {paths.front(), path});
    }
    return profiles;
}

}  // namespace trireme::setup
