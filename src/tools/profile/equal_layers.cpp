#include "tools/profile/equal_layers.hpp"

#include <map>
#include <string>

namespace trireme {
namespace {

// Equal for layers of a model that do the same with other numbers.
std::string signature_of(const Layer& layer) {
    std::string signature = kind_of(layer);
    for (const ParameterSpec& spec : parameters_of(layer)) signature += cat(' ', spec.rows, 'x', spec.columns);
    return signature;
}

}  // namespace

std::vector<std::size_t> first_equals(const std::vector<Layer>& layers) {
    std::map<std::string, std::size_t> known;
    std::vector<std::size_t> first;
    for (const Layer& layer : layers) {
        first.push_back(known.emplace(signature_of(layer), first.size()).first->second);
    }
    return first;
}

std::vector<std::size_t> distinct_layers(const std::vector<Layer>& layers) {
    std::vector<std::size_t> distinct;
    const std::vector<std::size_t> first = first_equals(layers);
    for (std::size_t l = 0; l < layers.size(); ++l) {
        if (first[l] == l) distinct.push_back(l);
    }
    return distinct;
}

}  // namespace trireme
