// Measured kernel times for runs in simulated time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trireme/config/config.hpp"
#include "trireme/device/stream.hpp"
#include "trireme/plan/kernel_times.hpp"

namespace trireme::setup {

// The kernel times of one profile.
struct ProfiledKernels {
    plan::KernelTimes times;
    double launch = 0;   // seconds of launching a kernel, in addition to its time
    std::string source;  // e.g. "gpt2.json: Intel Xeon, cpu, 1 thread"
};

// Measured kernel times per rank. Ranks with equal devices share a profile; some profiles have no kernels.
class RankKernels {
public:
    RankKernels() = default;  // no rank has kernel times
    RankKernels(std::vector<std::optional<ProfiledKernels>> kinds, std::vector<std::size_t> kind_of_rank);

    // Returns the index of the rank's profile.
    std::size_t find_kind(int rank) const;
    const ProfiledKernels* find_kernels(int rank) const;  // null if the rank's profile has none

    // Returns the source for all ranks, e.g. "a.json: Intel Xeon, cpu, 1 thread (ranks 0-3) and b.json: ...
    // (ranks 4-7)". Ranks are omitted if one source serves all; empty if no rank has kernel times.
    std::string describe_source() const;

private:
    std::vector<std::optional<ProfiledKernels>> kinds_;  // per profile, i.e. kind of device
    std::vector<std::size_t> kind_of_rank_;
};

// Returns the kernel times of --profile in a simulated run; empty if --profile or --cluster is not given.
// Throws ConfigError for the reasons of read_profiles().
RankKernels read_profiled_kernels(const config::RunConfig& config, int ranks);

// Returns a function that computes kernel times from a profile, instead of from the rates of a cluster file.
device::KernelTimePredictor make_kernel_seconds(const ProfiledKernels& kernels);

}  // namespace trireme::setup
