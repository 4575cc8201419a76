// Layouts that no grid is, of a model of four blocks: 11 layers, halves of blocks counting one each.
#pragma once

#include <span>
#include <string>

namespace trireme::equivalence {

struct LayoutFile {
    const char* name;
    int ranks;
    int stages;
    int stages_of_a_rank;
    int rows;         // replicas, where the layout is a grid or a V of uneven shares; 0: it is none
    int most_shares;  // of a replica
    const char* json;
    bool is_v = false;
};

std::span<const LayoutFile> layout_files();

}  // namespace trireme::equivalence
