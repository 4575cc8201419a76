// Layouts that are not grids, of a model with four blocks: 11 layers, as half a block counts as one.
#pragma once

#include <span>
#include <string>

namespace trireme::equivalence {

struct LayoutFile {
    const char* name;
    int ranks;
    int stages;
    int stages_of_a_rank;
    int rows;        // number of replicas if the layout is a grid or a V with uneven shares; 0 otherwise
    int max_shares;  // maximum number of ranks per replica
    const char* json;
    bool is_v = false;
};

std::span<const LayoutFile> layout_files();

}  // namespace trireme::equivalence
