#include "trireme/setup/profiled_kernels.hpp"

#include <algorithm>
#include <utility>

#include "setup/costs/read_profiles.hpp"
#include "trireme/base/error.hpp"
#include "trireme/layout/layout.hpp"

namespace trireme::setup {
namespace {

std::optional<ProfiledKernels> kernels_of(const plan::Profile& profile, const std::string& path) {
    if (profile.kernels.empty()) return std::nullopt;
    return ProfiledKernels{.times = plan::KernelTimes(profile.kernels),
                           .launch = profile.launch,
                           .source = cat(path, ": ", profile.machine, ", ", profile.device, ", ",
                                         profile.threads, profile.threads == 1 ? " thread" : " threads")};
}

}  // namespace

RankKernels::RankKernels(std::vector<std::optional<ProfiledKernels>> kinds, std::vector<std::size_t> of_ranks)
    : kinds_(std::move(kinds)), of_ranks_(std::move(of_ranks)) {}

std::size_t RankKernels::kind_of(int rank) const {
    return of_ranks_.empty() ? 0 : of_ranks_[static_cast<std::size_t>(rank)];
}

const ProfiledKernels* RankKernels::of(int rank) const {
    if (kinds_.empty()) return nullptr;
    const std::optional<ProfiledKernels>& kind = kinds_[kind_of(rank)];
    return kind ? &*kind : nullptr;
}

std::string RankKernels::source() const {
    std::string text;
    for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
        std::vector<int> ranks;
        for (std::size_t rank = 0; rank < of_ranks_.size(); ++rank) {
            if (of_ranks_[rank] == kind) ranks.push_back(static_cast<int>(rank));
        }
        if (!kinds_[kind] || ranks.empty()) continue;
        if (ranks.size() == of_ranks_.size()) return kinds_[kind]->source;
        text += cat(text.empty() ? "" : " and ", kinds_[kind]->source, " (", layout::text_of_ranks(ranks), ')');
    }
    return text;
}

RankKernels profiled_kernels(const config::RunConfig& config, int ranks) {
    if (config.costs.profiles.empty() || config.costs.cluster.empty()) return {};
    const plan::RankProfiles profiles = read_profiles(config);
    const std::vector<std::string> paths = profile_paths(config.costs.profiles);
    std::vector<std::optional<ProfiledKernels>> kinds;
    for (std::size_t kind = 0; kind < paths.size(); ++kind)
        kinds.push_back(kernels_of(profiles.kinds[kind], paths[kind]));
    std::vector<std::size_t> of_ranks;
    for (int rank = 0; rank < ranks; ++rank) of_ranks.push_back(profiles.kind_of(rank));
    return {std::move(kinds), std::move(of_ranks)};
}

device::KernelSeconds kernel_seconds_of(const ProfiledKernels& kernels) {
    return [kernels](const device::Cost& cost, double clock) {
        const plan::KernelCall call{.flops = cost.flops, .bytes = cost.bytes, .product = cost.product};
        return kernels.times.seconds(cost.kernel, call, clock) + kernels.launch;
    };
}

}  // namespace trireme::setup
