#include "train/rank_groups.hpp"

namespace trireme {

RankGroups lone_groups() {
    RankGroups groups;
    groups.pipe = {0};
    groups.activations = single_rank("activations");
    groups.gradients = single_rank("gradients");
    groups.update = single_rank("update");
    groups.record = single_rank("record");
    return groups;
}

}  // namespace trireme
