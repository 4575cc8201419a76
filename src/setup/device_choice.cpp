#include "trireme/setup/device_choice.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/device/gpu.hpp"

namespace trireme::setup {
namespace {

constexpr int least_capability = 80;  // compute capability 8.0: tensor cores with bf16

std::string version_text(int capability) { return cat(capability / 10, '.', capability % 10); }

// Returns the number of lower ranks on this rank's node.
std::size_t number_on_node(const comm::Session& session) {
    const auto own = session.nodes().begin() + session.rank();
    return static_cast<std::size_t>(std::count(session.nodes().begin(), own, session.node()));
}

// The GPU of a rank, or the reason why it has none.
struct OwnGpu {
    device::GpuFacts gpu = {};
    std::string complaint = {};
};

OwnGpu own_gpu(const comm::Session& session) {
    const device::GpuSearch search = device::find_gpus();
    if (search.gpus.empty()) return {.complaint = search.complaint};
    OwnGpu own{.gpu = search.gpus[number_on_node(session) % search.gpus.size()]};
    if (own.gpu.capability < least_capability) {
        own.complaint = cat("its ", own.gpu.name, " has compute capability ", version_text(own.gpu.capability),
                            ", and kernels need ", version_text(least_capability));
    }
    return own;
}

// Returns the distinct names of all ranks' GPUs.
std::string names_of(const std::vector<std::string>& of_ranks) {
    std::string names;
    std::vector<std::string> known;
    for (const std::string& name : of_ranks) {
        if (std::ranges::find(known, name) != known.end()) continue;
        names += (known.empty() ? "" : ", ") + name;
        known.push_back(name);
    }
    return names;
}

// Returns the first rank without a GPU, if any.
std::optional<std::size_t> first_without(const std::vector<std::string>& complaints) {
    const auto found = std::ranges::find_if(complaints, [](const std::string& each) { return !each.empty(); });
    if (found == complaints.end()) return std::nullopt;
    return static_cast<std::size_t>(found - complaints.begin());
}

void settle_for_processors(config::PrecisionConfig& precision, const std::vector<std::string>& complaints) {
    const std::size_t rank = *first_without(complaints);
    if (precision.device == config::DeviceKind::cuda) {
        throw ConfigError(cat("--device cuda: rank ", rank, " has no GPU to compute on: ", complaints[rank],
                              "; use --device cpu, or have the job give each rank a GPU"));
    }
    precision.device = config::DeviceKind::cpu;
    const bool has_any = std::ranges::any_of(complaints, [](const std::string& each) { return each.empty(); });
    if (has_any) precision.device_words = cat("not on GPUs: rank ", rank, " has none: ", complaints[rank]);
}

}  // namespace

config::RunConfig with_device_of_ranks(config::RunConfig config, const comm::Session& session,
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
    const OwnGpu own = own_gpu(session);
    const std::vector<std::string> complaints = gather_all(control, own.complaint);
    if (first_without(complaints)) {
        settle_for_processors(precision, complaints);
        return config;
    }
    device::use_gpu(own.gpu.number);
    precision.device = config::DeviceKind::cuda;
    precision.device_words = names_of(gather_all(control, own.gpu.name));
    return config;
}

}  // namespace trireme::setup
