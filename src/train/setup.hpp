// Everything that is known before the first step: checked, counted and opened.
#pragma once

#include <cstddef>

#include "trireme/data/corpus.hpp"
#include "trireme/data/sample_index.hpp"
#include "trireme/model/config.hpp"
#include "trireme/stage/stage.hpp"
#include "trireme/train/config.hpp"

namespace trireme {

struct Setup {
    ModelConfig model;
    Corpus corpus;
    SampleIndex samples;
    DType dtype = DType::f32;
    std::size_t steps = 0;
    std::size_t replicas = 1;
    std::size_t micro_batches = 1;        // per replica
    std::size_t micro_batch_samples = 1;  // of the largest micro-batch
    BatchShape largest;                   // micro-batch that any step or evaluation may hold
};

// Throws ConfigError for whatever of the configuration cannot be used with `ranks` ranks. Communicates nothing.
Setup set_up(const RunConfig& config, int ranks);

}  // namespace trireme
