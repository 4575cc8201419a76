#include "trireme/stage/local_parameters.hpp"

#include <unordered_set>

namespace trireme::stage {
namespace {

std::vector<model::ParameterSpec> each_once(const std::vector<model::ParameterSpec>& specs) {
    std::vector<model::ParameterSpec> unique;
    std::unordered_set<std::string> known;
    for (const model::ParameterSpec& spec : specs) {
        if (known.insert(spec.name).second) unique.push_back(spec);
    }
    return unique;
}

}  // namespace

LocalParameters::LocalParameters(const std::vector<model::ParameterSpec>& specs, device::DType dtype,
                                 device::MemorySpace place, const Copies& copies)
    : specs_(each_once(specs)) {
    for (std::size_t c = 0; c < copies.values; ++c) values_.emplace_back(specs_, dtype, place);
    for (std::size_t c = 0; c < copies.gradients; ++c) gradients_.emplace_back(specs_, wide_of(dtype), place);
    for (std::size_t i = 0; i < specs_.size(); ++i) numbers_[specs_[i].name] = i;
}

}  // namespace trireme::stage
