// Cutting a model's layers into stages.
#pragma once

#include <string>
#include <vector>

#include "trireme/layout/box.hpp"

namespace trireme {

// What is known of each layer when it is cut. Items are what people count: the embedding, each block, the head
// (14 for gpt2); layers are halves of blocks (27 for gpt2: embedding, 12 times attention and MLP, norm, head).
struct LayerFacts {
    std::size_t item = 0;  // the item that the layer belongs to, ascending from 0
    std::size_t parameters = 0;
    bool is_block = false;
};

// `wish` is "uniform" (items, as even as they can be, more in the first stages), "parameters" (the largest sum
// of parameters of a stage is as small as it can be; cuts fall between items), "type" (blocks, as even as they
// can be; the embedding belongs to the first stage, the head to the last) or a list of the items of each stage:
// "4,3,3,4". Gives the number of layers of each stage. Throws ConfigError for another wish, naming these and
// the two that ask for measured costs (balanced_cuts(), share_layers()), and where the numbers do not fit: too
// many stages, a list of another length or sum, a stage of no item.
std::vector<std::size_t> cut_layers(const std::vector<LayerFacts>& layers, std::size_t stages,
                                    const std::string& wish);

}  // namespace trireme
