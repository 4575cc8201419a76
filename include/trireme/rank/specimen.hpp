// A model configuration and one micro-batch, which serve tools as the workload of measurements.
#pragma once

#include <memory>

#include "trireme/comm/session.hpp"
#include "trireme/config/config.hpp"
#include "trireme/device/stream.hpp"
#include "trireme/model/model.hpp"

namespace trireme::rank {

// A specimen is made from the options of model, task, corpus, precision and device. The micro-batch has
// `run.batch` samples: with a corpus, the first samples that `train` would visit; without a corpus, synthetic
// samples of maximum length.
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
    struct BatchWithView;

    config::PrecisionConfig precision_;
    int threads_;
    model::ModelConfig model_;
    std::unique_ptr<BatchWithView> batch_;
};

// Collective over all ranks. Returns `config` with `automatic` replaced by the chosen device, and with the
// number of threads: the requested number, or this rank's share of the node's cores.
config::RunConfig resolve_device_and_threads(config::RunConfig config, const comm::Session& session);
// Collective over all ranks. Returns the number of threads that resolve_device_and_threads() sets.
int count_threads(const config::RunConfig& config, const comm::Session& session);

}  // namespace trireme::rank
