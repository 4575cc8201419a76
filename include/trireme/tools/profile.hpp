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

    int threads() const;
    void note_measurement() const;
};

// Measures each layer alone: its forward pass, its backward pass as a whole and in halves, and its update.
// One warm-up round precedes `repeats` measured rounds. All layers take turns, so that a drift of the
// machine's speed affects all of them equally. A layer that equals an earlier one gets its values. Bytes are
// those of the ghost walk: see stage/predict.hpp. Then the kernels of these layers are measured on
// micro-batches from a quarter to twice the rows, for a whole replica and for a rank of a tensor group of
// two. Links are not measured.
plan::Profile measure_profile(ProfileSubject subject, std::size_t repeats);

// Number of measurements that measure_profile() reports to the subject's progress.
std::size_t count_measurements(const model::ModelConfig& model, std::size_t repeats);

struct ProfileConfig {
    std::string output;
    std::size_t repeats = 7;
    bool quiet = false;  // if true, neither table nor progress is shown
};

// Measures, writes the profile to the output and a table of it to `out`. The output appears once it is complete
// and replaces a file of that name. Throws ConfigError before any measurement if the output cannot be written.
void profile(const ProfileConfig& config, const ProfileSubject& subject, std::ostream& out);

// All ranks, and the node of each rank: see Session.
struct ProfileRanks {
    comm::Communicator& all;
    const std::vector<int>& nodes;
};

// Collective over all ranks. They measure at the same time, as in a run, and then the links between them. Rank
// 0 alone writes its profile. If the output cannot be created, all ranks throw the same error before they
// measure.
void profile(const ProfileConfig& config, const ProfileSubject& subject, const ProfileRanks& ranks,
             std::ostream& out);
void profile(const ProfileConfig& config, const ProfileSubject& subject, const comm::Session& session,
             std::ostream& out);

}  // namespace trireme::tools
