// Measured kernel times for runs in simulated time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trireme/config/config.hpp"
#include "trireme/device/stream.hpp"
#include "trireme/plan/kernel_times.hpp"

namespace trireme::setup {

struct ProfiledKernels {
    plan::KernelTimes times;
    double launch = 0;   // seconds between the starts of two kernels
    std::string source;  // e.g. "gpt2.json: Intel Xeon, cpu, 1 thread"
};

// Measured kernel times by rank; some ranks may have none.
class RankKernels {
public:
    RankKernels() = default;  // no rank has kernel times
    RankKernels(std::vector<std::optional<ProfiledKernels>> kinds, std::vector<std::size_t> of_ranks);

    // Returns the index of a rank's device among the profiles, even if that profile has no kernels.
    std::size_t kind_of(int rank) const;
    const ProfiledKernels* of(int rank) const;  // null if the rank's device uses its described rates

    // Returns the source for all ranks, e.g. "a.json: Intel Xeon, cpu, 1 thread (ranks 0-3) and b.json: ...
    // (ranks 4-7)". Ranks are omitted if one source serves all; empty if no rank has kernel times.
    std::string source() const;

private:
    std::vector<std::optional<ProfiledKernels>> kinds_;
    std::vector<std::size_t> of_ranks_;
};

// Returns the kernel times of --profile in a simulated run; empty if --profile is not given. Throws ConfigError
// for the reasons of read_profiles().
RankKernels profiled_kernels(const config::RunConfig& config, int ranks);

// Returns a function that computes kernel times from the profile instead of the device's rates.
device::KernelSeconds kernel_seconds_of(const ProfiledKernels& kernels);

}  // namespace trireme::setup
