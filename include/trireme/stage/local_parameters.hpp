// The parameters of all stages of a rank, its part of each tensor once, and their gradients.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "trireme/model/parameter.hpp"

namespace trireme {

class LocalParameters {
public:
    // Specs of equal names are the same tensor: a tied table that two stages of the rank use.
    LocalParameters(const std::vector<ParameterSpec>& specs, DType dtype, Place place);

    const std::vector<ParameterSpec>& specs() const { return specs_; }
    const ParameterTensors& values() const { return values_; }
    const ParameterTensors& gradients() const { return gradients_; }
    std::size_t number_of(const std::string& name) const { return numbers_.at(name); }

private:
    std::vector<ParameterSpec> specs_;
    std::unordered_map<std::string, std::size_t> numbers_;
    ParameterTensors values_;
    ParameterTensors gradients_;
};

}  // namespace trireme
