#include "trireme/rank/specimen.hpp"

#include "rank/synthetic_batch.hpp"
#include "trireme/device/machine.hpp"
#include "trireme/rank/batch_view.hpp"
#include "trireme/rank/rank_model.hpp"
#include "trireme/setup/device_choice.hpp"
#include "trireme/setup/ghosts.hpp"
#include "trireme/setup/model_choice.hpp"
#include "trireme/setup/node_share.hpp"
#include "trireme/setup/setup.hpp"
#include "trireme/setup/step_shapes.hpp"

namespace trireme::rank {
namespace {

struct Workload {
    model::ModelConfig model;
    data::Batch batch;
};

Workload read_corpus_workload(config::RunConfig config) {
    config.data.validation_fraction = 0;
    config.run.steps = 1;  // any valid number; it does not affect the micro-batch
    const setup::Setup setup = setup::set_up(config, 1);
    const setup::Job& job = setup.job;
    const std::vector<data::Sample>& samples = job.samples.train;
    const std::vector<plan::SampleVisit> visits = make_sampler(job).list_visits(0, config.run.batch);
    const plan::LengthPolicy policy = config.schedule.length;
    const plan::Microbatch microbatch = make_microbatch(
        visits, samples, policy, find_common_length(visits, samples, policy, job.samples.max_length));
    return {.model = job.model, .batch = build_batch(*job.corpus, samples, job.train_rules, microbatch)};
}

Workload make_synthetic_workload(const config::RunConfig& config) {
    setup::check_batch_size(config);
    const std::optional<checkpoint::StoredModel> stored = setup::open_stored_model(config.model.init);
    Workload workload{.model = setup::choose_model(config.model, config.task.task, stored ? &*stored : nullptr),
                      .batch = {}};
    const std::size_t length = workload.model.reads_images()
                                   ? workload.model.positions
                                   : setup::compute_max_sample_length(config, workload.model);
    workload.batch = make_synthetic_batch(workload.model, config.run.batch, length, config.task.mask_fraction);
    return workload;
}

}  // namespace

struct Specimen::BatchWithView {
    explicit BatchWithView(data::Batch source) : batch(std::move(source)), view(batch) {}

    data::Batch batch;
    BatchView view;
};

Specimen::Specimen(const config::RunConfig& config)
    : precision_(config.precision), threads_(config.run.threads) {
    setup::reject_ghost_run(config, "a measurement");
    Workload workload =
        config.data.corpus.empty() ? make_synthetic_workload(config) : read_corpus_workload(config);
    model_ = std::move(workload.model);
    batch_ = std::make_unique<BatchWithView>(std::move(workload.batch));
}

Specimen::~Specimen() = default;

const model::TokenBatch& Specimen::batch() const { return batch_->view.tokens(); }

device::DType Specimen::dtype() const { return setup::to_dtype(precision_.dtype); }

device::Stream Specimen::stream() const {
    return make_stream(precision_.device,
                       threads_ > 0 ? threads_ : static_cast<int>(device::list_usable_cores().size()));
}

int count_threads(const config::RunConfig& config, const comm::Session& session) {
    const auto control = session.make_group_of_all_ranks("control", {});
    return setup::choose_threads(config, session, *control);
}

config::RunConfig resolve_device_and_threads(config::RunConfig config, const comm::Session& session) {
    const auto control = session.make_group_of_all_ranks("control", {});
    config = setup::choose_device(std::move(config), session, *control);
    config.run.threads = setup::choose_threads(config, session, *control);
    return config;
}

}  // namespace trireme::rank
