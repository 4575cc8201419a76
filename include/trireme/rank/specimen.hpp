// A model configuration and one micro-batch, which serve tools as the workload of measurements.
#pragma once

#include <memory>

#include "trireme/comm/session.hpp"
#include "trireme/config/config.hpp"
#include "trireme/device/stream.hpp"
#include "trireme/model/model.hpp"

namespace trireme::rank {

// A specimen is made from the options of model, task, corpus, precision and device. The micro-batch has
// `config.run.batch` samples. With a corpus, these are the first samples that `train` would visit if `train`
// kept no samples for validation. Without a corpus, they are synthetic samples of the maximum length.
class Specimen {
public:
    // Throws ConfigError if `train` would reject the options in `config`, or if these options request a ghost
    // run.
    explicit Specimen(const config::RunConfig& config);
    Specimen(const Specimen&) = delete;
    Specimen& operator=(const Specimen&) = delete;
    ~Specimen();

    const model::ModelConfig& model() const { return model_; }
    const model::TokenBatch& batch() const;
    device::DType dtype() const;  // type of the parameters
    // Makes a stream. Its kernels use `config.run.threads` threads, or all usable cores if this number is 0.
    device::Stream stream() const;

private:
    struct BatchWithView;

    config::PrecisionConfig precision_;
    int threads_;
    model::ModelConfig model_;
    std::unique_ptr<BatchWithView> batch_;
};

// Collective over all ranks. Returns `config` with two options set: the device that setup::choose_device()
// chooses, and the number of threads that setup::choose_threads() chooses.
config::RunConfig resolve_device_and_threads(config::RunConfig config, const comm::Session& session);
// Collective over all ranks. Returns the number of threads that resolve_device_and_threads() sets.
int count_threads(const config::RunConfig& config, const comm::Session& session);

}  // namespace trireme::rank
