// The weights of all stages of a rank, and the gradients of these weights. Frozen weights have no gradients.
// Gradients are f32 if the weights are bf16. Every tensor is the slice that this rank holds. If micro-batches
// stay in flight across updates, there are several copies: the newest and older weights, and the gradients of
// several steps.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trireme/model/parameter.hpp"

namespace trireme::stage {

// Numbers of copies of the weights and of the gradients on a rank. Each number is at least 1.
struct CopyCounts {
    std::size_t values = 1;
    std::size_t gradients = 1;
};

class LocalParameters {
public:
    // Specs with equal names denote the same tensor, such as a tied embedding that two stages of the rank use.
    // This tensor is stored once. The newest weights are in `values`, which has the same specs, or in new
    // memory if `values` is empty.
    LocalParameters(std::vector<model::ParameterSpec> specs, device::DType dtype,
                    device::MemorySpace memory_space, const CopyCounts& copies = {},
                    std::optional<model::ParameterTensors> values = {});

    const std::vector<model::ParameterSpec>& specs() const { return specs_; }  // names are unique
    // Copy 0 has the newest weights.
    const model::ParameterTensors& values(std::size_t copy = 0) const { return values_[copy]; }
    const model::ParameterTensors& gradients(std::size_t copy = 0) const { return gradients_[copy]; }
    CopyCounts copy_counts() const { return {.values = values_.size(), .gradients = gradients_.size()}; }
    // Returns the index of the copy that holds the weights after `updates` updates of an execution, as soon as
    // newer weights exist. Such old weights use the copies 1, 2, ... in turn. Copy 1 must exist.
    std::size_t find_old_copy(int updates) const {
        return 1 + static_cast<std::size_t>(updates) % (values_.size() - 1);
    }
    std::size_t count_value_bytes() const { return values_.size() * values_.front().bytes(); }
    std::size_t count_gradient_bytes() const { return gradients_.size() * gradients_.front().bytes(); }
    // Moves the newest weights out. Afterwards this object must not be used.
    model::ParameterTensors take_values() { return std::move(values_.front()); }
    // Returns the index in specs() of a parameter that this rank holds.
    std::size_t find_index(const std::string& name) const { return indices_.at(name); }

private:
    std::vector<model::ParameterSpec> specs_;
    std::unordered_map<std::string, std::size_t> indices_;
    std::vector<model::ParameterTensors> values_;
    std::vector<model::ParameterTensors> gradients_;
};

}  // namespace trireme::stage
