#include "run/recorder.hpp"

#include <iostream>
#include <utility>

#include "trireme/base/version.hpp"
#include "trireme/device/machine.hpp"
#include "trireme/model/model.hpp"
#include "trireme/rank/rank_gpu.hpp"
#include "trireme/setup/elastic_memory.hpp"
#include "trireme/setup/ghosts.hpp"
#include "trireme/setup/planning.hpp"

namespace trireme::run {
namespace {

std::string describe_device(const RunDescription& run) {
    if (run.job.devices) {
        const char* const simulation_note =
            setup::is_ghost_run(run.job.config) ? " (simulated, without arithmetic)" : " (simulated)";
        return cat(run.job.devices->list_names(), simulation_note);
    }
    const config::PrecisionConfig& precision = run.job.config.precision;
    if (precision.device == config::DeviceKind::cuda) return cat("cuda (", precision.device_description, ')');
    const bool is_cpu_backend = precision.device == config::DeviceKind::cpu;
    const std::string note = precision.device_description.empty() ? "" : "; " + precision.device_description;
    return cat(is_cpu_backend ? "cpu" : "reference", " (", device::read_processor_name(), note, ')');
}

}  // namespace

records::Manifest make_manifest(const RunDescription& run) {
    const setup::Job& job = run.job;
    const plan::Plan& plan = run.plan;
    return {.version = describe_version(),
            .mpi_library = run.session.library(),
            .started = records::format_now(),
            .corpus = job.corpus ? job.corpus->info().path : "",
            .corpus_checksum = job.corpus ? job.corpus->info().checksum : "",
            .model = job.model.name,
            .layout = plan::to_json(plan.layout),
            .schedule = plan.schedule,
            .plan = compute_hash(plan),
            .hosts = run.hosts,
            .cores = run.cores,
            .device = describe_device(run),
            .threads = run.threads,
            .gpu_messages = run.gpu_messages,
            .parameters = count_parameters(job.model),
            .batch = run.job.config.run.batch,
            .microbatches = static_cast<std::size_t>(plan.microbatches()),
            .dtype = to_string(job.dtype),
            .sums = to_string(accumulator_type(job.dtype)),
            .tokens_of_image = job.model.reads_images() ? std::optional(job.model.positions) : std::nullopt,
            .resumed_from = job.resumes ? job.stored_model->path() : "",
            .slow = run.job.config.emulation.slow,
            .gpu_driver = job.gpu ? job.gpu->driver() : "",
            .ranks_of_gpu = job.gpu ? job.gpu->sharer_counts() : std::vector<int>(),
            .kernel_times = job.devices ? job.kernels.describe_source() : "",
            .memory_limits = job.memory_limits};
}

Recorder::Recorder(const setup::Job& job, records::Manifest manifest, bool writes)
    : job_(job), manifest_(std::move(manifest)), flops_(setup::count_model_flops(job.model)) {
    if (writes) console_.emplace(std::cout, job);
}

void Recorder::print_head(const setup::PlanState& current, const setup::PlanOrigin& origin,
                          const setup::RankMemory& memory) {
    if (console_) console_->print_header(manifest_, current.plan, origin.explanation, memory, path().string());
}

void Recorder::open_directory() {
    if (console_) directory_ = records::open_run_directory(job_.config, job_.model.name, job_.kept_steps);
}

void Recorder::record_begin(const setup::PlanState& current, const setup::PlanOrigin& origin,
                            const setup::RankMemory& memory, const setup::PeakRate& peak) {
    manifest_.peak = peak;
    const auto ranks = static_cast<int>(manifest_.hosts.size());
    figure_sum_.emplace(flops_, peak.flops, ranks, setup::predict_schedule_bubble(current.plan, ranks));
    figure_sum_->resume_from(job_.earlier_steps);
    figure_sum_->set_skipped_fractions(
        compute_mean_skipped_fractions(current.plan.migrations, current.plan.skipped));
    if (!console_) return;
    predictor_.emplace(job_, current, ranks, peak.flops);
    console_->set_steps(current.samples.count_steps());
    directory_->write_config(job_.config.ini_text);
    directory_->write_manifest(manifest_);
    if (origin.first_decision) directory_->add_decision(*origin.first_decision);
    print_head(current, origin, memory);
    console_->print_remarks(directory_->remarks());
}

void Recorder::add_predictions(records::StepOutcome& outcome) {
    outcome.predicted_seconds = predictor_->predict_seconds(outcome.step);
    const setup::StepFit memory = predictor_->predict_memory(outcome.step);
    outcome.predicted_bytes = memory.predicted_bytes;
    outcome.recompute = memory.recompute;
    if (!setup::is_elastic(job_.config)) return;
    outcome.limit_bytes = memory.limit_bytes;
    outcome.deficit_bytes = memory.deficit_bytes;
    outcome.recomputed_bytes = memory.recomputed_bytes;
    outcome.offloaded_bytes = memory.offloaded_bytes;
}

void Recorder::record_step(records::StepOutcome outcome, const std::vector<policy::SlownessChange>& changes) {
    if (console_) add_predictions(outcome);
    figure_sum_->add(outcome);
    if (!console_) return;
    directory_->add_step(outcome.step + 1, outcome, flops_, manifest_.peak.flops);
    console_->print_step(outcome.step, outcome, flops_, manifest_.peak.flops);
    for (const policy::SlownessChange& change : changes)
        console_->report_slowness(outcome.step, change, manifest_);
    if (outcome.rank_with_full_cache)
        console_->report_full_cache(outcome.step, *outcome.rank_with_full_cache, manifest_);
}

void Recorder::record_evaluation(std::size_t step, const records::Evaluation& evaluation) {
    if (!console_) return;
    directory_->add_evaluation(step, evaluation);
    console_->print_evaluation(step, evaluation);
}

void Recorder::record_plan_change(const plan::Decision& decision, const records::PlanChange& change,
                                  const setup::PlanState& current) {
    const plan::Plan& plan = current.plan;
    const auto ranks = static_cast<int>(manifest_.hosts.size());
    figure_sum_->add_plan_change(change, setup::predict_schedule_bubble(plan, ranks));
    figure_sum_->set_skipped_fractions(compute_mean_skipped_fractions(plan.migrations, plan.skipped));
    if (!console_) return;
    predictor_.emplace(job_, current, ranks, manifest_.peak.flops);
    console_->set_steps(current.samples.count_steps());
    directory_->add_decision(decision);
    if (decision.policy != plan::reconfigure_policy) console_->report_plan_change(decision, change);
}

void Recorder::record_decision_time(double seconds) { figure_sum_->add_look(seconds); }

void Recorder::record_plan_kept(std::size_t step, const std::string& why) {
    if (why.empty() || !console_) return;
    directory_->add_kept_plan(step, why);
    console_->report_plan_kept(step, why);
}

void Recorder::record_settled_clocks(std::size_t step, const std::string& figures) {
    if (figures.empty() || !console_) return;
    directory_->add_kept_plan(step, figures);
    console_->report_settled_clocks(step, figures);
}

void Recorder::record_clock_costs(const plan::ClockCosts& costs) {
    if (directory_ && costs.are_measured()) directory_->write_clock_costs(costs);
}

void Recorder::record_save(const records::SaveOutcome& outcome) {
    if (!console_) return;
    console_->report_save(outcome);
    last_save_complaint_ = outcome.complaint;
}

void Recorder::record_save_wait(const records::SaveWait& wait) {
    if (console_) console_->report_save_wait(wait);
}

void Recorder::record_divergence(const std::string& complaint) {
    if (directory_) directory_->write_summary(figure_sum_->finish_invalid(complaint));
}

records::Figures Recorder::compute_figures(const std::optional<records::Evaluation>& validation) const {
    records::Figures figures = figure_sum_->finish(validation);
    figures.emulated_slowness = setup::describe(job_.config.emulation.slow);
    return figures;
}

void Recorder::record_end(records::Figures figures) {
    if (!console_) return;
    if (!last_save_complaint_.empty())
        figures.complaint = cat("the last checkpoint was not written: ", last_save_complaint_);
    if (figures.early_end) figures.early_end->is_saved = last_save_complaint_.empty();
    directory_->write_summary(figures);
    if (figures.early_end && figures.early_end->is_saved) directory_->write_stopped_file(*figures.early_end);
    console_->print_summary(figures, directory_->peak_description(), path().string());
}

}  // namespace trireme::run
