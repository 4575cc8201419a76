// `trireme profile`: measures the layers and kernels of a model, and the links between ranks, on this machine.
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
    const model::TokenBatch& batch;  // the micro-batch, in host memory
    device::DType dtype = device::DType::f32;
    optim::OptimizerConfig optimizer = {};
    device::Stream stream;
    Progress* progress = nullptr;  // counts measurements; null if no progress is shown

    int threads() const;             // number of CPU threads that run kernels; 1 on a GPU
    void count_measurement() const;  // advances `progress` by one unless it is null
};

// Measures each layer alone: its forward pass, its backward pass (as a whole and as two halves), and its
// update. One warm-up round precedes `repeats` measured rounds. A round measures every layer once, so that a
// drift of the machine's speed affects all layers equally. Among layers with equal costs, only the first layer
// is measured, and the other layers get the values of the first layer. The bytes of LayerProfile are predicted,
// not measured: see stage/predict.hpp. After the layers, measures the kernels of the layers on micro-batches of
// several sizes, from a quarter to twice the rows of `subject.batch`. The kernels run as on a rank without a
// tensor group. If the model has several key-value heads, the kernels also run as in a tensor group of two
// ranks. Last, measures elementwise kernels and the launch overhead. Links are not measured.
plan::Profile measure_profile(ProfileSubject subject, std::size_t repeats);

// Number of measurements that measure_profile() reports to the subject's progress.
std::size_t count_measurements(const model::ModelConfig& model, std::size_t repeats);

struct ProfileConfig {
    std::string output;       // path of the profile
    std::size_t repeats = 7;  // number of measured rounds; the profile has the medians
    bool quiet = false;       // if true, nothing is printed
};

// Measures a profile on a single rank, writes it to the file config.output, and prints it as a table to `out`.
// The file appears only when it is complete, and replaces an existing file of the same name. Throws ConfigError
// before any measurement if the file cannot be created. Throws ResourceError if the file cannot be written.
void profile(const ProfileConfig& config, const ProfileSubject& subject, std::ostream& out);

// The ranks that measure at the same time.
struct ProfileRanks {
    comm::Communicator& all;
    const std::vector<int>& nodes;  // per rank: the lowest rank on its node, see Session::nodes()
};

// Collective over all ranks. All ranks measure layers at the same time, because in a run they compute at the
// same time. After that they measure the links between ranks. Only rank 0 writes and prints its profile. If the
// file cannot be created, all ranks throw the same ConfigError before they measure.
void profile(const ProfileConfig& config, const ProfileSubject& subject, const ProfileRanks& ranks,
             std::ostream& out);
void profile(const ProfileConfig& config, const ProfileSubject& subject, const comm::Session& session,
             std::ostream& out);

}  // namespace trireme::tools
