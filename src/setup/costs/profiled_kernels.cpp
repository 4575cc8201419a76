#include "trireme/setup/profiled_kernels.hpp"

#include <algorithm>
#include <utility>

#include "setup/costs/read_profiles.hpp"
#include "trireme/base/error.hpp"
#include "trireme/layout/layout.hpp"

namespace trireme::setup {
namespace {

// Returns nothing if the profile has no kernels. `path` is the file of the profile.
std::optional<ProfiledKernels> make_profiled_kernels(const plan::Profile& profile, const std::string& path) {
    if (profile.kernels.empty()) return std::nullopt;
    return ProfiledKernels{.times = plan::KernelTimes(profile.kernels),
                           .launch = profile.launch,
                           .source = cat(path, ": ", profile.machine, ", ", profile.device, ", ",
                                         profile.threads, profile.threads == 1 ? " thread" : " threads")};
}

}  // namespace

RankKernels::RankKernels(std::vector<std::optional<ProfiledKernels>> kinds,
                         std::vector<std::size_t> kind_of_rank)
    : kinds_(std::move(kinds)), kind_of_rank_(std::move(kind_of_rank)) {}

std::size_t RankKernels::find_kind(int rank) const {
    return kind_of_rank_.empty() ? 0 : kind_of_rank_[static_cast<std::size_t>(rank)];
}

const ProfiledKernels* RankKernels::find_kernels(int rank) const {
    if (kinds_.empty()) return nullptr;
    const std::optional<ProfiledKernels>& kind = kinds_[find_kind(rank)];
    return kind ? &*kind : nullptr;
}

std::string RankKernels::describe_source() const {
    std::string text;
    for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
        std::vector<int> ranks;
        for (std::size_t rank = 0; rank < kind_of_rank_.size(); ++rank) {
            if (kind_of_rank_[rank] == kind) ranks.push_back(static_cast<int>(rank));
        }
        if (!kinds_[kind] || ranks.empty()) continue;
        if (ranks.size() == kind_of_rank_.size()) return kinds_[kind]->source;
        text +=
            cat(text.empty() ? "" : " and ", kinds_[kind]->source, " (", layout::ranks_to_string(ranks), ')');
    }
    return text;
}

RankKernels read_profiled_kernels(const config::RunConfig& config, int ranks) {
    if (config.costs.profiles.empty()) return {};
    const plan::RankProfiles profiles = read_profiles(config);
    const std::vector<std::string> paths = list_profile_paths(config.costs.profiles);
    std::vector<std::optional<ProfiledKernels>> kinds;
    for (std::size_t kind = 0; kind < paths.size(); ++kind)
        kinds.push_back(make_profiled_kernels(profiles.kinds[kind], paths[kind]));
    // Without a cluster, a rank whose profile has no kernels would get typical kernel times. These cannot be
    // compared with measured times, so the times of profiles are used for all ranks or for none.
    const bool have_kernels = std::ranges::all_of(kinds, [](const auto& kind) { return kind.has_value(); });
    if (config.costs.cluster.empty() && !have_kernels) return {};
    std::vector<std::size_t> kind_of_rank;
    for (int rank = 0; rank < ranks; ++rank) kind_of_rank.push_back(profiles.find_kind(rank));
    return {std::move(kinds), std::move(kind_of_rank)};
}

device::KernelTimePredictor make_kernel_seconds(const ProfiledKernels& kernels) {
    return [kernels](const device::Cost& cost, double clock) {
        const plan::KernelCall call{.flops = cost.flops, .bytes = cost.bytes, .matmul = cost.matmul};
        return kernels.times.predict_seconds(cost.kernel, call, clock) + kernels.launch;
    };
}

}  // namespace trireme::setup
