#include "trireme/train/train.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <iostream>

#include "train/agreement.hpp"
#include "train/console.hpp"
#include "train/figures.hpp"
#include "train/node_share.hpp"
#include "train/replica.hpp"
#include "train/run_directory.hpp"
#include "train/setup.hpp"
#include "trireme/base/version.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/device/machine.hpp"
#include "trireme/kernels/peak.hpp"

namespace trireme {
namespace {

std::string now_text() {
    const std::time_t now = std::time(nullptr);
    std::array<char, 32> text{};
    std::tm utc{};
    gmtime_r(&now, &utc);
    std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
    return text.data();
}

// Collective over `group`. All ranks at once, as they will run.
double measure_peak_of_all(Communicator& group, DType dtype, int threads) {
    barrier(group);
    double sum = 0;
    for (const double peak : gather_all(group, std::array{measure_peak_flops(dtype, threads)})) sum += peak;
    return sum;
}

std::filesystem::path run_directory_of(const RunConfig& config, const Setup& setup) {
    if (!config.run.run_dir.empty()) return config.run.run_dir;
    return make_default_run_directory(setup.model.name);
}

constexpr int most_skipped_in_a_row = 20;

// The run from its first step to its last, on every rank; rank 0 also keeps the records.
class Run {
public:
    Run(const RunConfig& config, const Session& session, Communicator& control, Setup setup)
        : config_(config),
          setup_(std::move(setup)),
          data_group_(session.all_ranks("data", {.stall_seconds = config.run.stall_timeout})),
          memory_(plan_memory(setup_, config.optimizer, *data_group_)),
          flops_(model_flops(setup_.model)),
          threads_(threads_per_rank(config.run.threads, session, control)),
          is_first_(session.rank() == 0),
          console_(std::cout, config_, setup_) {
        manifest_ = describe(session, control);
    }

    // Collective over `control`. Says what would be done, and what would keep it from being done.
    void show_plan(const Session& session, Communicator& control) {
        if (is_first_) console_.introduce(manifest_, memory_, {});
        agree(control, [&] { refuse_what_cannot_be(session); });
    }

    // Collective over `control`. Refuses what a node cannot hold, a stored model that cannot be read, and a run
    // directory that cannot be used.
    void prepare(const Session& session, Communicator& control) {
        agree(control, [&] { refuse_what_cannot_be(session); });
        resident_bytes_ = peak_resident_bytes();
        agree(control, [&] { replica_.emplace(config_, setup_, memory_, threads_); });
        agree(control, [&] {
            if (is_first_) directory_ = std::make_unique<RunDirectory>(run_directory_of(config_, setup_));
        });
    }

    void train() {
        manifest_.peak_flops = measure_peak_of_all(*data_group_, setup_.dtype, threads_);
        if (is_first_) {
            directory_->write_config(config_.resolved);
            directory_->write_manifest(manifest_);
            console_.introduce(manifest_, memory_, directory_->path().string());
        }
        FigureSum sum(flops_, manifest_.peak_flops, data_group_->size());
        for (std::size_t step = 0; step < setup_.steps; ++step) take_step(step, sum);
        const std::optional<Evaluation> validation = evaluate(setup_.steps);
        finish(sum.finish(validation));
    }

private:
    void refuse_what_cannot_be(const Session& session) const {
        refuse_more_than_memory(memory_.total(), session);
        if (is_first_ && !config_.run.run_dir.empty()) refuse_used(config_.run.run_dir);
    }

    Manifest describe(const Session& session, Communicator& control) const {
        return {.version = build_facts().version,
                .mpi_library = session.library(),
                .started = now_text(),
                .corpus = setup_.corpus.info().path,
                .corpus_checksum = setup_.corpus.info().checksum,
                .model = setup_.model.name,
                .hosts = gather_all(control, session.host()),
                .device = cat(config_.precision.device == DeviceKind::cpu ? "cpu" : "reference", " (",
                              processor_name(), ")"),
                .threads = threads_,
                .parameters = parameter_count(setup_.model)};
    }

    void take_step(std::size_t step, FigureSum& sum) {
        const StepOutcome outcome = replica_->step(step, *data_group_);
        sum.add(outcome);
        if (is_first_) {
            directory_->add_step(step + 1, outcome, flops_, manifest_.peak_flops);
            console_.step(step, outcome, flops_, manifest_.peak_flops);
        }
        stop_if_diverged(step, outcome, sum);
        const bool is_due = config_.run.eval_every > 0 && (step + 1) % config_.run.eval_every == 0;
        if (is_due && step + 1 < setup_.steps) evaluate(step + 1);
    }

    void stop_if_diverged(std::size_t step, const StepOutcome& outcome, const FigureSum& sum) {
        skipped_in_a_row_ = outcome.is_skipped ? skipped_in_a_row_ + 1 : 0;
        const int most = config_.run.on_nan == OnNan::stop ? 1 : most_skipped_in_a_row;
        if (skipped_in_a_row_ < most) return;
        if (is_first_) directory_->write_summary(sum.finish(std::nullopt));
        throw ConfigError(cat("step ", step + 1, " has loss ", outcome.loss, " and gradient norm ",
                              outcome.gradient_norm,
                              most == 1 ? "; lower --lr, or leave such steps out with --on-nan skip"
                                        : cat(", as had the ", most - 1, " steps before it; lower --lr")));
    }

    std::optional<Evaluation> evaluate(std::size_t step) {
        if (setup_.samples.validation.empty()) return std::nullopt;
        const Evaluation evaluation = replica_->evaluate(*data_group_);
        if (is_first_) {
            directory_->add_evaluation(step, evaluation);
            console_.evaluation(step, evaluation);
        }
        return evaluation;
    }

    void save() const {
        CheckpointWriter writer(directory_->path() / "checkpoints",
                                {.config = setup_.model,
                                 .step = setup_.steps,
                                 .tokenizer = setup_.tokenizer ? setup_.tokenizer->to_bytes() : std::string(),
                                 .base_config = setup_.stored ? setup_.stored->config_text() : std::string()});
        replica_->save(writer);
        writer.finish();
    }

    void finish(Figures figures) {
        const std::array own{static_cast<double>(peak_resident_bytes() - resident_bytes_)};
        const auto grown = gather_all(*data_group_, own);
        if (!is_first_) return;
        figures.grown_bytes = static_cast<std::size_t>(*std::max_element(grown.begin(), grown.end()));
        figures.predicted_bytes = memory_.total();
        directory_->write_summary(figures);
        save();  // nobody waits for rank 0 any more
        console_.finish(figures, directory_->path().string());
    }

    const RunConfig& config_;
    Setup setup_;
    std::unique_ptr<Communicator> data_group_;
    MemoryPlan memory_;
    ModelFlops flops_;
    int threads_;
    bool is_first_;
    Console console_;
    Manifest manifest_;
    int skipped_in_a_row_ = 0;
    std::size_t resident_bytes_ = 0;  // before the replica was made
    std::optional<Replica> replica_;
    std::unique_ptr<RunDirectory> directory_;  // of rank 0
};

}  // namespace

void train(const RunConfig& config, Session& session) {
    const auto control = session.all_ranks("control", {.stall_seconds = config.run.stall_timeout});
    std::optional<Setup> setup;
    agree(*control, [&] { setup = set_up(config, session.size()); });
    Run run(config, session, *control, std::move(*setup));
    if (config.run.dry_run) return run.show_plan(session, *control);
    run.prepare(session, *control);
    run.train();
}

}  // namespace trireme
