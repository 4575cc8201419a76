#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "trireme/comm/agreement.hpp"
#include "trireme/kernels/read.hpp"
#include "trireme/rank/evaluate_samples.hpp"
#include "trireme/rank/gpu_groups.hpp"
#include "trireme/rank/rank_model.hpp"
#include "trireme/rank/watchdog.hpp"
#include "trireme/run/train.hpp"
#include "trireme/setup/device_choice.hpp"
#include "trireme/setup/node_share.hpp"
#include "trireme/setup/plan_memory.hpp"
#include "trireme/setup/profile_choice.hpp"

namespace trireme::run {
namespace {

void print(const setup::Job& job, const records::Evaluation& e, std::ostream& out) {
    out << fmt::format("model         {} ({}, {}), step {}\n", job.stored->place(), job.model.name,
                       name_of(job.model.task), job.stored->step());
    const checkpoint::LoadReport report = check_fit(*job.stored, unique_parameters(build_layers(job.model)));
    if (!report.unused.empty()) {
        out << fmt::format("unused        {} stored tensors that the model has no place for: {}, ...\n",
                           report.unused.size(), report.unused.front());
    }
    out << fmt::format("corpus        {}: {} samples, {} targets\n", job.corpus->info().path, e.samples,
                       e.targets);
    out << fmt::format("loss          {:.6f} per target\n", e.loss);
    if (e.has_perplexity) out << fmt::format("perplexity    {:.4f}\n", e.perplexity());
    if (e.accuracy) out << fmt::format("accuracy      {:.2f} %\n", 100 * *e.accuracy);
    if (e.exact_match) out << fmt::format("exact match   {:.2f} %\n", 100 * *e.exact_match);
    if (e.f1) out << fmt::format("F1            {:.2f} %\n", 100 * *e.f1);
    out << std::flush;
}

void write_json(const setup::Job& job, const records::Evaluation& e, const std::string& path) {
    nlohmann::ordered_json figures{{"model", job.stored->place()},
                                   {"step", job.stored->step()},
                                   {"task", name_of(job.model.task)},
                                   {"corpus", job.corpus->info().path},
                                   {"corpus_sha256", job.corpus->info().checksum},
                                   {"samples", e.samples},
                                   {"targets", e.targets},
                                   {"loss", e.loss}};
    if (e.has_perplexity) figures["perplexity"] = e.perplexity();
    if (e.accuracy) figures["accuracy"] = *e.accuracy;
    if (e.exact_match) figures["exact_match"] = *e.exact_match;
    if (e.f1) figures["f1"] = *e.f1;
    std::ofstream file(path);
    file << figures.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n' << std::flush;
    if (!file) throw ConfigError(cat("--output ", path, " could not be written; name another file"));
}

// Checks --output before the evaluation, which may take long. An existing file is never replaced: it may be
// anything, such as the corpus or a part of the model.
void check_output(const std::string& path) {
    if (path.empty()) return;
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::absolute(path, error).parent_path();
    if (std::filesystem::symlink_status(path, error).type() != std::filesystem::file_type::not_found) {
        throw ConfigError(
            cat("--output ", path, " is there already, or cannot be; remove it, or name another file"));
    }
    if (std::filesystem::is_directory(folder, error)) return;
    throw ConfigError(cat("--output ", path, " cannot be written: there is no folder ", folder.string(),
                          "; make it, or name another file"));
}

// Returns the name of a parameter with a value that is not finite; empty if all values are finite.
std::string broken_parameter(device::Stream& stream, const stage::LocalParameters& held) {
    for (std::size_t i = 0; i < held.specs().size(); ++i) {
        const std::vector<double> values = kernels::read_values(stream, held.values()[i]);
        if (!std::ranges::all_of(values, [](double value) { return std::isfinite(value); }))
            return held.specs()[i].name;
    }
    return {};
}

// Throws ConfigError if the loss is not finite. A rank that holds a non-finite parameter names it.
void check_finite(const setup::Job& job, rank::RankModel& model, device::Stream& stream,
                  const records::Evaluation& evaluation) {
    if (std::isfinite(evaluation.loss)) return;
    const std::string broken = model.is_idle() ? "" : broken_parameter(stream, model.stages().parameters());
    throw ConfigError(
        cat("the loss of ", job.stored->place(), " is ", evaluation.loss, ": ",
            broken.empty() ? "its activations overflow" : broken + " holds values that are not finite",
            "; use an earlier checkpoint"));
}

}  // namespace

void evaluate(const config::EvaluateConfig& told, comm::Session& session) {
    rank::Watchdog watchdog(session, told.run.run.stall_timeout);
    const auto control = session.all_ranks("control", watchdog.patience());
    config::EvaluateConfig config = told;
    config.run = setup::with_profiles_of_ranks(setup::with_device_of_ranks(told.run, session, *control),
                                               session, *control);
    const config::RunOptions& run = config.run.run;
    std::optional<setup::Setup> setup;
    agree(*control, [&] {
        if (session.rank() == 0) check_output(config.output);
        setup = setup::set_up_evaluation(config, session.size());
    });
    require_same_setup(*control, *setup);
    const setup::Job& job = setup->job;
    const setup::PlanState& current = setup->current;
    const std::size_t bytes =
        setup::plan_memory({job, current}, nullptr, current.gradients, session.rank()).total();
    setup::refuse_more_than_memory(bytes, job.place, session, *control);
    device::Stream stream =
        rank::make_stream(config.run.precision.device, setup::threads_per_rank(config.run, session, *control));
    const rank::GpuRoad road = rank::gpu_road(config.run, session, *control);
    const rank::GroupWiring wiring = wiring_for(stream, road, watchdog);
    rank::RankModel model(job, current, session.rank(),
                          make_groups(session, current.plan, current.gradients.buckets, wiring));
    const comm::MessagesOfScope messages(watchdog.postman());
    watchdog.ask([&] { return model.position(); });
    const double stall_limit = rank::stall_limit(current.plan, session.rank(), run.stall_timeout);
    rank::read_together(*control, stall_limit, [&] {
        const checkpoint::ReadProgress progress(*job.stored, model.stored_bytes(*job.stored),
                                                run.quiet || session.rank() != 0);
        model.fill(stream, run.seed, {.stored = &*job.stored});
    });
    const records::Evaluation evaluation = evaluate_samples(model, stream, job, current, *control);
    agree(*control, [&] { check_finite(job, model, stream, evaluation); });
    if (session.rank() != 0) return;
    print(job, evaluation, std::cout);
    if (!config.output.empty()) write_json(job, evaluation, config.output);
}

}  // namespace trireme::run
