// `trireme profile`: what each layer of a model costs on this machine.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

#include "trireme/base/progress.hpp"
#include "trireme/comm/session.hpp"
#include "trireme/device/stream.hpp"
#include "trireme/model/layer.hpp"
#include "trireme/model/model.hpp"
#include "trireme/optim/config.hpp"
#include "trireme/plan/profile.hpp"

namespace trireme::tools {

// What is measured, on what.
struct ProfileSubject {
    const model::ModelConfig& model;
    const model::TokenBatch& batch;  // the micro-batch
    device::DType dtype = device::DType::f32;
    optim::OptimizerConfig optimizer = {};
    device::Stream stream;
    Progress* progress = nullptr;  // counts measurements; null: not wanted

    int threads() const;
    void note_measurement() const;
};

// Each layer by itself: forward and whole backward passes, backward passes in halves, and updates; once for
// warming up and `repeats` times that count. All layers take turns, so that a machine whose speed drifts is
// fair to them. Layers that are equal to an earlier one get its figures. Bytes are those of the ghost walk: see
// stage/predict.hpp. Then the kernels of these layers, on micro-batches from a quarter to twice the rows, of a
// whole replica and of a tensor rank of two. Links are not measured.
plan::Profile measure_profile(ProfileSubject subject, std::size_t repeats);

// Number of measurements that measure_profile() reports to the subject's progress.
std::size_t count_measurements(const model::ModelConfig& model, std::size_t repeats);

struct ProfileConfig {
    std::string output;
    std::size_t repeats = 7;
    bool quiet = false;  // neither table nor progress
};

// Writes what was measured to the output, which appears when it is whole and replaces a file of that name, and
// a table of it to `out`. Throws ConfigError where the output cannot be written, before anything is measured.
void profile(const ProfileConfig& config, const ProfileSubject& subject, std::ostream& out);

// All ranks, and each one's node: see Session.
struct ProfileRanks {
    comm::Communicator& all;
    const std::vector<int>& nodes;
};

// Collective over all ranks: they measure at once, as they will run, and then the links between them. What
// rank 0 found is written, by it alone. Where it cannot be, all ranks throw the same.
void profile(const ProfileConfig& config, const ProfileSubject& subject, const ProfileRanks& ranks,
             std::ostream& out);
void profile(const ProfileConfig& config, const ProfileSubject& subject, const comm::Session& session,
             std::ostream& out);

}  // namespace trireme::tools
