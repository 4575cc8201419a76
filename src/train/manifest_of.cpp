#include "train/manifest_of.hpp"

#include "train/ghosts.hpp"
#include "trireme/base/version.hpp"
#include "trireme/device/machine.hpp"
#include "trireme/model/model.hpp"

namespace trireme {
namespace {

std::string device_text(const RunPlace& run) {
    if (run.setup.devices) {
        const char* const how = is_of_ghosts(run.config) ? " (simulated, without arithmetic)" : " (simulated)";
        return cat(run.setup.devices->names(), how);
    }
    const bool is_fast = run.config.precision.device == DeviceKind::cpu;
    return cat(is_fast ? "cpu" : "reference", " (", processor_name(), ")");
}

}  // namespace

Manifest manifest_of(const RunPlace& run) {
    const Setup& setup = run.setup;
    return {.version = build_facts().version,
            .mpi_library = run.session.library(),
            .started = now_text(),
            .corpus = setup.corpus ? setup.corpus->info().path : "",
            .corpus_checksum = setup.corpus ? setup.corpus->info().checksum : "",
            .model = setup.model.name,
            .layout = json_of(setup.plan.layout),
            .schedule = setup.plan.schedule,
            .plan = hash_of(setup.plan),
            .hosts = run.hosts,
            .cores = run.cores,
            .device = device_text(run),
            .threads = run.threads,
            .parameters = parameter_count(setup.model),
            .resumed_from = setup.resumes ? setup.stored->place() : "",
            .slow = run.config.emulation.slow,
            .gpu_driver = setup.gpu ? setup.gpu->driver() : "",
            .ranks_of_gpu = setup.gpu ? setup.gpu->sharers() : std::vector<int>(),
            .kernel_times = setup.kernels.source()};
}

}  // namespace trireme
