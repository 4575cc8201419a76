#include "trireme/setup/device_choice.hpp"

#include <algorithm>
#include <array>

#include "trireme/base/error.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/device/gpu.hpp"

namespace trireme::setup {
namespace {

constexpr int min_capability = 80;  // compute capability 8.0: tensor cores with bf16

std::string format_capability(int capability) { return cat(capability / 10, '.', capability % 10); }

// Returns the number of ranks on this rank's node that are lower than this rank.
std::size_t count_lower_ranks_on_node(const comm::Session& session) {
    const auto own_node = session.nodes().begin() + session.rank();
    return static_cast<std::size_t>(std::count(session.nodes().begin(), own_node, session.node()));
}

// The GPU of a rank, or the reason why the rank has no suitable GPU.
struct OwnGpu {
    device::GpuFacts gpu = {};
    std::string complaint = {};  // empty if `gpu` is suitable
};

OwnGpu find_own_gpu(const comm::Session& session) {
    const device::GpuSearch search = device::find_gpus();
    if (search.gpus.empty()) return {.complaint = search.complaint};
    OwnGpu own_gpu{.gpu = search.gpus[count_lower_ranks_on_node(session) % search.gpus.size()]};
    if (own_gpu.gpu.capability < min_capability) {
        own_gpu.complaint =
            cat("its ", own_gpu.gpu.name, " has compute capability ", format_capability(own_gpu.gpu.capability),
                ", but the kernels need ", format_capability(min_capability), " or higher");
    }
    return own_gpu;
}

// Returns the distinct names in `gpu_names`, separated by commas.
std::string join_distinct_names(const std::vector<std::string>& gpu_names) {
    std::string text;
    std::vector<std::string> distinct_names;
    for (const std::string& name : gpu_names) {
        if (std::ranges::find(distinct_names, name) != distinct_names.end()) continue;
        text += (distinct_names.empty() ? "" : ", ") + name;
        distinct_names.push_back(name);
    }
    return text;
}

// Returns the lowest rank without a suitable GPU, or nothing if all ranks have one. `complaints` holds one
// OwnGpu::complaint per rank.
std::optional<std::size_t> find_first_rank_without_gpu(const std::vector<std::string>& complaints) {
    const auto found =
        std::ranges::find_if(complaints, [](const std::string& complaint) { return !complaint.empty(); });
    if (found == complaints.end()) return std::nullopt;
    return static_cast<std::size_t>(found - complaints.begin());
}

// Called if a rank has no suitable GPU. Throws ConfigError if --device cuda is set. Otherwise sets the device
// to the CPU. If other ranks have suitable GPUs, describes why these are not used.
void fall_back_to_cpu(config::PrecisionConfig& precision, const std::vector<std::string>& complaints) {
    const std::size_t rank = *find_first_rank_without_gpu(complaints);
    if (precision.device == config::DeviceKind::cuda) {
        throw ConfigError(cat("--device cuda needs a suitable GPU on every rank, but rank ", rank,
                              " has none: ", complaints[rank],
                              "; use --device cpu, or give each rank a suitable GPU"));
    }
    precision.device = config::DeviceKind::cpu;
    const bool has_unused_gpus =
        std::ranges::any_of(complaints, [](const std::string& complaint) { return complaint.empty(); });
    if (has_unused_gpus)
        precision.device_description =
            cat("GPUs are not used, because rank ", rank, " has no suitable one: ", complaints[rank]);
}

// Collective. Sets the free and the usable memory of each rank. Ranks that share a GPU have equal portions of
// its free memory. The usable memory lacks a reserve of 5 % for libraries that allocate memory later.
void gather_gpu_memory(int gpu, const comm::Session& session, comm::Communicator& control,
                       config::PrecisionConfig& precision) {
    constexpr double usable_fraction = 0.95;
    const std::vector<double> gpus = all_gather(control, std::array{static_cast<double>(gpu)});
    const std::vector<double> free_bytes =
        all_gather(control, std::array{static_cast<double>(device::count_free_gpu_bytes())});
    for (std::size_t rank = 0; rank < gpus.size(); ++rank) {
        double sharing_ranks = 0;
        for (std::size_t other = 0; other < gpus.size(); ++other)
            sharing_ranks +=
                session.nodes()[other] == session.nodes()[rank] && gpus[other] == gpus[rank] ? 1 : 0;
        const double portion = free_bytes[rank] / sharing_ranks;
        precision.free_gpu_memory.push_back(static_cast<std::size_t>(portion));
        precision.usable_gpu_memory.push_back(static_cast<std::size_t>(usable_fraction * portion));
    }
}

}  // namespace

config::RunConfig choose_device(config::RunConfig config, const comm::Session& session,
                                comm::Communicator& control) {
    config::PrecisionConfig& precision = config.precision;
    if (precision.device != config::DeviceKind::cuda && precision.device != config::DeviceKind::automatic)
        return config;
    if (device::time_is_simulated()) {
        if (precision.device == config::DeviceKind::cuda)
            throw ConfigError("--device cuda: a simulated job has no GPU; use --device cpu, or --math off");
        precision.device = config::DeviceKind::cpu;
        return config;
    }
    const OwnGpu own_gpu = find_own_gpu(session);
    const std::vector<std::string> complaints = all_gather(control, own_gpu.complaint);
    if (find_first_rank_without_gpu(complaints)) {
        fall_back_to_cpu(precision, complaints);
        return config;
    }
    device::select_gpu(own_gpu.gpu.number);
    precision.device = config::DeviceKind::cuda;
    precision.device_description = join_distinct_names(all_gather(control, own_gpu.gpu.name));
    gather_gpu_memory(own_gpu.gpu.number, session, control, precision);
    return config;
}

}  // namespace trireme::setup
