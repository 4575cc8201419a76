#include "train/profiled_kernels.hpp"

#include "train/measured_layout.hpp"
#include "train/text_file.hpp"
#include "trireme/base/error.hpp"

namespace trireme {

std::optional<ProfiledKernels> profiled_kernels(const RunConfig& config) {
    const std::string& path = config.costs.profile;
    if (path.empty() || config.costs.cluster.empty()) return std::nullopt;
    const Profile profile = profile_from_json(read_text(path, "--profile"), path);
    check_numbers(profile, config);
    if (profile.kernels.empty()) return std::nullopt;
    return ProfiledKernels{.times = KernelTimes(profile.kernels),
                           .launch = profile.launch,
                           .source = cat(path, ": ", profile.machine, ", ", profile.device, ", ",
                                         profile.threads, profile.threads == 1 ? " thread" : " threads")};
}

KernelSeconds kernel_seconds_of(const ProfiledKernels& kernels) {
    return [kernels](const Cost& cost, double clock) {
        const KernelCall call{.flops = cost.flops, .bytes = cost.bytes, .product = cost.product};
        return kernels.times.seconds(cost.kernel, call, clock) + kernels.launch;
    };
}

}  // namespace trireme
