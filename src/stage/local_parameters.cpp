#include "trireme/stage/local_parameters.hpp"

#include <unordered_set>

namespace trireme::stage {
namespace {

// Returns the first spec of each name.
std::vector<model::ParameterSpec> remove_duplicates(const std::vector<model::ParameterSpec>& specs) {
    std::vector<model::ParameterSpec> unique_specs;
    std::unordered_set<std::string> seen_names;
    for (const model::ParameterSpec& spec : specs) {
        if (seen_names.insert(spec.name).second) unique_specs.push_back(spec);
    }
    return unique_specs;
}

// Returns the specs of the gradients. Those of frozen parameters have no elements.
std::vector<model::ParameterSpec> make_gradient_specs(std::vector<model::ParameterSpec> specs) {
    for (model::ParameterSpec& spec : specs) {
        if (!spec.is_trained) spec.rows = spec.columns = 0;
    }
    return specs;
}

}  // namespace

LocalParameters::LocalParameters(const std::vector<model::ParameterSpec>& specs, device::DType dtype,
                                 device::MemorySpace memory_space, const CopyCounts& copies)
    : specs_(remove_duplicates(specs)) {
    for (std::size_t c = 0; c < copies.values; ++c) values_.emplace_back(specs_, dtype, memory_space);
    for (std::size_t c = 0; c < copies.gradients; ++c)
        gradients_.emplace_back(make_gradient_specs(specs_), accumulator_type(dtype), memory_space);
    for (std::size_t i = 0; i < specs_.size(); ++i) indices_[specs_[i].name] = i;
}

}  // namespace trireme::stage
