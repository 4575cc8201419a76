#include "run/manifest_of.hpp"

#include "trireme/base/version.hpp"
#include "trireme/device/machine.hpp"
#include "trireme/model/model.hpp"
#include "trireme/setup/ghosts.hpp"

namespace trireme {
namespace {

std::string device_text(const RunPlace& run) {
    if (run.setup.devices) {
        const char* const how = is_of_ghosts(run.config) ? " (simulated, without arithmetic)" : " (simulated)";
        return cat(run.setup.devices->names(), how);
    }
    const PrecisionConfig& precision = run.config.precision;
    if (precision.device == DeviceKind::cuda) return cat("cuda (", precision.device_words, ')');
    const bool is_fast = precision.device == DeviceKind::cpu;
    const std::string note = precision.device_words.empty() ? "" : "; " + precision.device_words;
    return cat(is_fast ? "cpu" : "reference", " (", processor_name(), note, ')');
}

}  // namespace

Manifest manifest_of(const RunPlace& run) {
    const Setup& setup = run.setup;
    return {.version = version(),
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
            .gpu_messages = run.gpu_messages,
            .parameters = parameter_count(setup.model),
            .batch = run.config.run.batch,
            .microbatches = static_cast<std::size_t>(setup.plan.micro_batches()),
            .dtype = name_of(setup.dtype),
            .sums = name_of(wide_of(setup.dtype)),
            .tokens_of_image = setup.model.reads_images() ? std::optional(setup.model.positions) : std::nullopt,
            .resumed_from = setup.resumes ? setup.stored->place() : "",
            .slow = run.config.emulation.slow,
            .gpu_driver = setup.gpu ? setup.gpu->driver() : "",
            .ranks_of_gpu = setup.gpu ? setup.gpu->sharers() : std::vector<int>(),
            .kernel_times = setup.kernels.source()};
}

}  // namespace trireme
