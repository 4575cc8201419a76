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

namespace trireme::rank {
namespace {

struct Case {
    model::ModelConfig model;
    data::Batch batch;
};

Case case_of_corpus(config::RunConfig config) {
    config.data.validation_share = 0;
    config.run.steps = 1;  // any valid length of the run
    const setup::Setup setup = setup::set_up(config, 1);
    const setup::Job& job = setup.job;
    const std::vector<data::Sample>& samples = job.samples.train;
    const data::Sampler sampler(samples.size(), config.run.seed);
    const plan::Microbatch microbatch = make_microbatch(sampler.visits(0, config.run.batch), samples,
                                                        config.schedule.length, job.samples.longest);
    return {.model = job.model, .batch = build_batch(*job.corpus, samples, job.train_rules, microbatch)};
}

Case made_up_case(const config::RunConfig& config) {
    setup::check_batch_size(config);
    const std::optional<checkpoint::StoredModel> stored = setup::stored_model(config.model.init);
    Case made{.model = setup::choose_model(config.model, config.task.task, stored ? &*stored : nullptr),
              .batch = {}};
    const std::size_t length =
        made.model.reads_images() ? made.model.positions : setup::longest_sample(config, made.model);
    made.batch = made_up_batch(made.model, config.run.batch, length, config.task.mask_share);
    return made;
}

}  // namespace

struct Specimen::Rows {
    explicit Rows(data::Batch of) : batch(std::move(of)), view(batch) {}

    data::Batch batch;
    BatchView view;
};

Specimen::Specimen(const config::RunConfig& config)
    : precision_(config.precision), threads_(config.run.threads) {
    setup::refuse_ghosts(config, "a measurement");
    Case found = config.data.corpus.empty() ? made_up_case(config) : case_of_corpus(config);
    model_ = std::move(found.model);
    rows_ = std::make_unique<Rows>(std::move(found.batch));
}

Specimen::~Specimen() = default;

const model::TokenBatch& Specimen::batch() const { return rows_->view.tokens(); }

device::DType Specimen::dtype() const { return setup::dtype_of(precision_.dtype); }

device::Stream Specimen::stream() const {
    return make_stream(precision_.device,
                       threads_ > 0 ? threads_ : static_cast<int>(device::usable_cores().size()));
}

int threads_of_rank(const config::RunConfig& config, const comm::Session& session) {
    const auto control = session.all_ranks("control", {});
    return setup::threads_per_rank(config, session, *control);
}

config::RunConfig measured_on(config::RunConfig config, const comm::Session& session) {
    const auto control = session.all_ranks("control", {});
    config = setup::with_device_of_ranks(std::move(config), session, *control);
    config.run.threads = setup::threads_per_rank(config, session, *control);
    return config;
}

}  // namespace trireme::rank
