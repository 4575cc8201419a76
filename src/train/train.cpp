#include "trireme/train/train.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <iostream>

#include "train/agreement.hpp"
#include "train/console.hpp"
#include "train/figures.hpp"
#include "train/replica.hpp"
#include "train/run_directory.hpp"
#include "train/setup.hpp"
#include "trireme/base/version.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/device/machine.hpp"
#include "trireme/kernels/peak.hpp"

namespace trireme {
namespace {

// Collective over `control`. Cores are shared by the ranks that may run on the same ones: all of a node, or one
// alone where the launcher has bound each to cores of its own.
int threads_per_rank(const RunConfig& config, const Session& session, Communicator& control) {
    const std::string own = session.host() + " " + core_mask();
    const std::vector<std::string> all = gather_all(control, own);
    const auto sharers = static_cast<int>(std::count(all.begin(), all.end(), own));
    return config.run.threads > 0 ? config.run.threads : std::max(1, usable_cores() / sharers);
}

void refuse_more_than_memory(std::size_t rank_bytes, const Session& session) {
    const auto available = available_memory_bytes();
    const std::size_t needed = rank_bytes * static_cast<std::size_t>(session.node_size());
    if (!available || needed <= *available) return;
    throw ConfigError(
        cat("the ", session.node_size(), " ranks of ", session.host(), " need ", needed / 1'000'000, " MB (",
            rank_bytes / 1'000'000, " each) and the node has ", *available / 1'000'000,
            " MB left; use a smaller --batch or --max-length, more --microbatches, or more nodes"));
}

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

std::filesystem::path run_directory_of(const RunConfig& config) {
    if (!config.run.run_dir.empty()) return config.run.run_dir;
    return make_default_run_directory(config.model.name);
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
          threads_(threads_per_rank(config, session, control)),
          is_first_(session.rank() == 0),
          console_(std::cout, config_, setup_) {
        manifest_ = describe(session, control);
    }

    // Collective over `control`. Says what would be done, and what would keep it from being done.
    void show_plan(const Session& session, Communicator& control) {
        if (is_first_) console_.introduce(manifest_, memory_, {});
        agree(control, [&] {
            refuse_more_than_memory(memory_.total(), session);
            if (is_first_ && !config_.run.run_dir.empty()) refuse_used(config_.run.run_dir);
        });
    }

    // Collective over `control`. Refuses what a node cannot hold, and a run directory that cannot be used.
    void prepare(const Session& session, Communicator& control) {
        agree(control, [&] { refuse_more_than_memory(memory_.total(), session); });
        agree(control, [&] {
            if (is_first_) directory_ = std::make_unique<RunDirectory>(run_directory_of(config_));
        });
    }

    void train() {
        manifest_.peak_flops = measure_peak_of_all(*data_group_, setup_.dtype, threads_);
        if (is_first_) {
            directory_->write_config(config_.resolved);
            directory_->write_manifest(manifest_);
            console_.introduce(manifest_, memory_, directory_->path().string());
        }
        const std::size_t resident = peak_resident_bytes();
        Replica replica(config_, setup_, memory_, threads_);
        FigureSum sum(flops_, manifest_.peak_flops, data_group_->size());
        for (std::size_t step = 0; step < setup_.steps; ++step) take_step(replica, step, sum);
        const std::optional<double> validation_loss = evaluate(replica, setup_.steps);
        finish(sum.finish(validation_loss), peak_resident_bytes() - resident);
    }

private:
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

    void take_step(Replica& replica, std::size_t step, FigureSum& sum) {
        const StepOutcome outcome = replica.step(step, *data_group_);
        sum.add(outcome);
        if (is_first_) {
            directory_->add_step(step + 1, outcome, flops_, manifest_.peak_flops);
            console_.step(step, outcome, flops_, manifest_.peak_flops);
        }
        stop_if_diverged(step, outcome, sum);
        const bool is_due = config_.run.eval_every > 0 && (step + 1) % config_.run.eval_every == 0;
        if (is_due && step + 1 < setup_.steps) evaluate(replica, step + 1);
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

    std::optional<double> evaluate(Replica& replica, std::size_t step) {
        if (setup_.samples.validation.empty()) return std::nullopt;
        const double loss = replica.evaluate(*data_group_);
        if (is_first_) {
            directory_->add_evaluation(step, loss);
            console_.evaluation(step, loss);
        }
        return loss;
    }

    void finish(Figures figures, std::size_t grown_bytes) {
        const auto grown = gather_all(*data_group_, std::array{static_cast<double>(grown_bytes)});
        if (!is_first_) return;
        figures.grown_bytes = static_cast<std::size_t>(*std::max_element(grown.begin(), grown.end()));
        figures.predicted_bytes = memory_.total();
        directory_->write_summary(figures);
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
