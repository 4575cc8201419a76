#include "run/recorder.hpp"

#include <iostream>
#include <utility>

#include "trireme/base/version.hpp"
#include "trireme/device/machine.hpp"
#include "trireme/model/model.hpp"
#include "trireme/rank/rank_gpu.hpp"
#include "trireme/setup/ghosts.hpp"
#include "trireme/setup/planning.hpp"

namespace trireme::run {
namespace {

std::string device_text(const RunPlace& run) {
    if (run.job.devices) {
        const char* const how =
            setup::is_of_ghosts(run.job.config) ? " (simulated, without arithmetic)" : " (simulated)";
        return cat(run.job.devices->names(), how);
    }
    const config::PrecisionConfig& precision = run.job.config.precision;
    if (precision.device == config::DeviceKind::cuda) return cat("cuda (", precision.device_words, ')');
    const bool is_fast = precision.device == config::DeviceKind::cpu;
    const std::string note = precision.device_words.empty() ? "" : "; " + precision.device_words;
    return cat(is_fast ? "cpu" : "reference", " (", device::processor_name(), note, ')');
}

}  // namespace

records::Manifest make_manifest(const RunPlace& run) {
    const setup::Job& job = run.job;
    const plan::Plan& plan = run.plan;
    return {.version = version(),
            .mpi_library = run.session.library(),
            .started = records::now_text(),
            .corpus = job.corpus ? job.corpus->info().path : "",
            .corpus_checksum = job.corpus ? job.corpus->info().checksum : "",
            .model = job.model.name,
            .layout = plan::json_of(plan.layout),
            .schedule = plan.schedule,
            .plan = hash_of(plan),
            .hosts = run.hosts,
            .cores = run.cores,
            .device = device_text(run),
            .threads = run.threads,
            .gpu_messages = run.gpu_messages,
            .parameters = parameter_count(job.model),
            .batch = run.job.config.run.batch,
            .microbatches = static_cast<std::size_t>(plan.microbatches()),
            .dtype = name_of(job.dtype),
            .sums = name_of(wide_of(job.dtype)),
            .tokens_of_image = job.model.reads_images() ? std::optional(job.model.positions) : std::nullopt,
            .resumed_from = job.resumes ? job.stored->place() : "",
            .slow = run.job.config.emulation.slow,
            .gpu_driver = job.gpu ? job.gpu->driver() : "",
            .ranks_of_gpu = job.gpu ? job.gpu->sharers() : std::vector<int>(),
            .kernel_times = job.kernels.source()};
}

Recorder::Recorder(const setup::Job& job, records::Manifest manifest, bool writes)
    : job_(job), manifest_(std::move(manifest)), flops_(setup::model_flops(job.model)) {
    if (writes) console_.emplace(std::cout, job);
}

void Recorder::introduce(const setup::PlanState& current, const setup::PlanOrigin& origin,
                         const setup::RankMemory& memory) {
    if (console_) console_->introduce(manifest_, current.plan, origin.words, memory, path().string());
}

void Recorder::open_directory() {
    if (console_) directory_ = records::open_run_directory(job_.config, job_.model.name, job_.kept_steps);
}

void Recorder::begin(const setup::PlanState& current, const setup::PlanOrigin& origin,
                     const setup::RankMemory& memory, const setup::PeakRate& peak) {
    manifest_.peak = peak;
    const auto ranks = static_cast<int>(manifest_.hosts.size());
    sum_.emplace(flops_, peak.flops, ranks, setup::bubble_of_schedule(current.plan, ranks));
    sum_->go_on_from(job_.earlier);
    sum_->leave_out(left_out_shares(current.plan.migrations, current.plan.left_out));
    if (!console_) return;
    directory_->write_config(job_.config.resolved);
    directory_->write_manifest(manifest_);
    introduce(current, origin, memory);
    console_->remarks(directory_->remarks());
}

void Recorder::step(const records::StepOutcome& outcome, const std::vector<policy::SlownessChange>& changes) {
    sum_->add(outcome);
    if (!console_) return;
    directory_->add_step(outcome.step + 1, outcome, flops_, manifest_.peak.flops);
    console_->step(outcome.step, outcome, flops_, manifest_.peak.flops);
    for (const policy::SlownessChange& change : changes) console_->slowness(outcome.step, change, manifest_);
}

void Recorder::evaluation(std::size_t step, const records::Evaluation& evaluation) {
    if (!console_) return;
    directory_->add_evaluation(step, evaluation);
    console_->evaluation(step, evaluation);
}

void Recorder::change_plan(const plan::Decision& decision, const records::PlanChange& change,
                           const plan::Plan& plan) {
    sum_->add_change_of_plan(change, setup::bubble_of_schedule(plan, static_cast<int>(manifest_.hosts.size())));
    sum_->leave_out(left_out_shares(plan.migrations, plan.left_out));
    if (!console_) return;
    directory_->add_decision(decision);
    console_->change_of_plan(decision, change);
}

void Recorder::look(double seconds) { sum_->add_look(seconds); }

void Recorder::no_change(std::size_t step, const std::string& why) {
    if (why.empty() || !console_) return;
    directory_->add_no_change(step, why);
    console_->no_change(step, why);
}

void Recorder::saved(const records::SaveOutcome& outcome) {
    if (!console_) return;
    console_->saved(outcome);
    lost_ = outcome.complaint;
}

void Recorder::waited_to_save(const records::SaveWait& wait) {
    if (console_) console_->waited_to_save(wait);
}

void Recorder::diverged(const std::string& complaint) {
    if (directory_) directory_->write_summary(sum_->finish_invalid(complaint));
}

records::Figures Recorder::figures(const std::optional<records::Evaluation>& validation) const {
    records::Figures figures = sum_->finish(validation);
    figures.slowed = setup::words_of(job_.config.emulation.slow);
    return figures;
}

void Recorder::finish(records::Figures figures) {
    if (!console_) return;
    if (!lost_.empty()) figures.complaint = cat("the last checkpoint was not written: ", lost_);
    if (figures.stopped) figures.stopped->is_saved = lost_.empty();
    directory_->write_summary(figures);
    if (figures.stopped && figures.stopped->is_saved) directory_->write_stopped(*figures.stopped);
    console_->finish(figures, directory_->peak_is(), path().string());
}

}  // namespace trireme::run
