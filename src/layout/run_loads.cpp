#include "layout/run_loads.hpp"

namespace trireme {

RunLoads::RunLoads(const std::vector<LayerLoad>& layers) {
    for (std::size_t begin = 0; begin < layers.size(); ++begin) {
        std::vector<LayerLoad>& runs = from_.emplace_back();
        runs.push_back(layers[begin]);
        for (std::size_t l = begin + 1; l < layers.size(); ++l) runs.push_back(joined(runs.back(), layers[l]));
    }
}

}  // namespace trireme
