#include "trireme/rank/specimen.hpp"

#include "rank/made_up_batch.hpp"
#include "trireme/data/sample_index.hpp"
#include "trireme/device/machine.hpp"
#include "trireme/rank/batch_view.hpp"
#include "trireme/rank/rank_model.hpp"
#include "trireme/setup/device_choice.hpp"
#include "trireme/setup/ghosts.hpp"
#include "trireme/setup/model_choice.hpp"
#include "trireme/setup/node_share.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme {
namespace {

struct Case {
    ModelConfig model;
    Batch batch;
};

Case case_of_corpus(RunConfig config) {
    config.data.validation_share = 0;
    config.run.steps = 1;  // how long a run would last is not asked
    const Setup setup = set_up(config, 1);
    const Job& job = setup.job;
    const std::vector<Sample>& samples = job.samples.train;
    const Sampler sampler(samples.size(), config.run.seed);
    const MicroBatch micro_batch = make_micro_batch(sampler.visits(0, config.run.batch), samples,
                                                    config.schedule.length, job.samples.longest);
    return {.model = job.model, .batch = build_batch(*job.corpus, samples, job.train_rules, micro_batch)};
}

Case made_up_case(const RunConfig& config) {
    check_batch_size(config);
    const std::optional<StoredModel> stored = stored_model(config.model.init);
    Case made{.model = choose_model(config.model, config.task.task, stored ? &*stored : nullptr), .batch = {}};
    const std::size_t length =
        made.model.reads_images() ? made.model.positions : longest_sample(config, made.model);
    made.batch = made_up_batch(made.model, config.run.batch, length, config.task.mask_share);
    return made;
}

}  // namespace

struct Specimen::Rows {
    explicit Rows(Batch of) : batch(std::move(of)), view(batch) {}

    Batch batch;
    BatchView view;
};

Specimen::Specimen(const RunConfig& config) : precision_(config.precision), threads_(config.run.threads) {
    refuse_ghosts(config, "a measurement");
    Case found = config.data.corpus.empty() ? made_up_case(config) : case_of_corpus(config);
    model_ = std::move(found.model);
    rows_ = std::make_unique<Rows>(std::move(found.batch));
}

Specimen::~Specimen() = default;

const TokenBatch& Specimen::batch() const { return rows_->view.tokens(); }

DType Specimen::dtype() const { return dtype_of(precision_.dtype); }

Stream Specimen::stream() const {
    return make_stream(precision_.device, threads_ > 0 ? threads_ : static_cast<int>(usable_cores().size()));
}

int threads_of_rank(const RunConfig& config, const Session& session) {
    const auto control = session.all_ranks("control", {});
    return threads_per_rank(config, session, *control);
}

RunConfig measured_on(RunConfig config, const Session& session) {
    const auto control = session.all_ranks("control", {});
    config = with_device_of_ranks(std::move(config), session, *control);
    config.run.threads = threads_per_rank(config, session, *control);
    return config;
}

}  // namespace trireme
