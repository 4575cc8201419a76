// Records on every machine: what the tests against Hugging Face have in common.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <ostream>
#include <string>

#include "unit/stage/model_record.hpp"
#include "unit/stage/stage_numbers.hpp"

namespace trireme::stage {

struct Machine {
    const char* name;
    bool is_reference;
    device::DType dtype;

    device::Stream stream() const;
    // What a result may be off by: 1e-10 in f64; in f32 twice PyTorch's own error or 1e-5.
    double bar(double pytorch_f32_error) const;
};

struct RecordTrial {
    Machine machine;
    std::string record;

    std::string name() const;
    friend void PrintTo(const RecordTrial& trial, std::ostream* out) { *out << trial.name(); }
};

std::vector<RecordTrial> trials_of(const std::vector<std::string>& records);

// Sets the values of a stage by their names.
void load_weights(const WholeModel& stage, const NamedNumbers& weights);

// What one forward and backward pass is off the record by.
struct PassErrors {
    double loss = 0;
    std::map<std::string, double> gradients;  // one for each tensor of the stage

    // The worst of all, as a multiple of what is allowed.
    double over_bar(const Machine& machine, const RecordedPass& pass) const;
};

class RecordTest : public testing::TestWithParam<RecordTrial> {
protected:
    const Machine machine_ = GetParam().machine;
    const ModelRecord record_ = read_record(GetParam().record);
    const TokenRows packed_{record_.samples};
    const TokenRows padded_{record_.samples, record_.config.positions};

    // With the recorded weights, and room for these rows.
    WholeModel loaded_stage(const TokenRows& rows, BackwardHalves halves = BackwardHalves::together) const;

    PassErrors pass_errors(const RecordedPass& pass, const NamedNumbers& weights, const TokenRows& rows,
                           BackwardHalves halves = BackwardHalves::together) const;
    // Of both ways to lay out the rows, and both orders of the backward pass.
    void expect_within_bars(const RecordedPass& pass) const;
};

double largest_magnitude(std::span<const double> numbers);

}  // namespace trireme::stage
