// A small model of every family and task, with weights and samples that are functions of their names.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <vector>

#include "unit/stage/token_rows.hpp"

namespace trireme::stage {

struct SmallModel {
    const char* name;
    model::Family family;
    Task task;
    bool tied = false;

    friend void PrintTo(const SmallModel& model, std::ostream* out) { *out << model.name; }
};

std::vector<SmallModel> list_small_models();

// A small model on one backend.
struct Trial {
    const char* name;
    device::Stream stream;
    SmallModel model;

    friend void PrintTo(const Trial& trial, std::ostream* out) {
        *out << trial.name << "_" << trial.model.name;
    }
};

// Returns every small model on the reference and the cpu backend.
std::vector<Trial> every_trial();

// Returns a model with dropout, for texts of up to 9 rows or images of 5.
model::ModelConfig config_of(const SmallModel& model);
model::ModelConfig without_dropout(model::ModelConfig config);

// Sets weights large enough for every term to matter; initial biases would have no effect.
void scatter_weights(const WholeModel& stage);

// Returns a sample that predicts every row of a language task, some rows of a masked one, or the first row for
// a class. Images have one length and ignore `length`.
TokenSample make_sample(const model::ModelConfig& config, std::int64_t visit, std::size_t length);

}  // namespace trireme::stage
