#include "trireme/stage/local_parameters.hpp"

#include <unordered_set>

namespace trireme {
namespace {

std::vector<ParameterSpec> each_once(const std::vector<ParameterSpec>& specs) {
    std::vector<ParameterSpec> unique;
    std::unordered_set<std::string> known;
    for (const ParameterSpec& spec : specs) {
        if (known.insert(spec.name).second) unique.push_back(spec);
    }
    return unique;
}

}  // namespace

LocalParameters::LocalParameters(const std::vector<ParameterSpec>& specs, DType dtype, Place place,
                                 const Copies& copies)
    : specs_(each_once(specs)) {
    for (std::size_t c = 0; c < copies.values; ++c) values_.emplace_back(specs_, dtype, place);
    for (std::size_t c = 0; c < copies.gradients; ++c) gradients_.emplace_back(specs_, wide_of(dtype), place);
    for (std::size_t i = 0; i < specs_.size(); ++i) numbers_[specs_[i].name] = i;
}

}  // namespace trireme
