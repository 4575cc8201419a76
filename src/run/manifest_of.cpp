#include "run/manifest_of.hpp"

#include "trireme/base/version.hpp"
#include "trireme/device/machine.hpp"
#include "trireme/model/model.hpp"
#include "trireme/setup/ghosts.hpp"

namespace trireme {
namespace {

std::string device_text(const RunPlace& run) {
    if (run.job.devices) {
        const char* const how =
            is_of_ghosts(run.job.config) ? " (simulated, without arithmetic)" : " (simulated)";
        return cat(run.job.devices->names(), how);
    }
    const PrecisionConfig& precision = run.job.config.precision;
    if (precision.device == DeviceKind::cuda) return cat("cuda (", precision.device_words, ')');
    const bool is_fast = precision.device == DeviceKind::cpu;
    const std::string note = precision.device_words.empty() ? "" : "; " + precision.device_words;
    return cat(is_fast ? "cpu" : "reference", " (", processor_name(), note, ')');
}

}  // namespace

Manifest manifest_of(const RunPlace& run) {
    const Job& job = run.job;
    const Plan& plan = run.plan;
    return {.version = version(),
            .mpi_library = run.session.library(),
            .started = now_text(),
            .corpus = job.corpus ? job.corpus->info().path : "",
            .corpus_checksum = job.corpus ? job.corpus->info().checksum : "",
            .model = job.model.name,
            .layout = json_of(plan.layout),
            .schedule = plan.schedule,
            .plan = hash_of(plan),
            .hosts = run.hosts,
            .cores = run.cores,
            .device = device_text(run),
            .threads = run.threads,
            .gpu_messages = run.gpu_messages,
            .parameters = parameter_count(job.model),
            .batch = run.job.config.run.batch,
            .micro_batches = static_cast<std::size_t>(plan.micro_batches()),
            .dtype = name_of(job.dtype),
            .sums = name_of(wide_of(job.dtype)),
            .tokens_of_image = job.model.reads_images() ? job.model.positions : 0,
            .resumed_from = job.resumes ? job.stored->place() : "",
            .slow = run.job.config.emulation.slow,
            .gpu_driver = job.gpu ? job.gpu->driver() : "",
            .ranks_of_gpu = job.gpu ? job.gpu->sharers() : std::vector<int>(),
            .kernel_times = job.kernels.source()};
}

}  // namespace trireme
