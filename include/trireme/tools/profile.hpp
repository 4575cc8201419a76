// `trireme profile`: measures the cost of each layer of a model on this machine.
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

// The model, the micro-batch and the device to measure.
struct ProfileSubject {
    const model::ModelConfig& model;
    const model::TokenBatch& batch;  // the micro-batch
    device::DType dtype = device::DType::f32;
    optim::OptimizerConfig optimizer = {};
    device::Stream stream;
    Progress* progress = nullptr;  // counts measurements; null if no progress is shown

    int threads() const;             // threads of the stream's kernels; 1 on a GPU
    void count_measurement() const;  // advances `progress`
};

// Measures each layer alone: its forward pass, its backward pass (in one piece and in two halves), and its
// update. One warm-up round precedes `repeats` measured rounds. A round measures every layer once, so that a
// drift of the machine's speed affects all layers equally. Among equal layers only the first is measured; the
// others get its values. Bytes are not measured but predicted: see stage/predict.hpp. Then the kernels of these
// layers are measured on micro-batches with a quarter to twice the rows, as in tensor groups of one rank and of
// two ranks. Links are not measured.
plan::Profile measure_profile(ProfileSubject subject, std::size_t repeats);

// Number of measurements that measure_profile() reports to the subject's progress.
std::size_t count_measurements(const model::ModelConfig& model, std::size_t repeats);

struct ProfileConfig {
    std::string output;
    std::size_t repeats = 7;
    bool quiet = false;  // if true, neither table nor progress is shown
};

// Measures a profile, writes it to the file config.output, and prints it as a table to `out`. The file appears
// only when it is complete, and replaces a file of that name. Throws ConfigError before any measurement if the
// file cannot be written.
void profile(const ProfileConfig& config, const ProfileSubject& subject, std::ostream& out);

// The ranks that measure at the same time, and the node of each of them: see Session.
struct ProfileRanks {
    comm::Communicator& all;
    const std::vector<int>& nodes;
};

// Collective over all ranks. All ranks measure layers at the same time, because in a run they compute at the
// same time; then they measure the links between them. Only rank 0 writes its profile. If the file cannot be
// created, all ranks throw the same error before they measure.
void profile(const ProfileConfig& config, const ProfileSubject& subject, const ProfileRanks& ranks,
             std::ostream& out);
void profile(const ProfileConfig& config, const ProfileSubject& subject, const comm::Session& session,
             std::ostream& out);

}  // namespace trireme::tools
