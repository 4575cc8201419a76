#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "trireme/base/numbers.hpp"
#include "trireme/comm/agreement.hpp"
#include "trireme/kernels/read.hpp"
#include "trireme/rank/evaluate_samples.hpp"
#include "trireme/rank/gpu_groups.hpp"
#include "trireme/rank/rank_model.hpp"
#include "trireme/rank/watchdog.hpp"
#include "trireme/run/train.hpp"
#include "trireme/setup/device_choice.hpp"
#include "trireme/setup/memory_prediction.hpp"
#include "trireme/setup/node_share.hpp"
#include "trireme/setup/profile_choice.hpp"

namespace trireme::run {
namespace {

void print_evaluation(const setup::Job& job, const records::Evaluation& evaluation, std::ostream& out) {
    out << fmt::format("model         {} ({}, {}), step {}\n", job.stored_model->path(), job.model.name,
                       to_string(job.model.task), job.stored_model->step());
    const checkpoint::LoadReport report =
        check_parameters(*job.stored_model, list_unique_parameters(build_layers(job.model)));
    if (!report.unused_tensors.empty()) {
        out << fmt::format("unused        {} that the model does not have: {}{}\n",
                           format_count(report.unused_tensors.size(), "stored tensor"),
                           report.unused_tensors.front(), report.unused_tensors.size() > 1 ? ", ..." : "");
    }
    out << fmt::format("corpus        {}: {}, {}\n", job.corpus->info().path,
                       format_count(evaluation.samples, "sample"), format_count(evaluation.targets, "target"));
    out << fmt::format("loss          {:.6f} per target\n", evaluation.loss);
    if (evaluation.has_perplexity)
        out << fmt::format("perplexity    {:.4f}\n", evaluation.compute_perplexity());
    if (evaluation.accuracy) out << fmt::format("accuracy      {:.2f} %\n", 100 * *evaluation.accuracy);
    if (evaluation.exact_match) out << fmt::format("exact match   {:.2f} %\n", 100 * *evaluation.exact_match);
    if (evaluation.f1) out << fmt::format("F1            {:.2f} %\n", 100 * *evaluation.f1);
    out << std::flush;
}

void write_json(const setup::Job& job, const records::Evaluation& evaluation, const std::string& path) {
    nlohmann::ordered_json figures{{"model", job.stored_model->path()},
                                   {"step", job.stored_model->step()},
                                   {"task", to_string(job.model.task)},
                                   {"corpus", job.corpus->info().path},
                                   {"corpus_sha256", job.corpus->info().checksum},
                                   {"samples", evaluation.samples},
                                   {"targets", evaluation.targets},
                                   {"loss", evaluation.loss}};
    if (evaluation.has_perplexity) figures["perplexity"] = evaluation.compute_perplexity();
    if (evaluation.accuracy) figures["accuracy"] = *evaluation.accuracy;
    if (evaluation.exact_match) figures["exact_match"] = *evaluation.exact_match;
    if (evaluation.f1) figures["f1"] = *evaluation.f1;
    std::ofstream file(path);
    file << figures.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n' << std::flush;
    if (!file) throw ConfigError(cat("--output ", path, " could not be written; name another file"));
}

// Throws ConfigError if --output cannot be written. Called before the evaluation, which may take long. An
// existing file is never replaced, because it may be the corpus or a part of the model.
void check_output(const std::string& path) {
    if (path.empty()) return;
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::absolute(path, error).parent_path();
    if (std::filesystem::symlink_status(path, error).type() != std::filesystem::file_type::not_found) {
        throw ConfigError(
            cat("--output ", path, " already exists or cannot be accessed; remove it, or name another file"));
    }
    if (std::filesystem::is_directory(folder, error)) return;
    throw ConfigError(cat("--output ", path, " cannot be written: there is no folder ", folder.string(),
                          "; create it, or name another file"));
}

// Returns the name of a parameter with a value that is not finite; empty if all values are finite.
std::string find_non_finite_parameter(device::Stream& stream, const stage::LocalParameters& parameters) {
    for (std::size_t i = 0; i < parameters.specs().size(); ++i) {
        const std::vector<double> values = kernels::read_values(stream, parameters.values()[i]);
        if (!std::ranges::all_of(values, [](double value) { return std::isfinite(value); }))
            return parameters.specs()[i].name;
    }
    return {};
}

// Throws ConfigError if the loss is not finite. If this rank holds a non-finite parameter, the message names
// that parameter.
void check_finite(const setup::Job& job, rank::RankModel& model, device::Stream& stream,
                  const records::Evaluation& evaluation) {
    if (std::isfinite(evaluation.loss)) return;
    const std::string non_finite_parameter =
        model.is_idle() ? "" : find_non_finite_parameter(stream, model.stages().parameters());
    throw ConfigError(cat("the loss of the model ", job.stored_model->path(), " is ", evaluation.loss, ": ",
                          non_finite_parameter.empty()
                              ? "the activations probably overflow"
                              : cat("the parameter ", non_finite_parameter, " has values that are not finite"),
                          "; use an earlier checkpoint"));
}

}  // namespace

void evaluate(const config::EvaluateConfig& requested_config, comm::Session& session) {
    rank::Watchdog watchdog(session, requested_config.run.run.stall_timeout);
    const auto control = session.make_group_of_all_ranks("control", watchdog.wait_policy());
    config::EvaluateConfig config = requested_config;
    config.run = setup::assign_profiles_to_ranks(setup::choose_device(requested_config.run, session, *control),
                                                 session, *control);
    const config::RunOptions& run = config.run.run;
    std::optional<setup::Setup> setup;
    run_or_fail_together(*control, [&] {
        if (session.rank() == 0) check_output(config.output);
        setup = setup::set_up_evaluation(config, session.size());
    });
    require_same_setup(*control, *setup);
    const setup::Job& job = setup->job;
    const setup::PlanState& current = setup->current;
    const std::size_t predicted_bytes =
        setup::predict_rank_memory({job, current}, nullptr, current.gradients, session.rank()).total();
    setup::require_memory(predicted_bytes, job.memory_space, session, *control);
    device::Stream stream =
        rank::make_stream(config.run.precision.device, setup::choose_threads(config.run, session, *control));
    const rank::GpuTransport transport = rank::choose_gpu_transport(config.run, session, *control);
    const rank::GroupResources resources = make_group_resources(stream, transport, watchdog);
    rank::RankModel model(job, current, session.rank(),
                          make_groups(session, current.plan, current.gradients.buckets, resources));
    const comm::AbortMessagesOnException messages(watchdog.progress_engine());
    watchdog.set_position_callback([&] { return model.describe_position(); });
    const double stall_limit_seconds =
        rank::choose_stall_limit(current.plan, session.rank(), run.stall_timeout);
    rank::read_with_unlimited_wait(*control, stall_limit_seconds, [&] {
        const checkpoint::ReadProgress progress(*job.stored_model, model.count_stored_bytes(*job.stored_model),
                                                run.quiet || session.rank() != 0);
        model.fill(stream, run.seed, {.stored = &*job.stored_model});
    });
    const records::Evaluation evaluation = evaluate_samples(model, stream, job, current, *control);
    run_or_fail_together(*control, [&] { check_finite(job, model, stream, evaluation); });
    if (session.rank() != 0) return;
    print_evaluation(job, evaluation, std::cout);
    if (!config.output.empty()) write_json(job, evaluation, config.output);
}

}  // namespace trireme::run
