// What kernels are said to take where time is simulated and a machine like it was measured.
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
    double launch = 0;   // seconds from one to the next
    std::string source;  // "gpt2.json: Intel Xeon, cpu, 1 thread"
};

// On the device of each rank; some may have none.
class RankKernels {
public:
    RankKernels() = default;  // nobody has any
    RankKernels(std::vector<std::optional<ProfiledKernels>> kinds, std::vector<std::size_t> of_ranks);

    // Which of the measured devices a rank's is, whether kernels were measured there or not.
    std::size_t kind_of(int rank) const;
    const ProfiledKernels* of(int rank) const;  // null: it goes by its rates

    // Of all ranks: that of one, or "a.json: Intel Xeon, cpu, 1 thread (ranks 0-3) and b.json: ... (ranks
    // 4-7)"; empty: nobody has any.
    std::string source() const;

private:
    std::vector<std::optional<ProfiledKernels>> kinds_;
    std::vector<std::size_t> of_ranks_;
};

// Those of --profile, in a simulated run; none where it is not given, or measured none. Throws ConfigError for
// a file that cannot be read or is no profile, and likewise: see read_profiles().
RankKernels profiled_kernels(const config::RunConfig& config, int ranks);

// What they take in place of what the device's rates say.
device::KernelSeconds kernel_seconds_of(const ProfiledKernels& kernels);

}  // namespace trireme::setup
