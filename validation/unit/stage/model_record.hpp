// Results of Hugging Face's models: validation/reference/*.h5, written by make_records.py there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trireme/model/config.hpp"
#include "trireme/optim/config.hpp"
#include "unit/stage/record_file.hpp"
#include "unit/stage/token_rows.hpp"

namespace trireme::stage {

// One forward and backward pass, and the error of PyTorch's own float32 run.
struct RecordedPass {
    double label_smoothing = 0;
    double loss = 0;         // mean over predictions or answers
    NamedNumbers gradients;  // of the loss
    double float32_loss_error = 0;
    NamedNumbers float32_gradient_errors;  // one number per tensor
};

// Updates, each with its own number of frozen blocks.
struct RecordedDepths {
    std::vector<std::int32_t> depths;  // per update
    std::vector<double> losses;        // before the first update and after each one
    std::vector<double> norms;         // norm of the gradients at each update
    double float32_losses_error = 0;
    double float32_norms_error = 0;
};

struct ModelRecord {
    model::ModelConfig config;  // as read from Hugging Face's config.json
    optim::OptimizerConfig optimizer;
    std::vector<TokenSample> samples = {};
    NamedNumbers weights;  // named as in Hugging Face's files; each is representable in float
    RecordedPass plain;
    std::optional<RecordedPass> smoothed = {};  // set for tasks with label smoothing
    std::vector<double> logits;                 // (predictions, tokens or classes); for a span task (rows, 2)
    std::vector<std::int32_t> choices;          // see LossState
    std::vector<double> losses;                 // before the first update and after each one
    std::vector<double> norms;                  // norm of the gradients at each update
    RecordedDepths frozen;
    double float32_logits_error = 0;
    double float32_losses_error = 0;
    double float32_norms_error = 0;

    std::size_t terms() const;    // terms of the loss: predictions or answers
    std::size_t outputs() const;  // columns of the logits
};

// Return the names of the record files with targets, of those with answers, and of all.
std::vector<std::string> target_record_names();
std::vector<std::string> answer_record_names();
std::vector<std::string> record_names();

// Throws ResourceError if the file cannot be read.
ModelRecord read_record(const std::string& name);

}  // namespace trireme::stage
