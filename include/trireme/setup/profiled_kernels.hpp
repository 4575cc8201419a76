// Measured kernel times of the ranks.
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
    double launch = 0;   // seconds to launch a kernel, in addition to the kernel's own seconds
    std::string source;  // for example "gpt2.json: Intel Xeon, cpu, 1 thread"
};

// Measured kernel times per rank. Ranks with equal devices share a profile. A profile may have no kernels.
class RankKernels {
public:
    RankKernels() = default;  // no rank has kernel times
    // `kinds` has one entry per profile; an entry is empty if its profile has no kernels. `kind_of_rank` has
    // one entry per rank: the index of its profile in `kinds`.
    RankKernels(std::vector<std::optional<ProfiledKernels>> kinds, std::vector<std::size_t> kind_of_rank);

    // Returns the index of the rank's profile; 0 if there are no profiles.
    std::size_t find_kind(int rank) const;
    const ProfiledKernels* find_kernels(int rank) const;  // null if the rank has no kernel times

    // Describes the sources of all ranks, for example "a.json: Intel Xeon, cpu, 1 thread (ranks 0-3) and
    // b.json: ... (ranks 4-7)". The text omits rank numbers if all ranks have the same source. Empty if no rank
    // has kernel times.
    std::string describe_source() const;

private:
    std::vector<std::optional<ProfiledKernels>> kinds_;  // per profile
    std::vector<std::size_t> kind_of_rank_;
};

// Returns the kernel times of --profile; none if the option is not set. Without --cluster, no rank has kernel
// times if any profile lacks kernels. With --cluster, only the ranks of such a profile have none. Throws the
// errors of read_profiles().
RankKernels read_profiled_kernels(const config::RunConfig& config, int ranks);

// Returns a function that predicts the seconds of a kernel, including its launch, from the kernel times of a
// profile. The function holds a copy of `kernels`.
device::KernelTimePredictor make_kernel_seconds(const ProfiledKernels& kernels);

}  // namespace trireme::setup
