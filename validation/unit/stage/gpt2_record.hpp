// What Hugging Face's GPT-2 computed: validation/reference/gpt2_*.h5, written by make_gpt2_records.py there.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "trireme/model/config.hpp"
#include "trireme/optim/config.hpp"
#include "unit/stage/token_rows.hpp"

namespace trireme {

using NamedNumbers = std::map<std::string, std::vector<double>>;

// The errors that PyTorch's own float32 run has against its float64 run.
struct Float32Errors {
    double loss = 0;
    double logits = 0;
    double losses = 0;
    double norms = 0;
    std::map<std::string, double> gradients;
};

struct Gpt2Record {
    ModelConfig config;
    OptimizerConfig optimizer;
    std::vector<TokenSample> samples;
    NamedNumbers weights;        // by Hugging Face's names; each representable in float
    NamedNumbers gradients;      // of the mean loss
    double loss = 0;             // mean over all predictions
    std::vector<double> logits;  // (predictions, vocabulary)
    std::vector<double> losses;  // before the first update and after each one
    std::vector<double> norms;   // of the gradients, at each update
    Float32Errors float32_errors;

    std::size_t predictions() const;
};

// `name` is "gpt2_tied" or "gpt2_untied". Throws ResourceError if the file cannot be read.
Gpt2Record read_gpt2_record(const std::string& name);

}  // namespace trireme
