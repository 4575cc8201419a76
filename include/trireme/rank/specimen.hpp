// A model and one micro-batch, to see what a run of them would cost.
#pragma once

#include <memory>

#include "trireme/comm/session.hpp"
#include "trireme/config/config.hpp"
#include "trireme/device/stream.hpp"
#include "trireme/model/model.hpp"

namespace trireme::rank {

// Of the configuration counts what says which model is trained, on what, with which numbers and kernels;
// `run.batch` samples make the micro-batch. With a corpus they are the first that `train` would visit; without
// one they are made up, as long as may be.
class Specimen {
public:
    // Throws ConfigError for whatever `train` would refuse of these options.
    explicit Specimen(const config::RunConfig& config);
    Specimen(const Specimen&) = delete;
    Specimen& operator=(const Specimen&) = delete;
    ~Specimen();

    const model::ModelConfig& model() const { return model_; }
    const model::TokenBatch& batch() const;
    device::DType dtype() const;
    device::Stream stream() const;  // of all cores, where no number of threads is given

private:
    struct Rows;

    config::PrecisionConfig precision_;
    int threads_;
    model::ModelConfig model_;
    std::unique_ptr<Rows> rows_;
};

// Collective over all ranks. With the device that they compute on, and with the threads that are wanted, or
// this rank's share of its node's cores.
config::RunConfig measured_on(config::RunConfig config, const comm::Session& session);
int threads_of_rank(const config::RunConfig& config, const comm::Session& session);

}  // namespace trireme::rank
