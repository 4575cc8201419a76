// The parameters of all stages of a rank (its part of each tensor, once) and their gradients, which have the
// wide type of the values' type. If micro-batches stay in flight across updates, this also holds older values
// and the gradients of several steps.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trireme/model/parameter.hpp"

namespace trireme::stage {

// Numbers of copies on a rank.
struct Copies {
    std::size_t values = 1;
    std::size_t gradients = 1;
};

class LocalParameters {
public:
    // Specs with equal names denote the same tensor, such as a tied table that two stages of the rank use.
    LocalParameters(const std::vector<model::ParameterSpec>& specs, device::DType dtype,
                    device::MemorySpace place, const Copies& copies = {});

    const std::vector<model::ParameterSpec>& specs() const { return specs_; }
    // Copy 0 is the newest.
    const model::ParameterTensors& values(std::size_t copy = 0) const { return values_[copy]; }
    const model::ParameterTensors& gradients(std::size_t copy = 0) const { return gradients_[copy]; }
    Copies copies() const { return {.values = values_.size(), .gradients = gradients_.size()}; }
    // Returns the copy that holds the values after `updates` updates. Old values use the copies in turn.
    std::size_t old_copy(int updates) const {
        return 1 + static_cast<std::size_t>(updates) % (values_.size() - 1);
    }
    std::size_t value_bytes() const { return values_.size() * values_.front().bytes(); }
    std::size_t gradient_bytes() const { return gradients_.size() * gradients_.front().bytes(); }
    // Moves the newest values out. This object may not be used any more.
    model::ParameterTensors take_values() { return std::move(values_.front()); }
    std::size_t number_of(const std::string& name) const { return numbers_.at(name); }

private:
    std::vector<model::ParameterSpec> specs_;
    std::unordered_map<std::string, std::size_t> numbers_;
    std::vector<model::ParameterTensors> values_;
    std::vector<model::ParameterTensors> gradients_;
};

}  // namespace trireme::stage
