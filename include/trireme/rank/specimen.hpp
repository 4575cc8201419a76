// A model and one micro-batch, from which tools measure what a run would cost.
#pragma once

#include <memory>

#include "trireme/comm/session.hpp"
#include "trireme/config/config.hpp"
#include "trireme/device/stream.hpp"
#include "trireme/model/model.hpp"

namespace trireme::rank {

// Uses the options of model, task, corpus, precision and device. The micro-batch has `run.batch` samples: with
// a corpus, the first ones that `train` would visit; without one, synthetic samples of maximum length.
class Specimen {
public:
    // Throws ConfigError if `train` would reject these options.
    explicit Specimen(const config::RunConfig& config);
    Specimen(const Specimen&) = delete;
    Specimen& operator=(const Specimen&) = delete;
    ~Specimen();

    const model::ModelConfig& model() const { return model_; }
    const model::TokenBatch& batch() const;
    device::DType dtype() const;
    device::Stream stream() const;  // uses all cores if no number of threads is set

private:
    struct Rows;

    config::PrecisionConfig precision_;
    int threads_;
    model::ModelConfig model_;
    std::unique_ptr<Rows> rows_;
};

// Collective over all ranks. Returns the configuration with the chosen device, and with the requested number of
// threads or this rank's share of its node's cores.
config::RunConfig measured_on(config::RunConfig config, const comm::Session& session);
// Collective over all ranks. Returns the number of threads that measured_on() sets.
int threads_of_rank(const config::RunConfig& config, const comm::Session& session);

}  // namespace trireme::rank
