#include "trireme/stage/local_parameters.hpp"

#include <utility>

namespace trireme::stage {
namespace {

// Returns the sizes of the gradients as specs without names. Gradients of frozen parameters have no elements.
std::vector<model::ParameterSpec> make_gradient_specs(const std::vector<model::ParameterSpec>& specs) {
    std::vector<model::ParameterSpec> gradients(specs.size());
    for (std::size_t i = 0; i < specs.size(); ++i) {
        gradients[i].rows = specs[i].is_trained ? specs[i].rows : 0;
        gradients[i].columns = specs[i].is_trained ? specs[i].columns : 0;
    }
    return gradients;
}

}  // namespace

LocalParameters::LocalParameters(std::vector<model::ParameterSpec> specs, device::DType dtype,
                                 device::MemorySpace memory_space, const CopyCounts& copies,
                                 std::optional<model::ParameterTensors> values)
    : specs_(std::move(specs)) {
    std::erase_if(specs_, [&](const model::ParameterSpec& spec) {
        return !indices_.try_emplace(spec.name, indices_.size()).second;
    });
    if (values) values_.push_back(std::move(*values));
    while (values_.size() < copies.values) values_.emplace_back(specs_, dtype, memory_space);
    for (std::size_t c = 0; c < copies.gradients; ++c)
        gradients_.emplace_back(make_gradient_specs(specs_), accumulator_type(dtype), memory_space);
}

}  // namespace trireme::stage
