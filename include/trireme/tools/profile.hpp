// `trireme profile`: what each layer of a model costs on this machine.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>

#include "trireme/device/stream.hpp"
#include "trireme/model/layer.hpp"
#include "trireme/model/model.hpp"
#include "trireme/optim/config.hpp"
#include "trireme/plan/profile.hpp"

namespace trireme {

// What is measured, on what.
struct ProfileSubject {
    const ModelConfig& model;
    const TokenBatch& batch;  // the micro-batch
    DType dtype = DType::f32;
    OptimizerConfig optimizer = {};
    Stream stream;

    int threads() const;
};

// Each layer by itself: forward and whole backward passes, backward passes in halves, and updates; once for
// warming up and `repeats` times that count. All layers take turns, so that a machine whose speed drifts is
// fair to them. Layers that are equal to an earlier one get its figures. Bytes are those of the ghost walk: see
// stage/predict.hpp. Links are not measured.
Profile measure_profile(ProfileSubject subject, std::size_t repeats);

struct ProfileConfig {
    std::string output;
    std::size_t repeats = 7;
    bool quiet = false;  // no table
};

// Writes what was measured to the output, which appears when it is whole and replaces a file of that name, and
// a table of it to `out`. Throws ConfigError where the output cannot be written, before anything is measured.
void profile(const ProfileConfig& config, const ProfileSubject& subject, std::ostream& out);

}  // namespace trireme
